"""An explanation in words and figures, before it becomes a terminal's, a notebook's or a report's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel._utils.text import percent
from simlabel.model.inspection._bars import (
    NEAREST,
    SHOWN_WORDS,
    Bars,
    instance_bars,
    nearest_bars,
    similar_bars,
    telling_words,
    without_copies,
    word_bars,
)
from simlabel.model.inspection._given import although, counts_labels, fills_a_place, not_given
from simlabel.model.inspection._likely import HARDLY_MORE, LIKELY, follows

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model.inspection._explanation import Explanation

_WORDS, _LIKE = 3, 3  # that a sentence names
_LOOKED_AT = 30  # rows among which those are found, since several may have one title
_FREQUENT = 0.3  # of all rows: what is frequent
_TELLING = 0.25  # of the most telling word: what is less is not named


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
    """For each label to explain, and for their number where the similarity decides it, what decided."""
    chosen, explained = why.chosen[query].tolist(), why.explained(query)
    n_words, n_nearest = why._top or SHOWN_WORDS, why._top or _LIKE
    words: list[pd.DataFrame | None] = [None] * len(explained)
    if why.evidence.has_words and explained:
        words = [*why.evidence.words(query, explained)]
    for k, frame in zip(explained, words, strict=True):
        given = k in chosen
        nearest = why.evidence.nearest(query, k, max(_LOOKED_AT, n_nearest))
        telling = telling_words(why, query, frame)
        shown = None if telling is None else telling.head(n_words)
        named = (
            None if shown is None else shown.head(SHOWN_WORDS)
        )  # in the table too, and for any larger `top`
        sentence = (_reason if given else _balance)(why, query, k, named, nearest)
        aside = although(why, query, k) if given else not_given(why, query, k)
        name = str(why.labels[k])
        heading = f"{name}, {percent(why.probabilities[query, k])} likely"
        yield Told(
            name,
            heading,
            f"{heading}{aside}: {sentence}",
            word_bars(frame, shown),
            tuple(instance_bars(why, query, k)),
            nearest_bars(without_copies(nearest).head(n_nearest)) if why.evidence.is_learned else None,
            similar_bars(why, query, k),
        )
    if counts_labels(why) and why._labels is None:
        yield from _number(why, query, len(chosen))


def _number(why: Explanation, query: int, n: int) -> Iterator[Told]:
    """Why so many labels."""
    for s in np.flatnonzero(why.sizes == n).tolist():
        column = len(why.labels) + s
        count = "1 label" if n == 1 else f"{n} labels"
        reason = _bound(why, query, n)
        if not reason:
            reason = _compared(why, query, column, count, why.evidence.nearest(query, column, _LOOKED_AT))
        gets = "the label that scores highest" if n == 1 else f"the {n} labels that score highest"
        yield Told(
            count,
            count,
            f"{count}: the row gets {gets}, since {reason}",
            None,
            tuple(instance_bars(why, query, column)),
            similar=similar_bars(why, query, column),
        )


def _bound(why: Explanation, query: int, n: int) -> str:
    """Where the bounds of the rule decide how many labels there are, and not the similarity."""
    votes, rule = (why.terms.totals[query] + why.mean)[len(why.labels) :], why._model.rule
    voted = int(why.sizes[np.argmax(votes)])
    if voted < n == rule.minimum:
        return f"every row gets at least so many; similar rows have {voted}"
    return f"no row gets more; similar rows have {voted}" if voted > n == rule.maximum else ""


def _reason(why: Explanation, query: int, k: int, words: pd.DataFrame | None, nearest: pd.DataFrame) -> str:
    """Why a label is given, in few words: which words, and whether similar rows agree."""
    named = "" if words is None else _because(why, words)
    compared = _compared(why, query, k, "it", nearest)
    if not named:
        return compared
    return f"{named}{_against_similar_rows(why, query, k)}{compared}"


def _balance(why: Explanation, query: int, k: int, words: pd.DataFrame | None, nearest: pd.DataFrame) -> str:
    """What speaks for a label that is not predicted, and what against it, in few words."""
    parts = []
    for side, sign in (("for", 1), ("against", -1)):
        found = [] if words is None else words[words["contribution"] * sign > 0]["term"].head(_WORDS).tolist()
        if found:
            parts.append(f"{side} it: {', '.join(map(repr, found))}")
    if (nearest["similarity"] > 0).any():
        parts.append(_compared(why, query, k, "it", nearest))
    else:
        parts.append("no row that has it is similar")
    return "; ".join(parts)


def _against_similar_rows(why: Explanation, query: int, k: int) -> str:
    """Which decided where words speak for a label and the most similar rows do not."""
    if not why.evidence.is_learned:
        return "; "
    have, n = why.evidence.among_nearest(query, k, NEAREST)
    if n and not have:
        return ", not because of similar rows: "
    weak = have / n < LIKELY <= why.probabilities[query, k] if n else False
    return ", more than because of similar rows: " if weak else "; "


def _compared(why: Explanation, query: int, column: int, what: str, nearest: pd.DataFrame) -> str:
    """How many of the most similar instances, or how much of the resemblance, and the first of them.

    Where influence is learned, similarities do not add up to scores, and the most similar are counted. Where
    they say no more than all rows do, what is explained is there for being frequent, and that comes first.
    """
    some = nearest[nearest["similarity"] > 0]
    if some.empty:
        return "similar to nothing, so the most frequent is taken"
    usual = why.evidence.frequency(column)
    if usual == 1:
        return f"all rows have {what}"
    return (_counted if why.evidence.is_learned else _summed)(why, query, column, what, usual, some)


def _counted(why: Explanation, query: int, column: int, what: str, usual: float, some: pd.DataFrame) -> str:
    """How many of the most similar have what is explained, and which."""
    have, n = why.evidence.among_nearest(query, column, NEAREST)
    if have == 1:
        having = f"1 of the {n} most similar rows ({_listed(_first(some, 1))}) has {what}"
        closest = ""
    else:
        having = f"{have or 'none'} of the {n} most similar rows {'have' if have else 'has'} {what}"
        closest = f"; {_closest(some, have)}" if have else f"; the closest that {_have(some, what)}"
    # what words brought is told before: nothing is left that would not follow
    apart = (
        ""
        if column >= len(why.labels) or (why.evidence.has_words and not have)
        else follows(why, query, column, have / n)
    )
    if not _is_usual(usual, have / n):
        return f"{having}, while {percent(usual)} of all rows do{apart}{closest}"
    more = _how_much_more(have / n, usual)
    frequent = _frequent(why, query, column)
    return f"{frequent}, {percent(usual)} of all rows have {what}; {having}, {more} often{apart}{closest}"


def _summed(why: Explanation, query: int, column: int, what: str, usual: float, some: pd.DataFrame) -> str:
    """How much of the resemblance those make up that have what is explained, and the first of them."""
    sums = why.terms.totals[query]
    share = float(sums[column] / sums[len(why.labels) :].sum())
    apart = "" if column >= len(why.labels) else follows(why, query, column, share)
    rows = f"rows that have {what} are {percent(usual)} of all rows and make up"
    closest = _closest(some)
    if not _is_usual(usual, share):
        return f"{rows} {percent(share)} of the resemblance{apart}; {closest}"
    more = _how_much_more(share, usual)
    frequent = _frequent(why, query, column)
    return f"{frequent}; {rows} {more} of the resemblance, {percent(share)}{apart}; {closest}"


def _is_usual(usual: float, share: float) -> bool:
    """Whether something is there for being frequent, and rows like this one have it hardly more often."""
    return usual >= _FREQUENT and share <= HARDLY_MORE * usual


def _how_much_more(share: float, usual: float) -> str:
    if round(share, 2) == round(usual, 2):
        return "no more"
    return "hardly more" if share > usual else "less"


def _frequent(why: Explanation, query: int, column: int) -> str:
    if column >= len(why.labels):
        return "this is the usual number"
    return (
        "the most frequent label fills the place" if fills_a_place(why, query, column) else "it is frequent"
    )


def _closest(some: pd.DataFrame, among: int = _LOOKED_AT) -> str:
    names = _first(some, among)
    return f"the closest {'is' if len(names) == 1 else 'are'} {_listed(names)}"


def _have(some: pd.DataFrame, what: str) -> str:
    names = _first(some)
    return f"{f'has {what} is' if len(names) == 1 else f'have {what} are'} {_listed(names)}"


def _first(some: pd.DataFrame, among: int = _LOOKED_AT) -> list[Any]:
    """The closest rows by their titles, each title once, or by their ids; only the first rows count."""
    name = "title" if "title" in some else "id"
    return without_copies(some)[name].head(min(_LIKE, some[name].head(among).nunique())).tolist()


def _listed(names: list[Any]) -> str:
    return _joined([*map(repr, names)])


def _joined(parts: list[str]) -> str:
    *some, last = parts
    return f"{', '.join(some)} and {last}" if some else last


def _because(why: Explanation, words: pd.DataFrame) -> str:
    """The words that speak for a label most, by the column that they are in, and where a number lies."""
    pro = words[words["contribution"] > 0].head(_WORDS)
    pro = pro[pro["contribution"] >= _TELLING * pro["contribution"].max()]
    kinds, words_named, numbers_named = why.evidence.kinds, [], []
    for column, part in pro.groupby("column", sort=False):
        terms, direction = part["term"].tolist(), part["direction"].iloc[0]
        if direction:
            numbers_named.append(f"{column} {terms[0]} is {direction}")
            continue
        listed = ", ".join(map(repr, terms))
        noun = "" if kinds[str(column)] != "text" else "the word " if len(terms) == 1 else "the words "
        words_named.append(f"{noun}{listed} in {column}")
    reasons = [f"because of {_joined(words_named)}"] if words_named else []
    reasons += [f"because {_joined(numbers_named)}"] if numbers_named else []
    return " and ".join(reasons)
