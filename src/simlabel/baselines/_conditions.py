"""Yes-or-no conditions on one column, and the search for the best of them in a boosting round."""

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

from simlabel._utils.validation import Rows
from simlabel.baselines._boosting_kernels import Floats, Mask, first_lowest, scan_thresholds, scan_words


class Condition(NamedTuple):
    """``x[column] >= threshold``, or for words ``x[column] != 0``; and the Z that it reached."""

    z: float
    column: int
    threshold: float


class Weights:
    """The distribution over (row, label) of AdaBoost.MH, kept apart for present and absent labels.

    Parameters
    ----------
    Y : array of 0/1, (n_rows, n_labels)
        The labels.
    rows : array, (n_rows,)
        How many times each row counts.

    Attributes
    ----------
    P, N : arrays, (n_rows, n_labels)
        Weight of the pair where the label is present, and where it is absent; all sum to 1.
    smoothing : float
        The papers' epsilon: the weight that each pair of a row starts with that counts once,
        1 / (n_rows * n_labels).
    """

    def __init__(self, Y: Floats, rows: Floats) -> None:
        self.smoothing = 1.0 / (rows.sum() * Y.shape[1])
        self._sign = 2 * Y - 1
        start = rows[:, None] * self.smoothing
        self.P, self.N = Y * start, (1 - Y) * start

    def confidences(self, rows: Mask) -> Floats:
        """c_l = 1/2 ln((W+ + epsilon) / (W- + epsilon)) on some rows, (n_labels,)."""
        epsilon = self.smoothing
        ratio = (self.P[rows].sum(axis=0) + epsilon) / (self.N[rows].sum(axis=0) + epsilon)
        return np.asarray(0.5 * np.log(ratio))

    def update(self, h: Floats) -> float:
        """Multiply by exp(-y h), (n_rows, n_labels); return the normalizer Z."""
        factor = np.exp(-self._sign * h)
        self.P *= factor
        self.N *= factor
        z = float(self.P.sum() + self.N.sum())
        self.P /= z
        self.N /= z
        return z

    def outside(self, rows: Mask) -> float:
        """The weight of all other rows."""
        return float(self.P[~rows].sum() + self.N[~rows].sum())


class _Thresholds:
    """Conditions ``x[j] >= v`` for every column of a dense matrix and every v between two of its values."""

    def __init__(self, X: Rows) -> None:
        self._values = np.ascontiguousarray(X.T, dtype=np.float64)
        self._order = np.argsort(self._values, axis=1, kind="stable").astype(np.int32)

    def scan(self, columns: slice, weights: Weights, inside: Mask, z: Floats, threshold: Floats) -> None:
        values, order = self._values[columns], self._order[columns]
        scan_thresholds(values, order, weights.P, weights.N, inside, z[columns], threshold[columns])

    def holds(self, column: int, threshold: float) -> Mask:
        return np.asarray(self._values[column] >= threshold)


class _Words:
    """Conditions ``x[j] != 0`` for every column of a sparse matrix."""

    def __init__(self, X: Rows) -> None:
        words = sp.csc_array(X, copy=True)
        words.eliminate_zeros()
        words.sort_indices()
        self._indptr, self._indices, self._n_rows = words.indptr, words.indices, words.shape[0]

    def scan(self, columns: slice, weights: Weights, inside: Mask, z: Floats, threshold: Floats) -> None:
        P, N = weights.P, weights.N
        totals = P[inside].sum(axis=0), N[inside].sum(axis=0)
        indptr = self._indptr[columns.start : columns.stop + 1]
        scan_words(indptr, self._indices, P, N, *totals, int(inside.sum()), inside, z[columns])

    def holds(self, column: int, threshold: float) -> Mask:
        mask = np.zeros(self._n_rows, dtype=bool)
        mask[self._indices[self._indptr[column] : self._indptr[column + 1]]] = True
        return mask


class ConditionSearch:
    """The conditions on the columns of X, looked through by a few threads."""

    def __init__(self, X: Rows, n_threads: int, pool: ThreadPoolExecutor) -> None:
        self._conditions = _Words(X) if sp.issparse(X) else _Thresholds(X)
        self._n_columns = X.shape[1]
        self._pool = pool
        bounds = np.linspace(0, self._n_columns, n_threads + 1).astype(int).tolist()
        self._parts = [slice(a, b) for a, b in pairwise(bounds) if a < b]

    def best(self, weights: Weights, inside: Mask) -> Condition | None:
        """Find the condition of lowest Z on the rows `inside`; None where no column parts them.

        Of equal ones, the first column and in it the lowest threshold.
        """
        z, threshold = np.empty(self._n_columns), np.full(self._n_columns, -np.inf)
        scans = [
            self._pool.submit(self._conditions.scan, part, weights, inside, z, threshold)
            for part in self._parts
        ]
        for scan in scans:
            scan.result()
        column = int(first_lowest(z))
        return None if column < 0 else Condition(float(z[column]), column, float(threshold[column]))

    def holds(self, condition: Condition) -> Mask:
        """Tell on which training rows a condition holds."""
        return self._conditions.holds(condition.column, condition.threshold)


@contextmanager
def searching(X: Rows, n_jobs: int | None) -> Iterator[ConditionSearch]:
    """Open a :class:`ConditionSearch` whose threads end with the block."""
    n_threads = min(effective_n_jobs(n_jobs), max(1, X.shape[1]))  # each looks at some of the columns
    with ThreadPoolExecutor(n_threads) as pool:
        yield ConditionSearch(X, n_threads, pool)


def evaluate(X: Rows, columns: npt.NDArray[np.int64], thresholds: Floats, words: bool) -> Mask:
    """Tell where fitted conditions hold on new rows, (n_rows, n_conditions)."""
    used = X[:, columns] if isinstance(X, np.ndarray) else X[:, columns].toarray()
    return np.asarray(used != 0 if words else used >= thresholds)
