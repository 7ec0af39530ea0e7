"""Encoders of one column each: terms, numbers and dates, or embedded texts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.validation import FloatArray, IntArray, check_number, check_numbers
from simlabel.tables._cells import Cell, moment, number
from simlabel.tables._detection import Column
from simlabel.tables._text import (
    ANALYZES,
    TermCounts,
    Vocabulary,
    grams_in_words,
    original_spelling,
    whole_text,
    words_in_text,
)

#: column of the encoded rows, the part of the cell that it stands for, and its share of that part
Readable = tuple[int, str, float]

_KNOTS = 9  # quantiles of a number: an eighth of the rows lies between two
_LARGEST = 1e100  # the square of a larger number would overflow
_YEARS = (1000, 2100)  # integers between them are read as years
_FARTHEST = 3.0  # standard deviations at which numbers are clipped
_DATE_PARTS = ("year", "month", "day of the week", "hour")


@dataclass(frozen=True)
class FittedColumn:
    """Base class: a column, and what was learned from its cells at fit."""

    column: Column

    @property
    def slots(self) -> IntArray:
        """Columns of the encoded rows that are in use."""
        return np.array([slot for slot, _ in self.names()], dtype=np.int64)

    def names(self) -> Iterable[tuple[int, str]]:
        """Return each column of the encoded rows that is in use, with its meaning."""
        raise NotImplementedError

    def taught(self, cells: Sequence[Cell], first_slot: int) -> Self:
        """Add the terms of more rows; what else was learned is held until `retune`."""
        return self

    def forgotten(self, cells: Sequence[Cell]) -> Self:
        """Remove the terms that only these rows had; what else was learned is held until `retune`."""
        return self


@dataclass(frozen=True)
class TermColumn(FittedColumn):
    """A column of texts, categories, lists or addresses, encoded as one block of unit length.

    A text has two vocabularies of equal weight: words and n-grams of characters.
    """

    file_key: ClassVar[str] = "tables.TermColumn"

    vocabularies: tuple[Vocabulary, ...]

    def check(self) -> None:
        """Raise ValueError if an attribute is invalid."""
        if not isinstance(self.column, Column) or self.column.kind not in ANALYZES:
            raise ValueError("TermColumn: its column has no terms.")
        n_parts, parts = len(self._counted([])), self.vocabularies
        if not isinstance(parts, tuple) or [type(part) for part in parts] != [Vocabulary] * n_parts:
            raise ValueError(f"TermColumn: {self.column.kind!r} must have {n_parts} vocabularies.")

    @classmethod
    def learn(cls, column: Column, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find the terms of the rows that a model is fitted on."""
        created: list[Vocabulary] = []
        for counted in cls(column, ())._counted(cells):
            created.append(Vocabulary.learn(counted, first_slot))
            first_slot += len(counted.terms)
        return cls(column, tuple(created))

    @property
    def slots(self) -> IntArray:
        """Columns of the encoded rows that are in use."""
        return np.concatenate([part.slots for part in self.vocabularies])

    def _counted(self, cells: Sequence[Cell]) -> tuple[TermCounts, ...]:
        return ANALYZES[self.column.kind](cells, self.column.separator)

    def names(self) -> Iterable[tuple[int, str]]:
        """Return each column of the encoded rows that is in use, with its term."""
        for part in self.vocabularies:
            yield from zip(part.slots.tolist(), part.terms.tolist(), strict=True)

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """Encode cells; rows with a known term have unit length, (n_rows, width)."""
        counts = self._counted(cells)
        parts = [v.encoded(each, width) for v, each in zip(self.vocabularies, counts, strict=True)]
        if len(parts) == 1:
            return parts[0]
        block: sp.csr_array = parts[0] + parts[1]
        n_parts = sum(np.diff(part.indptr) > 0 for part in parts)
        block.data /= np.sqrt(np.repeat(n_parts, np.diff(block.indptr)))
        return block

    def taught(self, cells: Sequence[Cell], first_slot: int) -> Self:
        """Add the terms of more rows."""
        created = []
        for vocabulary, counted in zip(self.vocabularies, self._counted(cells), strict=True):
            created.append(vocabulary.taught(counted, first_slot))
            first_slot += len(created[-1].terms) - len(vocabulary.terms)
        return replace(self, vocabularies=tuple(created))

    def forgotten(self, cells: Sequence[Cell]) -> Self:
        """Remove the terms that only these rows had."""
        parts = zip(self.vocabularies, self._counted(cells), strict=True)
        return replace(self, vocabularies=tuple(v.forgotten(each) for v, each in parts))

    def readable(self, c: Cell) -> Iterator[Readable]:
        """Yield the part of a cell that each column stands for, spelled as in the cell.

        N-grams of characters are shown as the words that contain them.
        """
        written = original_spelling(c, self.column.separator)
        shown: list[Iterable[tuple[str, str]]] = [
            ((term, term.lstrip("*")) for term in each.terms) for each in self._counted([c])
        ]
        if self.column.kind == "text":
            shown = [words_in_text(c), grams_in_words(c)]
        for vocabulary, inside in zip(self.vocabularies, map(Counter, shown), strict=True):
            totals = Counter[str]()
            for (term, _), count in inside.items():
                totals[term] += count
            for (term, as_shown), count in inside.items():
                place = vocabulary.index.get(term, -1)
                if place >= 0:
                    words = (written.get(word, word) for word in as_shown.split(" "))
                    spelled = written.get(as_shown) or " ".join(words)
                    yield int(vocabulary.slots[place]), spelled, count / totals[term]


@dataclass(frozen=True)
class NumberColumn(FittedColumn):
    """A column of numbers or dates: standardized, as linear splines of its quantiles, and a missing flag.

    Attributes
    ----------
    column : Column
    middle, scale : array, (n_numbers,)
        Median and standard deviation of each number; a date consists of year, month, day of the week and
        hour.
    knots : array, (n_numbers, 9)
        Quantiles; a number is interpolated between the two around it.
    slot : int
        The first of its columns in the encoded rows.
    """

    file_key: ClassVar[str] = "tables.NumberColumn"

    middle: FloatArray
    scale: FloatArray
    knots: FloatArray
    slot: int

    def check(self) -> None:
        """Raise ValueError if an attribute is invalid."""
        if not isinstance(self.column, Column) or self.column.kind not in ("number", "date"):
            raise ValueError("NumberColumn: its column holds no numbers.")
        n = 1 if self.column.kind == "number" else len(_DATE_PARTS)
        check_numbers("NumberColumn", "middle", self.middle, (n,))
        check_numbers("NumberColumn", "scale", self.scale, (n,), above=0)
        check_numbers("NumberColumn", "knots", self.knots, (n, _KNOTS))
        check_number("NumberColumn", "slot", self.slot, at_least=0, integer=True)
        if (np.diff(self.knots, axis=1) < 0).any():
            raise ValueError("NumberColumn: knots must not decrease.")

    @classmethod
    def learn(cls, column: Column, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find the median, the standard deviation and quantiles."""
        values = _numbers(column, cells)
        there = values[~np.isnan(values[:, 0])]
        if not len(there):
            there = np.zeros((1, values.shape[1]))
        scale = there.std(axis=0)
        scale[scale <= 1e-12 * np.maximum(1.0, np.abs(there).max(axis=0))] = 1.0
        knots = np.quantile(there, np.linspace(0, 1, _KNOTS), axis=0).T
        return cls(column, np.median(there, axis=0), scale, np.ascontiguousarray(knots), first_slot)

    def names(self) -> Iterable[tuple[int, str]]:
        """Return each column of the encoded rows, with its meaning."""
        parts = [""] if self.column.kind == "number" else [f"{part} " for part in _DATE_PARTS]
        found = [f"{part}size" for part in parts]
        for part, knots in zip(parts, self.knots.tolist(), strict=True):
            found += [f"{part}about {knot:g}" for knot in knots]
        return enumerate([*found, "missing"], self.slot)

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """Encode cells; the mean squared length is about 1, (n_rows, width)."""
        values = _numbers(self.column, cells)
        missing = np.isnan(values[:, :1])
        values = np.where(missing, self.middle, values)
        parts: list[FloatArray] = [np.clip((values - self.middle) / self.scale, -_FARTHEST, _FARTHEST)]
        parts += [_linear_spline(values[:, k], knots) for k, knots in enumerate(self.knots)]
        dense = np.hstack([*(part * ~missing for part in parts), missing]) / np.sqrt(2.0 * len(self.middle))
        return _shifted(dense, self.slot, width)

    def readable(self, c: Cell) -> Iterator[Readable]:
        """Yield the number as it is written in the cell, for each column."""
        shown = f"{c:.6g}" if isinstance(c, float) else str(c)
        shown = "missing" if np.isnan(_numbers(self.column, [c])[0, 0]) else shown
        return ((slot, shown, 1.0) for slot, _ in self.names())

    def direction(self, c: Cell) -> str:
        """Return how a number or date compares with those at fit; "" if it is missing."""
        value, knots = _numbers(self.column, [c])[0, 0], self.knots[0]
        if np.isnan(value):
            return ""
        at = _KNOTS // 2
        low, middle, high = knots[[at - 1, at, at + 1]]  # a quarter of the rows lies between
        years = _YEARS[0] <= knots[0] <= knots[-1] <= _YEARS[1] and not (knots[[0, -1]] % 1).any()
        is_time = bool(years) or self.column.kind == "date"
        if value < low:
            return "earlier than most" if is_time else "lower than most"
        if value > high:
            return "later than most" if is_time else "higher than most"
        return f"close to the middle value {int(middle) if is_time else f'{middle:.4g}'}"


def _numbers(column: Column, cells: Sequence[Cell]) -> FloatArray:
    """Return the numbers in the cells, NaN if there is none, (n_rows, n_numbers)."""
    if column.kind == "number":
        found = [number(c, column.decimal) for c in cells]
        return np.clip(np.array(found, dtype=np.float64), -_LARGEST, _LARGEST).reshape(-1, 1)
    out = np.full((len(cells), len(_DATE_PARTS)), np.nan)
    for i, c in enumerate(cells):
        when = moment(c, column.order)
        if when is not None:
            year = when.year + (when.timetuple().tm_yday - 1) / 366.0
            out[i] = year, when.month, when.weekday(), when.hour + when.minute / 60.0
    return out


def _linear_spline(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Return linear B-splines, (n, n_knots); of equal knots only the first counts."""
    where, first = np.unique(knots, return_index=True)
    out = np.zeros((len(values), len(knots)))
    if len(where) == 1:
        return out
    inside = np.clip(values, where[0], where[-1])
    right = np.clip(np.searchsorted(where, inside), 1, len(where) - 1)
    share = (inside - where[right - 1]) / (where[right] - where[right - 1])
    rows = np.arange(len(values))
    out[rows, first[right - 1]] = 1.0 - share
    out[rows, first[right]] = share
    return out


def _shifted(dense: FloatArray, slot: int, width: int) -> sp.csr_array:
    block = sp.csr_array(dense)
    return sp.csr_array((block.data, block.indices + slot, block.indptr), shape=(len(dense), width))


class Embedding(BaseEstimator):
    """Turn the texts of a column into vectors of unit length.

    Parameters
    ----------
    source : callable or str
        ``source(texts) -> array, (n_texts, n_dimensions)``; to be saved with a model it is registered by
        name (`simlabel.model.persistence.register`). Or the folder of a model2vec model on disk, which the
        extra ``embeddings`` reads; nothing is downloaded. A saved model holds the path, not the folder.

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> Embedding(lengths).vectors(["a", "a b"])
    array([[1.        , 0.        ],
           [0.9486833 , 0.31622777]])
    """

    file_key = "tables.Embedding"

    def __init__(self, source: Callable[[list[str]], Any] | str) -> None:
        self.source = source

    def check(self) -> None:
        """Raise TypeError if the source is neither a function nor a path."""
        if not callable(self.source) and not isinstance(self.source, str | os.PathLike):
            raise TypeError(f"Embedding: source must be a function or a folder, got {self.source!r}.")

    def vectors(self, texts: list[str]) -> FloatArray:
        """Return one row of unit length for each text; zeros for an empty one."""
        embed = self.source if callable(self.source) else _model2vec(os.fspath(self.source))
        given = embed(texts)
        try:
            found = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)  # not numbers, or rows of different lengths
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise ValueError(
                f"Embedding: {self.source!r} gave {given!r:.60} for {len(texts)} texts; expected one row of "
                f"finite numbers for each text."
            )
        found[[not text for text in texts]] = 0.0
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        return found / np.where(lengths > 0, lengths, 1.0)[:, None]


@lru_cache(maxsize=4)
def _model2vec(folder: str) -> Callable[[list[str]], Any]:
    if not Path(folder).is_dir():
        raise ValueError(
            f"Embedding: there is no folder {folder!r}: pass the folder of a model2vec model on this machine."
        )
    try:
        from model2vec import StaticModel  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(
            "an embedding from a folder needs model2vec: pip install 'simlabel[embeddings]'."
        ) from None
    return StaticModel.from_pretrained(folder).encode  # type: ignore[no-any-return,unused-ignore]


@dataclass(frozen=True)
class EmbeddedColumn(FittedColumn):
    """A column of texts as vectors of unit length."""

    file_key: ClassVar[str] = "tables.EmbeddedColumn"

    embedding: Embedding
    width: int
    slot: int

    def check(self) -> None:
        """Raise ValueError if an attribute is invalid."""
        if not isinstance(self.column, Column) or not isinstance(self.embedding, Embedding):
            raise ValueError("EmbeddedColumn: it needs a column and an embedding.")
        check_number("EmbeddedColumn", "width", self.width, at_least=1, integer=True)
        check_number("EmbeddedColumn", "slot", self.slot, at_least=0, integer=True)

    @classmethod
    def learn(cls, column: Column, embedding: Embedding, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find the number of dimensions."""
        width = embedding.vectors([whole_text(c) for c in cells[:1]]).shape[1]
        return cls(column, embedding, int(width), first_slot)

    def names(self) -> Iterable[tuple[int, str]]:
        """Return each column of the encoded rows, with its dimension."""
        return ((self.slot + k, f"dimension {k}") for k in range(self.width))

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """Encode cells; rows with a text have unit length, (n_rows, width)."""
        vectors = self.embedding.vectors([whole_text(c) for c in cells])
        if vectors.shape[1] != self.width:
            raise ValueError(
                f"the embedding of {self.column.name!r} gives {vectors.shape[1]} numbers, but gave "
                f"{self.width} at fit: pass the same embedding."
            )
        return _shifted(vectors, self.slot, width)

    def readable(self, c: Cell) -> Iterator[Readable]:
        """Yield the whole text for each column, since dimensions stand for no single word."""
        return ((slot, "the text as a whole", 1.0) for slot, _ in self.names())
