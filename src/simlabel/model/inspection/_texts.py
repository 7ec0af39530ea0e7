"""The texts of an explanation, and the tables of numbers behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel._utils.text import percent
from simlabel.model.inspection._decisions import (
    LIKELY,
    MAX_TYPICAL_LIFT,
    compare_with_rate,
    fills_set_size,
    is_likely,
    uses_set_size,
    why_given,
    why_not_given,
)
from simlabel.model.inspection._terms import Neighbors

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model.inspection._explanation import Explanation


Named = tuple[Any, str | None]  # the id and the title of an instance
Instances = Sequence[tuple[Named, float]]
_TINY = 1e-12  # of the sum of absolute contributions: rounding
_N_WORDS, _N_ROWS = 3, 3  # that a sentence names
_TABLE_WORDS = 8
_FREQUENT = 0.3  # of all rows
_TELLING = 0.25  # of the largest contribution: words with less are not named
_COMMON, _ENOUGH_ROWS = 0.15, 50  # a word in a larger share of the rows tells little, if there are enough


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
    """Rows under a title; `headings` are for the names, the value and the notes."""

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


def distinct(instances: Instances) -> list[tuple[Named, float]]:
    """Return each title once: "Jaws (3 rows)" stands for three rows with that title."""
    if not instances or instances[0][0][1] is None:
        return list(instances)  # without titles: no id occurs twice
    counts = Counter(names[1] for names, _ in instances)
    found: dict[Any, tuple[Named, float]] = {}
    for (who, title), similarity in instances:
        shown = f"{title} ({counts[title]} rows)" if counts[title] > 1 else title
        found.setdefault(title, ((who, shown), similarity))
    return list(found.values())


def neighbors(why: Explanation, found: Neighbors) -> list[tuple[Named, float]]:
    """Return the names of references with their similarities."""
    return list(zip(why.names(found.positions), found.similarities.tolist(), strict=True))


def nearest_bars(why: Explanation, instances: Instances) -> Bars | None:
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


@dataclass(frozen=True)
class ExplanationText:
    """Why a label, or a number of labels: one sentence, and the numbers behind it.

    Attributes
    ----------
    name, heading, sentence : str
        A label, or a number of labels; the same with its probability; and why.
    words : Bars or None
        Of a table whose scores are sums over words, their contributions.
    instances : tuple of Bars
        The labeled instances that speak for it, and those against it.
    nearest : Bars or None
        With learned influence, the most similar instances that have the label.
    similar : Bars or None
        With learned influence, the most similar instances: above 0 those that have it, below the others.
    """

    name: str
    heading: str
    sentence: str
    words: Bars | None
    instances: tuple[Bars, ...]
    nearest: Bars | None = None
    similar: Bars | None = None

    @property
    def shown(self) -> tuple[Bars, ...]:
        """The tables to print: words and the most similar instances, or else instances."""
        parts = (self.words, self.nearest) if self.words is not None else (self.nearest, *self.instances)
        return tuple(bars for bars in parts if bars is not None)


def explanation_texts(why: Explanation, query: int) -> Iterator[ExplanationText]:
    """Yield a text for each described label, and for the set size if it follows from similarities."""
    for k in why.described[query]:
        yield _label_text(why, query, k, why._words[query].get(k))
    n = len(why.chosen[query])
    if uses_set_size(why) and why.describes_predicted and n in why.sizes:
        yield _count_text(why, query, n)


def _label_text(why: Explanation, query: int, k: int, words: pd.DataFrame | None) -> ExplanationText:
    instances = neighbors(why, why.having[query][k])
    table = named = None
    if words is not None and not words.empty:
        shown = _informative(why, query, words).head(why.top or _TABLE_WORDS)
        table, named = word_bars(words, shown), shown.head(_TABLE_WORDS)
    if k in why.chosen[query]:
        aside, sentence = why_given(why, query, k), _reasons_for(why, query, k, named, instances)
    else:
        aside, sentence = why_not_given(why, query, k), _both_sides(why, query, k, named, instances)
    heading = f"{why.labels[k]}, {percent(why.probabilities[query, k])} likely"
    return ExplanationText(
        str(why.labels[k]),
        heading,
        f"{heading}{aside}: {sentence}",
        table,
        tuple(instance_bars(why, query, k)),
        nearest_bars(why, distinct(instances)[: why.top or _N_ROWS]) if why.is_learned else None,
        similar_bars(why, query, k) if why.is_learned else None,
    )


def _count_text(why: Explanation, query: int, n: int) -> ExplanationText:
    """Explain the number of predicted labels: the bounds of the rule, or similar rows."""
    column = len(why.labels) + int(np.searchsorted(why.sizes, n))
    count = "1 label" if n == 1 else f"{n} labels"
    votes, rule = (why.terms.totals[query] + why.mean)[len(why.labels) :], why.model.rule
    voted = int(why.sizes[np.argmax(votes)])
    if voted < n == rule.minimum:
        reason = f"every row gets at least so many; similar rows have {voted}"
    elif voted > n == rule.maximum:
        reason = f"no row gets more; similar rows have {voted}"
    else:
        reason = _compared(why, query, column, count, neighbors(why, why.having[query][column]))
    gets = "the label that scores highest" if n == 1 else f"the {n} labels that score highest"
    return ExplanationText(
        count,
        count,
        f"{count}: the row gets {gets}, since {reason}",
        None,
        tuple(instance_bars(why, query, column)),
        similar=similar_bars(why, query, column) if why.is_learned else None,
    )


def _informative(why: Explanation, query: int, words: pd.DataFrame) -> pd.DataFrame:
    """Drop words that occur in many rows and tell a reader little ("of"), unless there are no others.

    A number or date gets a ``direction``: whether it is higher or later than most.
    """
    encoder = why.model.encoder
    assert encoder is not None
    enough = why.model.scorer.references.n_rows >= _ENOUGH_ROWS
    pairs = zip(words["column"], words["term"], strict=True)
    rare = [not (enough and encoder.row_share(*pair) > _COMMON) for pair in pairs]
    shown = words[rare] if any(rare) else words
    return shown.assign(direction=[why.direction(query, column) for column in shown["column"]])


def _reasons_for(
    why: Explanation, query: int, k: int, words: pd.DataFrame | None, instances: Instances
) -> str:
    """Say why a label is predicted: which words, and whether similar rows agree."""
    compared = _compared(why, query, k, "it", instances)
    named = "" if words is None else _reason_words(why, words)
    if not named or not why.is_learned:
        return f"{named}; {compared}" if named else compared
    have, n = _count_similar(why, query, k)
    if n and not have:
        return f"{named}, not because of similar rows: {compared}"
    if n and have / n < LIKELY and is_likely(why, query, k):
        return f"{named}, more than because of similar rows: {compared}"
    return f"{named}; {compared}"


def _both_sides(
    why: Explanation, query: int, k: int, words: pd.DataFrame | None, instances: Instances
) -> str:
    """Say what speaks for a label that is not predicted, and what against it."""
    parts = []
    for side, sign in (("for", 1), ("against", -1)):
        found = (
            [] if words is None else words[words["contribution"] * sign > 0]["term"].head(_N_WORDS).tolist()
        )
        if found:
            parts.append(f"{side} it: {', '.join(map(repr, found))}")
    similar = any(similarity > 0 for _, similarity in instances)
    parts.append(_compared(why, query, k, "it", instances) if similar else "no row that has it is similar")
    return "; ".join(parts)


def _compared(why: Explanation, query: int, column: int, what: str, instances: Instances) -> str:
    """Say how many similar rows have a label or a set size, and which are the closest of them.

    With learned influence, similarities do not add up to scores, and the most similar rows are counted;
    otherwise the share of the similarity is given. If neither is above the base rate, the label is predicted
    for being frequent, and that comes first.
    """
    similar = [each for each in instances if each[1] > 0]
    if not similar or not (why.is_learned or why.terms.totals[query].any()):
        return "similar to nothing, so the most frequent is taken"
    base_rate = float(why.frequencies[column])
    if base_rate == 1:
        return f"all rows have {what}"
    return (_counted if why.is_learned else _summed)(why, query, column, what, base_rate, similar)


def _count_similar(why: Explanation, query: int, column: int) -> tuple[int, int]:
    """Return how many of the most similar rows have a label or a set size, and how many rows these are."""
    similar = why.similar[query].positions
    return int(np.isin(similar, why.having[query][column].positions).sum()), len(similar)


def _counted(
    why: Explanation, query: int, column: int, what: str, base_rate: float, similar: Instances
) -> str:
    have, n = _count_similar(why, query, column)
    if have > 1:
        having, closest = f"{have} of the {n} most similar rows have {what}", f"; {_closest(similar, have)}"
    elif have:
        having, closest = f"1 of the {n} most similar rows ({_listed(_first(similar, 1))}) has {what}", ""
    else:
        names = _first(similar)
        is_or_are = f"has {what} is" if len(names) == 1 else f"have {what} are"
        having = f"none of the {n} most similar rows has {what}"
        closest = f"; the closest that {is_or_are} {_listed(names)}"
    note = ""  # if words decided, the sentence has said so
    if column < len(why.labels) and (have or not why.has_words):
        note = compare_with_rate(why, query, column, have / n)
    if not _is_typical(base_rate, have / n):
        return f"{having}, while {percent(base_rate)} of all rows do{note}{closest}"
    more, frequent = _lift_text(have / n, base_rate), _frequent(why, query, column)
    return f"{frequent}, {percent(base_rate)} of all rows have {what}; {having}, {more} often{note}{closest}"


def _summed(
    why: Explanation, query: int, column: int, what: str, base_rate: float, similar: Instances
) -> str:
    sums = why.terms.totals[query]
    share = float(sums[column] / (sums[len(why.labels) :].sum() or np.nan))
    note = "" if column >= len(why.labels) else compare_with_rate(why, query, column, share)
    rows = f"rows that have {what} are {percent(base_rate)} of all rows and make up"
    if not _is_typical(base_rate, share):
        return f"{rows} {percent(share)} of the resemblance{note}; {_closest(similar)}"
    more, frequent = _lift_text(share, base_rate), _frequent(why, query, column)
    return f"{frequent}; {rows} {more} of the resemblance, {percent(share)}{note}; {_closest(similar)}"


def _is_typical(base_rate: float, share: float) -> bool:
    """Return whether a label is frequent, and similar rows have it hardly more often."""
    return base_rate >= _FREQUENT and share <= MAX_TYPICAL_LIFT * base_rate


def _lift_text(share: float, base_rate: float) -> str:
    if round(share, 2) == round(base_rate, 2):
        return "no more"
    return "hardly more" if share > base_rate else "less"


def _frequent(why: Explanation, query: int, column: int) -> str:
    if column >= len(why.labels):
        return "this is the usual number"
    filled = fills_set_size(why, query, column)
    return "the most frequent label fills the place" if filled else "it is frequent"


def _closest(similar: Instances, among: int | None = None) -> str:
    names = _first(similar, among)
    return f"the closest {'is' if len(names) == 1 else 'are'} {_listed(names)}"


def _first(similar: Instances, among: int | None = None) -> list[str]:
    """Return the first rows by their titles, each title once, or by their ids, quoted."""
    found = distinct(similar[:among])[:_N_ROWS]
    return [repr(who if title is None else title) for (who, title), _ in found]


def _listed(names: Sequence[str]) -> str:
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def _reason_words(why: Explanation, words: pd.DataFrame) -> str:
    """Name the words that speak for a label most, by column, and where numbers lie."""
    positive = words[words["contribution"] > 0].head(_N_WORDS)
    positive = positive[positive["contribution"] >= _TELLING * positive["contribution"].max()]
    assert why.model.encoder is not None
    texts = {column.name for column in why.model.encoder.columns_ if column.kind == "text"}
    in_columns, numbers = [], []
    for column, part in positive.groupby("column", sort=False):
        terms, direction = part["term"].tolist(), part["direction"].iloc[0]
        if direction:
            numbers.append(f"{column} {terms[0]} is {direction}")
            continue
        noun = "" if column not in texts else "the word " if len(terms) == 1 else "the words "
        in_columns.append(f"{noun}{', '.join(map(repr, terms))} in {column}")
    reasons = [f"because of {_listed(in_columns)}"] if in_columns else []
    reasons += [f"because {_listed(numbers)}"] if numbers else []
    return " and ".join(reasons)
