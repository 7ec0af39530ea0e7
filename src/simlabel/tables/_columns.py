"""Columns of a table that have learnt what is in them: terms, numbers, or what an embedding says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, check_number, check_numbers
from simlabel.tables._cells import Cell
from simlabel.tables._kinds import Column
from simlabel.tables._terms import ANALYSES, as_written, grams_in_words, words_in_text
from simlabel.tables._values import moment, number
from simlabel.tables._vocabulary import Vocabulary

#: column of the encoded rows, what of the cell it stands for, and with which share of it
Readable = tuple[int, str, float]

_KNOTS = 9  # of the hats over a number: eighths of the rows lie between
_LARGEST = 1e100  # its square is still a number
_YEARS = (1000, 2100)  # whole numbers between them are taken for years
_FARTHEST = 3.0  # standard deviations; what is farther out counts as there


@dataclass(frozen=True)
class TermColumn:
    """A column of texts, categories, lists or addresses, as one block of length 1.

    Of a text that is words and characters, both of the same weight.
    """

    file_key: ClassVar[str] = "tables.TermColumn"

    column: Column
    vocabularies: tuple[Vocabulary, ...]

    def check(self) -> None:
        """Raise ValueError where a part is of another kind."""
        if not isinstance(self.column, Column) or self.column.kind not in ANALYSES:
            raise ValueError("TermColumn: its column is none that has terms.")
        n_parts = len(ANALYSES[self.column.kind]([], ""))
        parts = self.vocabularies
        if (
            not isinstance(parts, tuple)
            or len(parts) != n_parts
            or not all(isinstance(p, Vocabulary) for p in parts)
        ):
            raise ValueError(f"TermColumn: {self.column.kind!r} has {n_parts} vocabularies.")

    @classmethod
    def learn(cls, column: Column, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find the terms of the rows that a model is fitted on."""
        made = []
        for counted in ANALYSES[column.kind](cells, column.separator):
            made.append(Vocabulary.learn(counted, first_slot))
            first_slot += len(made[-1].terms)
        return cls(column, tuple(made))

    @property
    def slots(self) -> Iterator[np.ndarray]:
        """Columns of the encoded rows that are in use, by part."""
        return (part.slots for part in self.vocabularies)

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """A block of length 1 for each row that has a known term, (n_rows, width)."""
        counts = ANALYSES[self.column.kind](cells, self.column.separator)
        parts = [v.encoded(each, width) for v, each in zip(self.vocabularies, counts, strict=True)]
        if len(parts) == 1:
            return parts[0]
        lengths = np.array([np.diff(part.indptr) for part in parts])
        scale = 1.0 / np.sqrt(np.maximum((lengths > 0).sum(axis=0), 1))
        ends = np.concatenate([[0], np.cumsum(lengths.sum(axis=0))])
        data, slots = np.empty(ends[-1]), np.empty(ends[-1], dtype=np.int64)
        starts = ends[:-1]
        for part, n in zip(parts, lengths, strict=True):  # each has columns of its own: nothing is added up
            at = np.arange(part.nnz) + np.repeat(starts - part.indptr[:-1], n)
            data[at], slots[at] = part.data * np.repeat(scale, n), part.indices
            starts = starts + n
        return sp.csr_array((data, slots, ends), shape=(len(cells), width))

    def taught(self, cells: Sequence[Cell], first_slot: int) -> Self:
        """With the terms of more rows."""
        made = []
        for vocabulary, counted in zip(
            self.vocabularies, ANALYSES[self.column.kind](cells, self.column.separator), strict=True
        ):
            more = vocabulary.taught(counted, first_slot)
            first_slot += len(more.terms) - len(vocabulary.terms)
            made.append(more)
        return replace(self, vocabularies=tuple(made))

    def forgotten(self, cells: Sequence[Cell]) -> Self:
        """Without the terms that only these rows had."""
        counts = ANALYSES[self.column.kind](cells, self.column.separator)
        fewer = [v.forgotten(each) for v, each in zip(self.vocabularies, counts, strict=True)]
        return replace(self, vocabularies=tuple(fewer))

    def readable(self, c: Cell) -> Iterator[Readable]:
        """What each column of the encoded row is of a cell; of characters, the words that they are in.

        Words are spelled as in the cell.
        """
        written = as_written(c, self.column.separator)

        def spelled(term: str) -> str:
            return written.get(term) or " ".join(written.get(word, word) for word in term.split(" "))

        for vocabulary, inside in zip(self.vocabularies, map(Counter, self._shown(c)), strict=True):
            often = Counter[str]()
            for (term, _), count in inside.items():
                often[term] += count
            for (term, shown), count in inside.items():
                place = vocabulary.index.get(term, -1)
                if place >= 0:
                    yield int(vocabulary.slots[place]), spelled(shown), count / often[term]

    def _shown(self, c: Cell) -> list[Iterable[tuple[str, str]]]:
        """The terms of a cell for each vocabulary, with the word to show for each."""
        if self.column.kind == "text":
            return [words_in_text(c), grams_in_words(c)]
        analyses = ANALYSES[self.column.kind]([c], self.column.separator)
        return [((term, term.lstrip("*")) for term in each.terms) for each in analyses]

    def names(self) -> Iterator[tuple[int, str]]:
        """Each column of the encoded rows that is in use, with its term."""
        for part in self.vocabularies:
            yield from zip(part.slots.tolist(), part.terms.tolist(), strict=True)


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers or dates: standardised, as hats over its quantiles, and whether it is missing.

    Attributes
    ----------
    column : Column
    middle, scale : array, (n_numbers,)
        Median and standard deviation of each number; of a date these are years, months, days of the week
        and hours.
    knots : array, (n_numbers, 9)
        Quantiles; a number is shared between the two that it lies between.
    slot : int
        The first of its columns in the encoded rows.
    """

    file_key: ClassVar[str] = "tables.NumberColumn"

    column: Column
    middle: FloatArray
    scale: FloatArray
    knots: FloatArray
    slot: int

    def check(self) -> None:
        """Raise ValueError where a part is of another kind."""
        if not isinstance(self.column, Column) or self.column.kind not in ("number", "date"):
            raise ValueError("NumberColumn: its column holds no numbers.")
        n = 1 if self.column.kind == "number" else len(_MOMENTS)
        check_numbers("NumberColumn", "middle", self.middle, (n,))
        check_numbers("NumberColumn", "scale", self.scale, (n,), above=0)
        check_numbers("NumberColumn", "knots", self.knots, (n, _KNOTS))
        check_number("NumberColumn", "slot", self.slot, at_least=0, integer=True)
        if (np.diff(self.knots, axis=1) < 0).any():
            raise ValueError("NumberColumn: its knots must rise.")

    @classmethod
    def learn(cls, column: Column, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find middle, spread and quantiles."""
        values = _numbers(column, cells)
        there = values[~np.isnan(values[:, 0])]
        if not len(there):
            there = np.zeros((1, values.shape[1]))
        scale = there.std(axis=0)
        scale[scale <= 1e-12 * np.maximum(1.0, np.abs(there).max(axis=0))] = 1.0
        knots = np.quantile(there, np.linspace(0, 1, _KNOTS), axis=0).T
        return cls(column, np.median(there, axis=0), scale, np.ascontiguousarray(knots), first_slot)

    @property
    def slots(self) -> Iterator[np.ndarray]:
        """Columns of the encoded rows that are in use."""
        return iter([np.arange(self.slot, self.slot + self.width)])

    @property
    def width(self) -> int:
        """How many columns of the encoded rows it takes."""
        return len(self.middle) * (1 + _KNOTS) + 1

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """Numbers with a mean squared length of about 1, (n_rows, width)."""
        values = _numbers(self.column, cells)
        missing = np.isnan(values[:, 0])
        values = np.where(missing[:, None], self.middle, values)
        z = np.clip((values - self.middle) / self.scale, -_FARTHEST, _FARTHEST)
        parts: list[FloatArray] = [z * ~missing[:, None]]
        parts += [_hats(values[:, k], knots) * ~missing[:, None] for k, knots in enumerate(self.knots)]
        dense = np.hstack([*parts, missing[:, None]]) / np.sqrt(2.0 * len(self.middle))
        block = sp.csr_array(dense)
        return sp.csr_array((block.data, block.indices + self.slot, block.indptr), shape=(len(cells), width))

    def readable(self, c: Cell) -> Iterator[Readable]:
        """What each column of the encoded row is of a cell: the number, as it stands there."""
        shown = f"{c:.6g}" if isinstance(c, float) else str(c)
        shown = "missing" if np.isnan(_numbers(self.column, [c])[0, 0]) else shown
        return ((int(slot), shown, 1.0) for slots in self.slots for slot in slots)

    def direction(self, c: Cell) -> str:
        """Where a number or date lies among those that the model was fitted on; "" where it is missing."""
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

    def taught(self, cells: Sequence[Cell], first_slot: int) -> Self:
        """The same: what was learnt is held until `retune`."""
        return self

    def forgotten(self, cells: Sequence[Cell]) -> Self:
        """The same: what was learnt is held until `retune`."""
        return self

    def names(self) -> Iterator[tuple[int, str]]:
        """Each of its columns of the encoded rows, with what it says."""
        parts = [""] if self.column.kind == "number" else [f"{part} " for part in _MOMENTS]
        yield from ((self.slot + k, f"{part}size") for k, part in enumerate(parts))
        at = self.slot + len(parts)
        for part, knots in zip(parts, self.knots, strict=True):
            yield from ((at + k, f"{part}about {knot:g}") for k, knot in enumerate(knots.tolist()))
            at += _KNOTS
        yield at, "missing"


_MOMENTS = ("year", "month", "day of the week", "hour")


def _numbers(column: Column, cells: Sequence[Cell]) -> FloatArray:
    """The numbers in the cells, NaN where there is none, (n_rows, n_numbers)."""
    if column.kind == "number":
        found = [number(c, column.decimal) for c in cells]
        values = np.array([np.nan if each is None else each for each in found], dtype=np.float64)
        return np.clip(values, -_LARGEST, _LARGEST).reshape(-1, 1)
    out = np.full((len(cells), len(_MOMENTS)), np.nan)
    for i, c in enumerate(cells):
        when = moment(c, column.order)
        if when is not None:
            year = when.year + (when.timetuple().tm_yday - 1) / 366.0
            out[i] = year, when.month, when.weekday(), when.hour + when.minute / 60.0
    return out


def _hats(values: FloatArray, knots: FloatArray) -> FloatArray:
    """Each value shared between the knots around it, (n, n_knots); equal knots act as one."""
    where, first = np.unique(knots, return_index=True)
    out = np.zeros((len(values), len(knots)))
    if len(where) == 1:
        return out
    inside = np.clip(values, where[0], where[-1])
    right = np.clip(np.searchsorted(where, inside, side="left"), 1, len(where) - 1)
    share = (inside - where[right - 1]) / (where[right] - where[right - 1])
    rows = np.arange(len(values))
    out[rows, first[right - 1]] = 1.0 - share
    out[rows, first[right]] = share
    return out
