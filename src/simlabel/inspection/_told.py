"""An explanation in words and figures, before it becomes a terminal's, a notebook's or a report's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel.label_rules import SetSize

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.inspection._explanation import Explanation

_WORDS, _LIKE = 3, 3  # that a sentence names
_NEAREST = 10  # instances among which a sentence counts
_FREQUENT = 0.3  # of all rows: what is frequent
_HARDLY_MORE = 1.1  # times as many as among all rows do not speak for it
_LIKELY = 0.5
_SHOWN_WORDS = 8  # in a table
_NAMES = {1: ("instance",), 2: ("instance", "title")}
_TELLING = 0.25  # of the most telling word: what is less is not named


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


@dataclass(frozen=True)
class Told:
    """Why a label, or a number of labels: one sentence, and the figures behind it.

    Attributes
    ----------
    name, heading, sentence : str
        A label, or a number of labels; the same with its probability; and why.
    words : Bars or None
        Of a table whose scores are sums over words, what these bring.
    instances : tuple of Bars
        The labelled instances that speak for it, and those against it.
    nearest : Bars or None
        Where influence is learned, the most similar instances that have the label.
    similar : Bars or None
        Where influence is learned, the most similar instances: above 0 those that have it, below the others.
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
        """What is worth a reader's time: words and what is most like it, or else instances."""
        if self.words is not None:
            return (self.words,) if self.nearest is None else (self.words, self.nearest)
        return self.instances if self.nearest is None else (self.nearest, *self.instances)


def headline(why: Explanation, query: int) -> str:
    """What a query is called, and the labels that it gets."""
    title = why.evidence.query_title(query)
    names = ", ".join(str(why.labels[k]) for k in why.chosen[query]) or "no label"
    return f"Query {query}{'' if title is None else f', {title!r}'}: {names}"


def told(why: Explanation, query: int) -> Iterator[Told]:
    """For each predicted label, and for their number where the similarity decides it, what decided."""
    chosen = why.chosen[query].tolist()
    words: list[pd.DataFrame | None] = [None] * len(chosen)
    if why.evidence.has_words and chosen:
        words = [*why.evidence.words(query, chosen)]
    for k, frame in zip(chosen, words, strict=True):
        nearest = why.evidence.nearest(query, k, _LIKE)
        sentence = _reason(why, query, k, frame, nearest)
        instances = tuple(_instances(why, query, k))
        name = str(why.labels[k])
        heading = f"{name}, {why.probabilities[query, k]:.0%} likely"
        yield Told(
            name,
            heading,
            f"{heading}{_although(why, query, k)}: {sentence}",
            _word_bars(frame),
            instances,
            _nearest_bars(nearest) if _is_learned(why) else None,
            _similar_bars(why, query, k),
        )
    if not _counts_labels(why):
        return
    for s in np.flatnonzero(why.sizes == len(chosen)).tolist():
        column = len(why.labels) + s
        count = "1 label" if len(chosen) == 1 else f"{len(chosen)} labels"
        bars = tuple(_instances(why, query, column))
        reason = _compared(why, query, column, count, why.evidence.nearest(query, column, _LIKE))
        gets = "the strongest label" if len(chosen) == 1 else f"the {len(chosen)} strongest labels"
        yield Told(
            count,
            count,
            f"{count}: the row gets {gets}, since {reason}",
            None,
            bars,
            similar=_similar_bars(why, query, column),
        )


def _although(why: Explanation, query: int, k: int) -> str:
    """Why a label is given that is not likely: a rule that counts takes the strongest whatever they are."""
    if why.probabilities[query, k] >= _LIKELY or not _counts_labels(why):
        return ""
    n = len(why.chosen[query])
    if n == 1:
        return ", given only because the row is to get 1 label and no other is stronger"
    return f", given only because the row is to get {n} labels and this is one of the {n} strongest"


def _counts_labels(why: Explanation) -> bool:
    """Whether similarity decides how many labels there are."""
    model = why._model
    return isinstance(model.rule, SetSize) and model.labels.kind != "single" and bool(len(model.rule.sizes_))


def _reason(why: Explanation, query: int, k: int, words: pd.DataFrame | None, nearest: pd.DataFrame) -> str:
    """Why a label is given, in few words."""
    named = "" if words is None else _named_words(why, words)
    compared = _compared(why, query, k, "it", nearest)
    return f"because of {named}; {compared}" if named else compared


def _compared(why: Explanation, query: int, column: int, what: str, nearest: pd.DataFrame) -> str:
    """How much of the similarity is to instances that have what is explained, and the first of them.

    Where influence is learned, similarities do not add up to scores, and the most similar are counted. Where
    they say no more than all rows do, what is explained is there for being frequent, and that comes first.
    """
    some = nearest[nearest["similarity"] > 0]
    if some.empty:
        return "similar to nothing, so the most frequent is taken"
    usual = why.evidence.frequency(column)
    if usual == 1:
        return f"all rows have {what}"
    names = some["title" if "title" in some else "id"].tolist()
    share, among = (_counted if _is_learned(why) else _summed)(why, query, column, what, names)
    if usual < _FREQUENT or share > _HARDLY_MORE * usual:
        return f"{among}, while {usual:.0%} of all rows do"
    frequent = "it is frequent" if column < len(why.labels) else "this is the usual number"
    more = "hardly more" if round(share, 2) > round(usual, 2) else "no more"
    often = f"rows like this one have {what} {more} often"
    return f"{frequent}, {usual:.0%} of all rows have {what}; {often}: {among}"


def _counted(why: Explanation, query: int, column: int, what: str, names: list[Any]) -> tuple[float, str]:
    """The share of the most similar that have what is explained, and in words how many, and which."""
    have, n = why.evidence.among_nearest(query, column, _NEAREST)
    if not have:
        return 0.0, f"none of the {n} most similar rows has {what}, the closest that do are {_listed(names)}"
    having = f"{have} of the {n} most similar rows {'have' if have > 1 else 'has'} {what}"
    return have / n, f"{having}, {'the closest ' if have > 1 else ''}{_listed(names[:have])}"


def _summed(why: Explanation, query: int, column: int, what: str, names: list[Any]) -> tuple[float, str]:
    """The share of the similarity to those that have what is explained, and the same in words."""
    sums = why.terms.totals[query]
    share = float(sums[column] / sums[len(why.labels) :].sum())
    among = f"{share:.0%} of this row's similarity is to rows that have {what}"
    return share, f"{among}, the closest {_listed(names)}"


def _listed(names: list[Any]) -> str:
    *some, last = map(repr, names)
    return f"{', '.join(some)} and {last}" if some else last


def _named_words(why: Explanation, words: pd.DataFrame) -> str:
    """The words that speak for a label most, by the column that they are in."""
    pro = words[words["contribution"] > 0]
    rare = [not why.evidence.is_common(*pair) for pair in zip(pro["column"], pro["term"], strict=True)]
    pro = (pro[rare] if any(rare) else pro).head(_WORDS)
    pro = pro[pro["contribution"] >= _TELLING * pro["contribution"].max()]
    kinds = why.evidence.kinds
    phrases = []
    for column, terms in pro.groupby("column", sort=False)["term"]:
        listed = ", ".join(repr(term) for term in terms)
        noun = "" if kinds[str(column)] != "text" else "the word " if len(terms) == 1 else "the words "
        phrases.append(f"{noun}{listed} in {column}")
    return " and ".join(phrases)


def _is_learned(why: Explanation) -> bool:
    return why._model.scorer.stages.influence.learned


def _names(why: Explanation, query: int, column: int) -> list[tuple[Any, ...]]:
    """Of each instance that is listed its id, and of a row of a table its title."""
    ids, titles = [who for who, _ in why.contributors(query, column)], why.titles(query, column)
    return [(name,) for name in ids] if titles is None else list(zip(ids, titles, strict=True))


def _instances(why: Explanation, query: int, column: int) -> Iterator[Bars]:
    """The instances that speak for a column, and those against it, each side with what is left of it."""
    listed = why.contributors(query, column)
    whole = float(why.terms.absolute[query, column])
    if not listed or not whole:
        return
    names = [tuple(map(str, name)) for name in _names(why, query, column)]
    average = float(why.terms.totals[query, column]) / max(1, int(why.terms.counts[column]))
    sides = zip(("for", "against"), why.terms.sides(query, column), (1, -1), strict=True)
    apart = _is_learned(why) or why.terms.sides(query, column)[1] < -1e-12 * whole
    headings = (*_NAMES[len(names[0])], "contribution", "share", *(() if apart else ("times the average",)))
    for title, side, sign in sides:
        rows = [
            Bar(name, value, value / whole, _notes(value, whole, None if apart else average))
            for name, (_, value) in zip(names, listed, strict=True)
            if value * sign > 0
        ]
        rest = side - sum(row.value for row in rows)
        rest = 0.0 if abs(rest) <= 1e-12 * whole else rest
        if rows or rest:
            blank = ("",) * (len(names[0]) - 1)
            rows.append(Bar(("all others", *blank), rest, rest / whole, _notes(rest, whole), faint=True))
            beyond = f", beside the mean {why.mean[column]:.3g}" if why.mean.any() else ""
            yield Bars(f"{title}{beyond}" if apart else "", headings, tuple(rows))


def _notes(value: float, whole: float, average: float | None = None) -> tuple[str, ...]:
    """The share of all for and against; of plain sums also how far it is above an instance's average."""
    share = f"{value / whole:.1%}"
    return (share,) if not average else (share, f"{value / average:.1f}")


def _nearest_bars(nearest: pd.DataFrame | None) -> Bars | None:
    if nearest is None or nearest.empty:
        return None
    names = [name for name in nearest.columns if name != "similarity"]
    rows = [
        Bar(tuple(map(str, row[:-1])), float(row[-1]))
        for row in nearest[[*names, "similarity"]].itertuples(index=False)
    ]
    return Bars("the most similar that have it", (*_NAMES[len(names)], "similarity"), tuple(rows))


def _similar_bars(why: Explanation, query: int, column: int) -> Bars | None:
    if not _is_learned(why):
        return None
    frame = why.evidence.most_similar(query, column, _NEAREST)
    names = [name for name in ("id", "title") if name in frame]
    rows = [
        Bar(tuple(map(str, row[:-2])), similarity := float(row[-2]) * (1 if row[-1] else -1), similarity)
        for row in frame[[*names, "similarity", "has"]].itertuples(index=False)
    ]
    return Bars("the most similar", (*_NAMES[len(names)], "similarity"), tuple(rows))


def _word_bars(words: pd.DataFrame | None) -> Bars | None:
    if words is None or words.empty:
        return None
    whole = float(words["contribution"].abs().sum())
    shown, rest = words.head(_SHOWN_WORDS), words["contribution"].iloc[_SHOWN_WORDS:].sum()
    rows = [
        Bar((term, column), value, value / whole, _notes(value, whole))
        for column, term, value in shown[["column", "term", "contribution"]].itertuples(index=False)
    ]
    if len(words) > _SHOWN_WORDS:
        rows.append(
            Bar(
                (f"{len(words) - _SHOWN_WORDS} others", ""),
                rest,
                rest / whole,
                _notes(rest, whole),
                faint=True,
            )
        )
    return Bars("its words", ("word", "column", "contribution", "share"), tuple(rows))
