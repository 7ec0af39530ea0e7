"""The labelled rows as a bag: what each scores without itself, with a query beside it, or one row less.

A conformal p-value asks how the query would look among the labelled rows if it had label k. Take n rows,
add the query x with k among its labels, and score each of these n + 1 by the n others, all in the same way.
If the query is a row like the others, it is as likely to be in any place among the rows with k. So

    p_k(x) = (1 + number of rows i with k that score at most what x scores) / (n_k + 1)

is at most alpha with a probability of at most alpha whenever k is true: for each label by itself, however
rare, whatever the data, for any n. Nothing is held back for calibration. To work it out by refitting takes
a fit for each query and label, and a score for each row within. Here one row more is a term more.

Sums (uniform and label mean). A row's score is the share of its similarity that goes to the rows with k,

    s_i = sum over j with k, j != i, of c_ij / sum over all j != i of |c_ij|,        c_ij = psi(phi(x_i, x_j))

and with the query among the rows s_i becomes (F_i + c_ix) / (T_i + |c_ix|), where F_i and T_i are the
leave-one-out sums that are there already. What the query itself scores is F_x / T_x: no fit at all.

Ridge. A row's score is its leave-one-out score in closed form, 1 - e_i for the rows with k, where

    e_i = ([GY]_i - m [G1]_i) / G_ii,     G = (S + lambda I)^-1,     m = the mean of Y without row i.

For all rows with k, and for the query, m is the same: n_k of n. With s the similarities of the query to the
rows, u = G s, and d = phi(x, x) + lambda - s'u, the larger inverse is G + uu'/d, -u/d and 1/d, so that

    e_x = (1 - s'GY) - m (1 - s'G1)        e_i = (A_i - u_i e_x / d) / (G_ii + u_i^2 / d),   A = GY - m G1

One product u = G s for each query, and a few operations for each pair of a query and a row's label.
(Full conformal prediction: Vovk, Gammerman, Shafer 2005; by label, "Mondrian": Vovk et al. 2003.)

With one row less: the query's score without row i is (F_x - c_xi y_i) / (T_x - |c_xi|) for sums, and

    s'GY - u_i/G_ii ([GY]_i - m_i [G1]_i) + m_i (1 - s'G1)        m_i: the mean without row i

for ridge. `best` is the largest of them over all i; thresholds of `Recall` and `SetCoverage` rest on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._kernels import best_ridge, best_shares, count_larger_residuals, count_weaker_shares
from simlabel.engines import effective_jobs, prepare
from simlabel.engines.running import run_tasks
from simlabel.influence import (
    Problem,
    Stages,
    left_out_scores,
    means_without,
    positive_definite_inverse,
    similarity_matrix,
)
from simlabel.rows import References, blocks, n_rows
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows

Counts = npt.NDArray[np.int64]


class Bag(Protocol):
    """Labelled rows that a query can be put among."""

    @property
    def Y(self) -> sp.csr_array:
        """Their labels, (n_rows, n_labels)."""

    @property
    def left_out(self) -> FloatArray:
        """What each scores without itself, (n_rows, n_labels)."""

    def compare(self, Q: Rows) -> tuple[FloatArray, Counts]:
        """Scores of queries, and for each label how many rows that have it score no more, with the query."""

    def best(self, Q: Rows) -> tuple[FloatArray, FloatArray]:
        """Scores of queries, and for each label the largest with one row less, (n_queries, n_labels) both."""


class SumBag:
    """Rows whose similarity is added up.

    Parameters
    ----------
    stages : Stages
        Similarity and weighting, resolved; the weighting looks at one entry at a time.
    X : rows, (n_rows, n_features)
        Normalized.
    Y : csr_array of 0/1, (n_rows, n_labels)

    Attributes
    ----------
    left_out : array, (n_rows, n_labels)
        Each row's shares without itself.

    Examples
    --------
    >>> from simlabel.engines import Exact
    >>> from simlabel.influence import Uniform
    >>> from simlabel.similarities import Linear
    >>> stages = Stages(similarity=Linear(), influence=Uniform(), engine=Exact())
    >>> bag = SumBag(stages, np.array([[1.0], [1.0], [2.0]]), sp.csr_array([[1, 0], [1, 1], [0, 1]]))
    >>> bag.left_out.round(2)
    array([[0.33, 1.  ],
           [0.33, 0.67],
           [1.  , 0.5 ]])
    >>> shares, weaker = bag.compare(np.array([[1.0]]))
    >>> shares, weaker
    (array([[0.5 , 0.75]]), array([[2, 2]]))
    """

    def __init__(self, stages: Stages, X: Rows, Y: sp.csr_array) -> None:
        self.stages, self.Y, X = stages, _sorted(Y), doubled(X)
        self.prepared = prepare(X, [stages.similarity], keep_views=True)
        n = Y.shape[0]
        sums, self.totals = np.empty(Y.shape), np.empty(n)
        for part in blocks(n, _block(n)):
            terms = self._terms(X[part])
            terms[np.arange(len(terms)), np.arange(part.start, part.stop)] = 0.0  # masked, never subtracted
            sums[part], self.totals[part] = terms @ self.Y, np.abs(terms).sum(axis=1)
        self.left_out = _shares(sums, self.totals)
        self.of_labels = of_entries(sums, self.Y)

    def _terms(self, Q: Rows) -> FloatArray:
        return self.stages.similarities(Q, self.prepared, self.stages.weighting)

    def compare(self, Q: Rows) -> tuple[FloatArray, Counts]:
        """Shares of queries, and how many rows with each label have no more, (n_queries, n_labels) both."""
        weaker = np.zeros((n_rows(Q), self.Y.shape[1]), dtype=np.int64)
        scores = np.empty(weaker.shape)
        for part, terms, _, shares in self._summed(Q):
            scores[part] = shares
            rest = (self.totals, self.of_labels, self.Y.indptr, self.Y.indices)
            on_cores(self.stages, count_weaker_shares, (terms, shares, weaker[part]), rest)
        return scores, weaker

    def best(self, Q: Rows) -> tuple[FloatArray, FloatArray]:
        """Shares of queries, and the largest with one row less, (n_queries, n_labels) both."""
        best = np.full((n_rows(Q), self.Y.shape[1]), -np.inf)
        scores = np.empty(best.shape)
        for part, terms, sums, shares in self._summed(Q):
            scores[part] = shares
            on_cores(self.stages, best_shares, (terms, sums, best[part]), (self.Y.indptr, self.Y.indices))
        return scores, best

    def _summed(self, Q: Rows) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray]]:
        """Blocks of queries: their terms (n_queries, n_rows), sums and shares (n_queries, n_labels)."""
        Q = doubled(Q)
        for part in blocks(n_rows(Q), _block(self.Y.shape[0])):
            terms = self._terms(Q[part])
            sums = np.ascontiguousarray(terms @ self.Y)
            yield part, terms, sums, _shares(sums, np.abs(terms).sum(axis=1))


class RidgeBag:
    """Rows whose influence is solved for; scores are not mixed.

    Parameters
    ----------
    stages : Stages
        With a positive definite similarity.
    X, Y
        As in `SumBag`.
    penalty : float

    Examples
    --------
    >>> from simlabel.engines import Exact
    >>> from simlabel.influence import Ridge
    >>> from simlabel.similarities import Linear
    >>> stages = Stages(similarity=Linear(), influence=Ridge(1.0), engine=Exact())
    >>> bag = RidgeBag(stages, np.array([[1.0], [1.0], [0.0]]), sp.csr_array([[1], [1], [0]]), 1.0)
    >>> scores, weaker = bag.compare(np.array([[1.0], [-1.0]]))
    >>> scores.round(2), weaker
    (array([[0.89], [0.44]]), array([[2], [0]]))
    """

    def __init__(self, stages: Stages, X: Rows, Y: sp.csr_array, penalty: float) -> None:
        self.stages, self.Y, self.penalty, X = stages, _sorted(Y), penalty, doubled(X)
        n = Y.shape[0]
        ones, targets = np.ones(n), self.Y.toarray()
        self.prepared = prepare(X, [stages.similarity], keep_views=True)
        S = similarity_matrix(Problem(stages, References(X, self.Y, ones)))
        self.inverse = positive_definite_inverse(S, np.full(n, penalty))
        self.diagonal = np.diag(self.inverse).copy()
        self.GY, self.G1 = self.inverse @ targets, self.inverse.sum(axis=1)
        products = np.column_stack([self.GY, self.G1])
        self.left_out = left_out_scores(products, self.diagonal, targets, ones, penalty)
        self.mean = targets.mean(axis=0)
        self.means = means_without(targets, ones, ones)

    def compare(self, Q: Rows) -> tuple[FloatArray, Counts]:
        """Scores of queries, and how many rows with each label have no more, (n_queries, n_labels) both."""
        Y = self.Y
        weaker = np.zeros((n_rows(Q), Y.shape[1]), dtype=np.int64)
        scores = np.empty(weaker.shape)
        A = of_entries(self.GY - np.outer(self.G1, self.mean), Y)
        for part, rows, S, U in self._solved(Q):
            own = self.stages.own_similarities(rows)
            schur = np.maximum(own + self.penalty - np.einsum("qi,qi->q", S, U), self.penalty)
            residuals = 1.0 - S @ self.GY - np.outer(1.0 - S @ self.G1, self.mean)
            scores[part] = 1.0 - residuals
            each = (U, schur, residuals, weaker[part])
            on_cores(self.stages, count_larger_residuals, each, (self.diagonal, A, Y.indptr, Y.indices))
        return scores, weaker

    def best(self, Q: Rows) -> tuple[FloatArray, FloatArray]:
        """Scores of queries, and the largest with one row less, (n_queries, n_labels) both."""
        best = np.full((n_rows(Q), self.Y.shape[1]), -np.inf)
        scores = np.empty(best.shape)
        slope = self.GY - self.means * self.G1[:, None]
        for part, _, S, U in self._solved(Q):
            U /= self.diagonal
            plain, ones = S @ self.GY, 1.0 - S @ self.G1
            scores[part] = plain + np.outer(ones, self.mean)
            on_cores(self.stages, best_ridge, (U, plain, ones, best[part]), (slope, self.means))
        return scores, best

    def _solved(self, Q: Rows) -> Iterator[tuple[slice, Rows, FloatArray, FloatArray]]:
        """Blocks of queries, their similarities, and the inverse times these, (n_queries, n_rows) both."""
        Q = doubled(Q)
        for part in blocks(n_rows(Q), _block(self.Y.shape[0])):
            S = self.stages.similarities(Q[part], self.prepared)
            yield part, Q[part], S, S @ self.inverse


def on_cores(
    stages: Stages,
    kernel: Callable[..., None],
    of_queries: Sequence[npt.NDArray[Any]],
    of_rows: Sequence[npt.NDArray[Any]],
) -> None:
    """Call a compiled loop for pieces of the queries, on all cores; it fills the last array of theirs."""
    n, threads = len(of_queries[0]), effective_jobs(stages.n_jobs)
    pieces = list(blocks(n, max(1, -(-n // (4 * threads)))))
    run_tasks(lambda at, _: kernel(*(each[at] for each in of_queries), *of_rows), pieces, threads)


def doubled(X: Rows) -> Rows:
    """Rows in double precision: what is compared must not differ by rounding alone."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def _block(n: int) -> int:
    return max(1, limits().block_bytes // (8 * n))


def _sorted(Y: sp.csr_array) -> sp.csr_array:
    Y = sp.csr_array(Y, dtype=np.float64, copy=True)
    Y.sort_indices()
    return Y


def of_entries(values: FloatArray, Y: sp.csr_array) -> FloatArray:
    """Of a dense matrix what stands where Y has an entry, in the order of Y's entries."""
    return np.asarray(values[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices])


def _shares(sums: FloatArray, totals: FloatArray) -> FloatArray:
    """Sums over totals, 0 where a row is like no other."""
    return np.divide(sums, totals[:, None], out=np.zeros_like(sums), where=totals[:, None] > 0)
