"""Weak learners of the boosting algorithms: conditions on one column, and the search for the best one."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import effective_n_jobs

from simlabel._utils.kernels import inlined, kernel
from simlabel._utils.validation import BoolArray, IntArray, Rows
from simlabel.baselines._base import Float64Array

Int32Array = npt.NDArray[np.int32]

# A later condition must be better by more than rounding errors, so that the first of equal ones wins.
LOWER = 1 - 1e-9


class Condition(NamedTuple):
    """``x[column] >= threshold``, or for words ``x[column] != 0``, and its Z."""

    z: float
    column: int
    threshold: float


class PairWeights:
    """The distribution over (row, label) of AdaBoost.MH, separately for present and absent labels.

    Parameters
    ----------
    Y : array of 0/1, (n_rows, n_labels)
        The labels.
    rows : array, (n_rows,)
        How many times each row counts.

    Attributes
    ----------
    P, N : arrays, (n_rows, n_labels)
        Weights of the pairs with a present label, and with an absent label; together they sum to 1.
    smoothing : float
        Epsilon of the papers, 1 / (n_rows * n_labels): the initial weight of a pair.
    """

    def __init__(self, Y: Float64Array, rows: Float64Array) -> None:
        self.smoothing = 1.0 / (rows.sum() * Y.shape[1])
        self._sign = 2 * Y - 1
        start = rows[:, None] * self.smoothing
        self.P, self.N = Y * start, (1 - Y) * start

    def confidences(self, rows: BoolArray) -> Float64Array:
        """Return c_l = 1/2 ln((W+ + epsilon) / (W- + epsilon)) of some rows, (n_labels,)."""
        epsilon = self.smoothing
        ratio = (self.P[rows].sum(axis=0) + epsilon) / (self.N[rows].sum(axis=0) + epsilon)
        return np.asarray(0.5 * np.log(ratio))

    def update(self, h: Float64Array) -> float:
        """Multiply by exp(-y h), (n_rows, n_labels); return the normalizer Z."""
        factor = np.exp(-self._sign * h)
        self.P *= factor
        self.N *= factor
        z = float(self.P.sum() + self.N.sum())
        self.P /= z
        self.N /= z
        return z

    def outside(self, rows: BoolArray) -> float:
        """Return the weight of all other rows."""
        return float(self.P[~rows].sum() + self.N[~rows].sum())


class ConditionSearch:
    """The search for the best condition on the columns of X, in a few threads."""

    def __init__(self, X: Rows, n_threads: int, pool: ThreadPoolExecutor) -> None:
        self._n_columns, self._pool = X.shape[1], pool
        bounds = np.linspace(0, self._n_columns, n_threads + 1).astype(int).tolist()
        self._parts = [slice(a, b) for a, b in pairwise(bounds) if a < b]

    def best(self, weights: PairWeights, inside: BoolArray) -> Condition | None:
        """Find the condition with the lowest Z on the rows `inside`; None if no column separates them.

        Of equal conditions the first column wins, and in it the lowest threshold.
        """
        z, threshold = np.empty(self._n_columns), np.full(self._n_columns, -np.inf)
        list(
            self._pool.map(
                lambda part: self._scan(part, weights, inside, z[part], threshold[part]), self._parts
            )
        )
        column = int(first_lowest(z))
        return None if column < 0 else Condition(float(z[column]), column, float(threshold[column]))

    def _scan(
        self,
        columns: slice,
        weights: PairWeights,
        inside: BoolArray,
        z: Float64Array,
        threshold: Float64Array,
    ) -> None:
        """Fill Z and the threshold of some columns."""
        raise NotImplementedError

    def holds(self, condition: Condition) -> BoolArray:
        """Return on which training rows a condition holds, (n_rows,)."""
        raise NotImplementedError


class _ThresholdSearch(ConditionSearch):
    """Conditions ``x[j] >= v`` for every column of a dense matrix and every v between two of its values."""

    def __init__(self, X: Rows, n_threads: int, pool: ThreadPoolExecutor) -> None:
        super().__init__(X, n_threads, pool)
        self._values = np.ascontiguousarray(X.T, dtype=np.float64)
        self._order = np.argsort(self._values, axis=1, kind="stable").astype(np.int32)

    def _scan(
        self,
        columns: slice,
        weights: PairWeights,
        inside: BoolArray,
        z: Float64Array,
        threshold: Float64Array,
    ) -> None:
        values, order = self._values[columns], self._order[columns]
        scan_thresholds(values, order, weights.P, weights.N, inside, z, threshold)

    def holds(self, condition: Condition) -> BoolArray:
        return np.asarray(self._values[condition.column] >= condition.threshold)


class _WordSearch(ConditionSearch):
    """Conditions ``x[j] != 0`` for every column of a sparse matrix."""

    def __init__(self, X: Rows, n_threads: int, pool: ThreadPoolExecutor) -> None:
        super().__init__(X, n_threads, pool)
        self._words = sp.csc_array(X, copy=True)
        self._words.eliminate_zeros()
        self._words.sort_indices()

    def _scan(
        self,
        columns: slice,
        weights: PairWeights,
        inside: BoolArray,
        z: Float64Array,
        threshold: Float64Array,
    ) -> None:
        P, N = weights.P, weights.N
        totals = P[inside].sum(axis=0), N[inside].sum(axis=0)
        indptr = self._words.indptr[columns.start : columns.stop + 1]
        scan_words(indptr, self._words.indices, P, N, *totals, int(inside.sum()), inside, z)

    def holds(self, condition: Condition) -> BoolArray:
        mask = np.zeros(self._words.shape[0], dtype=bool)
        start, stop = self._words.indptr[condition.column : condition.column + 2]
        mask[self._words.indices[start:stop]] = True
        return mask


@contextmanager
def searching(X: Rows, n_jobs: int | None) -> Iterator[ConditionSearch]:
    """Open a :class:`ConditionSearch` whose threads end with the block."""
    n_threads = min(effective_n_jobs(n_jobs), max(1, X.shape[1]))
    search = _WordSearch if sp.issparse(X) else _ThresholdSearch
    with ThreadPoolExecutor(n_threads) as pool:
        yield search(X, n_threads, pool)


def evaluate_conditions(X: Rows, columns: IntArray, thresholds: Float64Array, words: bool) -> BoolArray:
    """Return where fitted conditions hold on new rows, (n_rows, n_conditions)."""
    used = X[:, columns] if isinstance(X, np.ndarray) else X[:, columns].toarray()
    return np.asarray(used != 0 if words else used >= thresholds)


@inlined
def _side(present: Float64Array, absent: Float64Array) -> float:
    """Return one side's share of Z: the sum over labels of sqrt(W+ W-)."""
    cost = 0.0
    for label in range(len(present)):
        cost += np.sqrt(present[label] * absent[label])
    return cost


@inlined
def _grow(present: Float64Array, absent: Float64Array, P: Float64Array, N: Float64Array, row: int) -> float:
    """Add a row to a side and return its new share, in one loop: half the loads and stores."""
    cost = 0.0
    for label in range(len(present)):
        present[label] += P[row, label]
        absent[label] += N[row, label]
        cost += np.sqrt(present[label] * absent[label])
    return cost


@kernel
def scan_thresholds(
    values: Float64Array,
    order: Int32Array,
    P: Float64Array,
    N: Float64Array,
    inside: BoolArray,
    z: Float64Array,
    threshold: Float64Array,
) -> None:
    """Find the threshold of each column with the lowest Z on the rows `inside`.

    Parameters
    ----------
    values, order : arrays, (n_columns, n_rows)
        The columns, and the rows of each in ascending order.
    P, N : arrays, (n_rows, n_labels)
        Weights of the present and of the absent labels of each row.
    inside : array of bool, (n_rows,)
        The rows to use.
    z, threshold : arrays, (n_columns,)
        Filled with the lowest Z and its threshold, half-way between two values; infinity if the column
        does not separate the rows.
    """
    n_columns, n_rows = values.shape
    present, absent = np.empty(P.shape[1]), np.empty(P.shape[1])
    rows, above = np.empty(n_rows, np.int64), np.empty(n_rows)
    for j in range(n_columns):
        n_inside = 0
        for r in range(n_rows):
            rows[n_inside] = order[j, r]
            n_inside += inside[order[j, r]]
        # Summed from both ends: total minus the other side would not be exactly 0 for an empty side.
        present[:], absent[:] = 0.0, 0.0
        for r in range(n_inside - 1, 0, -1):
            above[r] = _grow(present, absent, P, N, rows[r])
        present[:], absent[:] = 0.0, 0.0
        z[j], threshold[j] = np.inf, np.inf
        for r in range(1, n_inside):
            cost = 2 * (_grow(present, absent, P, N, rows[r - 1]) + above[r])
            low, high = values[j, rows[r - 1]], values[j, rows[r]]
            if low < high and cost < z[j] * LOWER:
                z[j] = cost
                middle = low / 2 + high / 2
                threshold[j] = middle if low < middle <= high else high


@kernel
def scan_words(
    indptr: Int32Array,
    indices: Int32Array,
    P: Float64Array,
    N: Float64Array,
    total_P: Float64Array,
    total_N: Float64Array,
    n_inside: int,
    inside: BoolArray,
    z: Float64Array,
) -> None:
    """Find Z of each column's presence, on the rows `inside`.

    Parameters
    ----------
    indptr, indices : arrays
        Rows in which each column is present, as in CSC.
    P, N, inside
        As in `scan_thresholds`.
    total_P, total_N : arrays, (n_labels,)
        Sums of P and N over the rows inside.
    n_inside : int
        Number of rows inside.
    z : array, (n_columns,)
        Filled; infinity where a column is present in all rows or in none.
    """
    present, absent = np.empty(P.shape[1]), np.empty(P.shape[1])
    for j in range(len(z)):
        present[:], absent[:] = 0.0, 0.0
        n_present = 0
        for entry in range(indptr[j], indptr[j + 1]):
            if inside[indices[entry]]:
                n_present += 1
                for label in range(len(present)):
                    present[label] += P[indices[entry], label]
                    absent[label] += N[indices[entry], label]
        z[j] = np.inf
        if 0 < n_present < n_inside:
            cost = _side(present, absent)
            for label in range(len(present)):
                present[label] = max(0.0, total_P[label] - present[label])
                absent[label] = max(0.0, total_N[label] - absent[label])
            z[j] = 2 * (cost + _side(present, absent))


@kernel
def first_lowest(z: Float64Array) -> int:
    """Return the position of the lowest Z, the first of equal ones; -1 if none is finite."""
    best, position = np.inf, -1
    for j in range(len(z)):
        if z[j] < best * LOWER:
            best, position = z[j], j
    return position
