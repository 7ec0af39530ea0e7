"""Sums over the rows where a label is known, made comparable with each other.

A label that few rows say anything of would get small sums. So each is divided by the similarity to the rows
where it is known, and multiplied by the similarity to all: what is unknown is taken to be as the rest.
Likewise set sizes, of which only rows that are wholly known speak. Where similarities may be negative, sums
of them are no measure; then numbers of rows take their place.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simlabel._utils.rows import dense_rows, group_sums, pieces
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows
from simlabel.ridge._base import Problem


class _Parts(NamedTuple):
    """Sums over the rows that have a label, where it is known, of a size, wholly known, and over all."""

    labels: FloatArray
    known: FloatArray
    sizes: FloatArray
    whole: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class KnownSums:
    """From sums with the columns of `References.influence` to label weights, sizes and the total.

    Attributes
    ----------
    problem : Problem
        Of references not all of whose labels are known.
    divided : bool
        Whether the labels' sums were divided by counts already, so that only sizes are to be.
    """

    problem: Problem
    divided: bool = False

    def __call__(
        self, sums: FloatArray, rows: npt.NDArray[np.integer] | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Label weights (n, n_labels), sizes (n, n_sizes), and the similarity to all references, (n,).

        Parameters
        ----------
        sums : array, (n, 2 n_labels + n_sizes + 1)
        rows : array of int, (n,), optional
            The references that are the queries, each (or its group) left out of its own sums.
        """
        similar, counted = self._parts(sums), self._parts(self._whole(rows))
        by = counted if self._by_counts else similar
        total = similar.total
        # where nobody who knows is similar at all: what all who know say
        usual = total * _ratio(counted.labels, counted.known)
        labels = similar.labels if self.divided else _scaled(similar.labels, by.total, by.known, usual)
        usual = total * _ratio(counted.sizes, counted.whole)
        return labels, _scaled(similar.sizes, by.total, by.whole, usual), total[:, 0]

    @cached_property
    def frequencies(self) -> FloatArray:
        """What each label and each set size would weigh if all were known, (n_labels + n_sizes,)."""
        counted = self._parts(self._all)
        shares = _ratio(counted.labels, counted.known), _ratio(counted.sizes, counted.whole)
        return counted.total[0] * np.hstack(shares)[0]

    @cached_property
    def shares(self) -> FloatArray:
        """Of the references where a label is known, the share that has it, (n_labels,)."""
        counted = self._parts(self._all)
        return _ratio(counted.labels, counted.known)[0]

    def factors(self, sums: FloatArray) -> FloatArray:
        """By what a query's sums are multiplied, (n, n_labels + n_sizes); 1 where nothing is known."""
        similar, counted = self._parts(sums), self._parts(self._all)
        by = counted if self._by_counts else similar
        ones = np.ones((len(sums), len(self.problem.references.sizes)))
        known = np.hstack([by.total * ones[:, :0] if self.divided else by.known, by.whole * ones])
        made = np.divide(by.total, known, out=np.ones(known.shape), where=known > 0)
        return np.hstack([np.ones(similar.labels.shape), made]) if self.divided else made

    def _parts(self, sums: FloatArray) -> _Parts:
        n, n_sizes = self.problem.references.n_labels, len(self.problem.references.sizes)
        sizes, others = sums[:, n : n + n_sizes], sums[:, n + n_sizes, None]
        whole = sizes.sum(axis=1, keepdims=True)
        return _Parts(sums[:, :n], whole + sums[:, n + n_sizes + 1 :], sizes, whole, whole + others)

    @cached_property
    def _by_counts(self) -> bool:
        return not never_negative(self.problem)

    @cached_property
    def _all(self) -> FloatArray:
        parts = [np.asarray(piece.sum(axis=0)).ravel() for piece in pieces(self.problem.rows)]
        return np.sum(parts, axis=0)[None, :]

    @cached_property
    def _groups(self) -> Rows:
        groups = self.problem.references.groups
        assert groups is not None
        return group_sums(groups, np.ones(len(groups)), self.problem.rows[:])

    def _whole(self, rows: npt.NDArray[np.integer] | None) -> FloatArray:
        """The sums if everybody were equally similar, without the row or its group, (n or 1, n_columns)."""
        if rows is None:
            return self._all
        references = self.problem.references
        if references.groups is not None:
            gone = dense_rows(self._groups[references.groups[rows]])
        else:
            weights = references.weights[rows]
            gone = dense_rows(self.problem.rows[rows]) * (np.minimum(weights, 1.0) / weights)[:, None]
        left = self._all - gone
        return np.where(left > 1e-9 * self._all, left, 0.0)


def never_negative(problem: Problem) -> bool:
    """Whether no similarity counts for less than nothing, as far as is known."""
    stages = problem.stages
    of = stages.similarity.never_negative
    known = of(False) or (of(True) and problem.references.nonnegative)
    return known if stages.weighting is None else stages.weighting.never_negative(known)


def _ratio(part: FloatArray, of: FloatArray) -> FloatArray:
    """part / of, and 0 where there is nothing."""
    of = np.broadcast_to(of, part.shape)
    return np.divide(part, of, out=np.zeros(part.shape), where=of > 0)


def _scaled(sums: FloatArray, total: FloatArray, known: FloatArray, usual: FloatArray) -> FloatArray:
    """sums / known * total, and what is usual where nothing is known."""
    known = np.broadcast_to(known, sums.shape)
    return np.where(known > 0, _ratio(sums, known) * total, usual).astype(sums.dtype, copy=False)


def one_copy(weights: FloatArray, scales: FloatArray | None) -> FloatArray:
    """How much goes when a row is left out: one copy of it, times what it was drawn for."""
    gone = np.minimum(weights, 1.0)
    return gone if scales is None else gone * scales
