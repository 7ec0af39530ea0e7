"""The numbers behind the sentences of an explanation, as rows that become tables or bars."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simlabel.model.inspection._terms import Neighbors

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model.inspection._explanation import Explanation

Named = tuple[Any, str | None]  # the id and the title of an instance
_TINY = 1e-12  # of the sum of absolute contributions: rounding


@dataclass(frozen=True)
class Bar:
    """A row of a table: its names, its value, the length of its bar, and further cells."""

    names: tuple[str, ...]
    value: float
    share: float = 0.0
    notes: tuple[str, ...] = ()
    faint: bool = False


@dataclass(frozen=True)
class Bars:
    """Rows under a title; `headings` are those of the names, of the value and of the notes."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Bar, ...]

    @property
    def largest(self) -> float:
        """The largest absolute value."""
        return max((abs(row.value) for row in self.rows if not row.faint), default=0.0)

    def cells(self, row: Bar) -> list[str]:
        """Return the cells of a row as texts, one for each heading."""
        cells = [*row.names, f"{row.value:.4g}", *row.notes]
        return cells + [""] * (len(self.headings) - len(cells))


def instance_bars(why: Explanation, query: int, column: int) -> Iterator[Bars]:
    """Yield the instances for a column, and those against it; the shares of each side add up to 100%."""
    listed, whole = why.listed(query, column), float(why.terms.absolute[query, column])
    if not listed or not whole:
        return
    sides = why.terms.sides(query, column)
    signed = why.is_learned or sides[1] < -_TINY * whole
    average = float(why.terms.totals[query, column]) / max(1, int(why.terms.counts[column]))
    headings = (*_name_headings(why), "contribution", "share", *(() if signed else ("times the average",)))
    for title, side, sign in zip(("for", "against"), sides, (1, -1), strict=True):
        rows = [
            Bar(_texts(names), value, value / whole, _notes(value, side, None if signed else average))
            for names, value in listed
            if value * sign > _TINY * whole
        ]
        rest = side - sum(row.value for row in rows)
        rest = 0.0 if abs(rest) <= _TINY * whole else rest
        if rows or rest:
            names = ("everything else", "")[: len(_name_headings(why))]
            rows.append(Bar(names, rest, rest / whole, _notes(rest, side), faint=True))
            beyond = f", in addition to the mean {why.mean[column]:.3g}" if why.mean.any() else ""
            yield Bars(f"{title}{beyond}" if signed else "", headings, tuple(rows))


def _name_headings(why: Explanation) -> tuple[str, ...]:
    return ("instance",) if why.title_column is None else ("instance", "title")


def _texts(names: Named) -> tuple[str, ...]:
    return tuple(str(name) for name in names if name is not None)


def _notes(value: float, of: float, average: float | None = None) -> tuple[str, ...]:
    """Return the share without its sign and, for sums of positive terms, the multiple of the average."""
    share = f"{abs(value / of):.1%}"
    return (share,) if not average else (share, f"{value / average:.1f}")


def distinct(instances: Sequence[tuple[Named, float]]) -> list[tuple[Named, float]]:
    """Return each title once: "Jaws (3 rows)" stands for three rows with that title."""
    counts = Counter(names[1] for names, _ in instances)
    found: dict[Any, tuple[Named, float]] = {}
    for (who, title), similarity in instances:
        shown = f"{title} ({counts[title]} rows)" if title is not None and counts[title] > 1 else title
        found.setdefault(who if title is None else title, ((who, shown), similarity))
    return list(found.values())


def neighbors(why: Explanation, found: Neighbors) -> list[tuple[Named, float]]:
    """Return the names of references with their similarities."""
    return list(zip(why.names(found.positions), found.similarities.tolist(), strict=True))


def nearest_bars(why: Explanation, instances: Sequence[tuple[Named, float]]) -> Bars | None:
    """Return the most similar instances that have a label; None without any."""
    rows = tuple(Bar(_texts(names), similarity) for names, similarity in instances)
    headings = (*_name_headings(why), "similarity")
    return Bars("the most similar that have it", headings, rows) if rows else None


def similar_bars(why: Explanation, query: int, column: int) -> Bars:
    """Return the most similar instances: above 0 those that have a label, below 0 the others."""
    having = set(why.having[query][column].positions.tolist())
    similar = why.similar[query]
    rows = [
        Bar(_texts(names), value := similarity if at in having else -similarity, value)
        for at, (names, similarity) in zip(similar.positions.tolist(), neighbors(why, similar), strict=True)
    ]
    return Bars("the most similar", (*_name_headings(why), "similarity"), tuple(rows))


def word_bars(words: pd.DataFrame, shown: pd.DataFrame) -> Bars:
    """Return the words for a label and against it, each side with its rest; the shares add up to 100%."""
    whole = float(words["contribution"].abs().sum()) or 1.0
    rows = []
    for sign, side in ((1, "for"), (-1, "against")):
        here = shown[shown["contribution"] * sign > 0]
        listed = here[["column", "term", "contribution", "direction"]].itertuples(index=False)
        for column, term, value, direction in listed:
            name = f"{term} ({direction})" if direction else term
            rows.append(Bar((name, column), value, value / whole, _notes(value, whole)))
        rest = float(
            words["contribution"][words["contribution"] * sign > 0].sum() - here["contribution"].sum()
        )
        if abs(rest) > _TINY * whole:
            names = (f"everything else {side} it", "")
            rows.append(Bar(names, rest, rest / whole, _notes(rest, whole), faint=True))
    return Bars("its words", ("word", "column", "contribution", "share"), tuple(rows))
