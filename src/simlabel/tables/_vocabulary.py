"""The terms of a column that labelled rows have: in how many rows each is, and what it weighs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, check_number, check_numbers, object_array
from simlabel.tables._terms import Counted, Positions


@dataclass(frozen=True)
class Vocabulary:
    """Terms, immutable: a row that comes or goes makes another one.

    What a term weighs is held from `fit` until `retune`; only the counts follow the rows. So a row that is
    taught or forgotten changes no other row's features.

    Attributes
    ----------
    terms : array of str, (n_terms,)
    counts : array of int, (n_terms,)
        In how many of the labelled rows each is.
    weights : array, (n_terms,)
        Inverse document frequencies: log((1 + rows) / (1 + rows that have it)) + 1, as they were at `fit`.
    slots : array of int, (n_terms,)
        The column of the encoded rows in which each is.
    n_rows : int
        How many rows there were at `fit`.
    """

    file_key: ClassVar[str] = "tables.Vocabulary"

    terms: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    weights: FloatArray
    slots: npt.NDArray[np.int64]
    n_rows: int

    def check(self) -> None:
        """Raise ValueError where the parts do not fit each other."""
        if not isinstance(self.terms, np.ndarray) or self.terms.ndim != 1:
            raise ValueError("Vocabulary: terms are no list.")
        if not all(isinstance(term, str) for term in self.terms.tolist()) or len(self.index) < len(
            self.terms
        ):
            raise ValueError("Vocabulary: terms are not all texts, or not all different.")
        check_number("Vocabulary", "n_rows", self.n_rows, at_least=0, integer=True)
        n = (len(self.terms),)
        check_numbers("Vocabulary", "counts", self.counts, n, kinds="i", at_least=1)
        check_numbers("Vocabulary", "weights", self.weights, n, above=0)
        check_numbers("Vocabulary", "slots", self.slots, n, kinds="i", at_least=0)
        if len(np.unique(self.slots)) < len(self.slots):
            raise ValueError("Vocabulary: two terms are in one column.")

    @classmethod
    def empty(cls, n_rows: int) -> Vocabulary:
        """Without a term."""
        none: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        return cls(object_array([]), none, np.zeros(0), none, n_rows)

    @classmethod
    def learn(cls, counted: Counted, first_slot: int) -> Vocabulary:
        """The terms of the rows that a model is fitted on."""
        n, found = counted.counts.shape[0], _row_counts(counted)
        weights = np.log((1.0 + n) / (1.0 + found)) + 1.0
        slots = np.arange(first_slot, first_slot + len(found))
        return cls(object_array(counted.terms), found, weights, slots, n)

    @cached_property
    def index(self) -> dict[str, int]:
        """Where each term is."""
        return {term: i for i, term in enumerate(self.terms.tolist())}

    def positions(self, terms: list[str]) -> Positions:
        """Where these terms are; -1 for one that no labelled row has."""
        get = self.index.get
        return np.array([get(term, -1) for term in terms], dtype=np.int64)

    def taught(self, counted: Counted, first_slot: int) -> Vocabulary:
        """With the terms of more rows; a new one weighs what a term seen once does."""
        at, more = self.positions(counted.terms), _row_counts(counted)
        counts = self.counts.copy()
        counts[at[at >= 0]] += more[at >= 0]
        new = np.flatnonzero((at < 0) & (more > 0))
        if not len(new):
            return replace(self, counts=counts)
        once = np.log((1.0 + self.n_rows) / 2.0) + 1.0 if self.n_rows > 1 else 1.0
        return Vocabulary(
            np.concatenate([self.terms, object_array([counted.terms[i] for i in new.tolist()])]),
            np.concatenate([counts, more[new]]),
            np.concatenate([self.weights, np.full(len(new), once)]),
            np.concatenate([self.slots, np.arange(first_slot, first_slot + len(new))]),
            self.n_rows,
        )

    def forgotten(self, counted: Counted) -> Vocabulary:
        """Without some rows: a term that only they had is gone."""
        at, fewer = self.positions(counted.terms), _row_counts(counted)
        counts = self.counts.copy()
        counts[at[at >= 0]] -= fewer[at >= 0]
        left = counts > 0
        return Vocabulary(self.terms[left], counts[left], self.weights[left], self.slots[left], self.n_rows)

    def encoded(self, counted: Counted, width: int) -> sp.csr_array:
        """1 + log(count), times the weight, each row at length 1, (n_rows, width); unknown terms left out."""
        at = self.positions(counted.terms)
        there = at[counted.counts.indices] >= 0
        indptr = np.concatenate([[0], np.cumsum(there)])[counted.counts.indptr]
        at = at[counted.counts.indices[there]]
        values = (1.0 + np.log(counted.counts.data[there])) * self.weights[at]
        rows = np.repeat(np.arange(counted.counts.shape[0]), np.diff(indptr))
        lengths = np.sqrt(np.bincount(rows, values**2, minlength=counted.counts.shape[0]))
        values /= lengths[rows]
        return sp.csr_array((values, self.slots[at], indptr), shape=(counted.counts.shape[0], width))


def _row_counts(counted: Counted) -> npt.NDArray[np.int64]:
    """In how many rows each term is."""
    return np.bincount(counted.counts.indices, minlength=len(counted.terms)).astype(np.int64)
