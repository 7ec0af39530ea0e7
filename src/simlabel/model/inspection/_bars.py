"""The figures behind an explanation's sentences, before they become tables or bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model.inspection._explanation import Explanation

NEAREST = 10  # instances among which a sentence counts, and that a picture shows
SHOWN_WORDS = 8  # in a table
_NAMES = {1: ("instance",), 2: ("instance", "title")}


@dataclass(frozen=True)
class Bar:
    """A row of a figure: what it is called, what it brings, and what is said of that."""

    names: tuple[str, ...]
    value: float
    share: float = 0.0
    notes: tuple[str, ...] = ()
    faint: bool = False


@dataclass(frozen=True)
class Bars:
    """Rows under a heading; `headings` are of their names, of the value and of the notes."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[Bar, ...]

    @property
    def largest(self) -> float:
        """The longest bar."""
        return max((abs(row.value) for row in self.rows if not row.faint), default=0.0)


def _names(why: Explanation, query: int, column: int) -> list[tuple[Any, ...]]:
    """Of each instance that is listed its id, and of a row of a table its title."""
    ids, titles = [who for who, _ in why.contributors(query, column)], why.titles(query, column)
    return [(name,) for name in ids] if titles is None else list(zip(ids, titles, strict=True))


def instance_bars(why: Explanation, query: int, column: int) -> Iterator[Bars]:
    """The instances that speak for a column, and those against it; the shares of each side add up to 100%."""
    listed = why.contributors(query, column)
    whole = float(why.terms.absolute[query, column])
    if not listed or not whole:
        return
    names = [tuple(map(str, name)) for name in _names(why, query, column)]
    average = float(why.terms.totals[query, column]) / max(1, int(why.terms.counts[column]))
    sides = zip(("for", "against"), why.terms.sides(query, column), (1, -1), strict=True)
    apart = why.evidence.is_learned or why.terms.sides(query, column)[1] < -1e-12 * whole
    headings = (*_NAMES[len(names[0])], "contribution", "share", *(() if apart else ("times the average",)))
    for title, side, sign in sides:
        rows = [
            Bar(name, value, value / whole, _notes(value, side, None if apart else average))
            for name, (_, value) in zip(names, listed, strict=True)
            if value * sign > 1e-12 * whole
        ]
        rest = side - sum(row.value for row in rows)
        rest = 0.0 if abs(rest) <= 1e-12 * whole else rest
        if rows or rest:
            rows.append(_rest(rest, whole, side, len(names[0]), "everything else"))
            beyond = f", beside the mean {why.mean[column]:.3g}" if why.mean.any() else ""
            yield Bars(f"{title}{beyond}" if apart else "", headings, tuple(rows))


def _rest(value: float, whole: float, of: float, width: int, what: str) -> Bar:
    """All that is not listed."""
    return Bar((what, *[""] * (width - 1)), value, value / whole, _notes(value, of), faint=True)


def _notes(value: float, of: float, average: float | None = None) -> tuple[str, ...]:
    """The share, whatever its side; of plain sums also how far it is above an instance's average."""
    share = f"{abs(value / of):.1%}"
    return (share,) if not average else (share, f"{value / average:.1f}")


def nearest_bars(nearest: pd.DataFrame | None) -> Bars | None:
    if nearest is None or nearest.empty:
        return None
    names = [name for name in nearest.columns if name != "similarity"]
    rows = [
        Bar(tuple(map(str, row[:-1])), float(row[-1]))
        for row in nearest[[*names, "similarity"]].itertuples(index=False)
    ]
    return Bars("the most similar that have it", (*_NAMES[len(names)], "similarity"), tuple(rows))


def without_copies(nearest: pd.DataFrame) -> pd.DataFrame:
    """The same with each title once: "Jaws (3 rows)" stands for three rows of that title."""
    if "title" not in nearest:
        return nearest
    counts = nearest.groupby("title", sort=False)["title"].transform("size")
    shown = [
        f"{title} ({n} rows)" if n > 1 else title for title, n in zip(nearest["title"], counts, strict=True)
    ]
    return nearest.assign(title=shown).drop_duplicates("title", ignore_index=True)


def similar_bars(why: Explanation, query: int, column: int) -> Bars | None:
    if not why.evidence.is_learned:
        return None
    frame = why.evidence.most_similar(query, column, NEAREST)
    names = [name for name in ("id", "title") if name in frame]
    rows = [
        Bar(tuple(map(str, row[:-2])), similarity := float(row[-2]) * (1 if row[-1] else -1), similarity)
        for row in frame[[*names, "similarity", "has"]].itertuples(index=False)
    ]
    return Bars("the most similar", (*_NAMES[len(names)], "similarity"), tuple(rows))


def telling_words(why: Explanation, query: int, words: pd.DataFrame | None) -> pd.DataFrame | None:
    """The words that a sentence and its table show, the most telling first.

    Words of so many rows that they tell a reader little ("of") are left out where there are others. A number
    or date has a ``direction``: whether it is higher or later than most.
    """
    if words is None or words.empty:
        return None
    rare = [not why.evidence.is_common(*pair) for pair in zip(words["column"], words["term"], strict=True)]
    shown = words[rare] if any(rare) else words
    return shown.assign(direction=[why.evidence.direction(query, column) for column in shown["column"]])


def word_bars(words: pd.DataFrame | None, shown: pd.DataFrame | None) -> Bars | None:
    """Words for a label and against it, each side with all that is not shown; shares add up to 100%."""
    if words is None or shown is None:
        return None
    values = words["contribution"]
    whole = float(values.abs().sum()) or 1.0
    rows = []
    for sign, side in ((1, "for"), (-1, "against")):
        here = shown[shown["contribution"] * sign > 0]
        listed = here[["column", "term", "contribution", "direction"]].itertuples(index=False)
        for column, term, value, direction in listed:
            name = f"{term} ({direction})" if direction else term
            rows.append(Bar((name, column), value, value / whole, _notes(value, whole)))
        rest = float(values[values * sign > 0].sum() - here["contribution"].sum())
        if abs(rest) > 1e-12 * whole:
            rows.append(_rest(rest, whole, whole, 2, f"everything else {side} it"))
    return Bars("its words", ("word", "column", "contribution", "share"), tuple(rows))
