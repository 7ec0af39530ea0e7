"""The labelled rows as a bag: what each scores without itself, with a query beside it.

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

Losses. `Recall` and `SetCoverage` take all labels that score at least t, with one t for all labels. If the
labels of the query were known, t would be the highest at which the losses of all n + 1 rows, each scored by
the n others, add up to at most alpha (n + 1); rows being alike, the query would expect alpha. They are not
known; but what a row scores for k depends on the query's labels only by whether k is one of them, and of the
two scores the lower one is on the safe side. So a label is left out of the set where the losses of the
labelled rows, with their lower scores, at a t just above what it scores, and 1 for the query, are at most
alpha (n + 1): the bound holds for any n, and all rows score and count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.kernels import count_larger_residuals, count_weaker_shares, worst_ridge, worst_shares
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import FloatArray, Rows
from simlabel.ridge import Problem, Stages, left_out_scores, positive_definite_inverse, similarity_matrix
from simlabel.sums import References, prepare, run_tasks

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

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Scores of queries, and for each label the losses of rows if what scores no more were missed.

        Parameters
        ----------
        Q : rows, (n_queries, n_features)
        losses : array, (n_rows,)
            What it costs to miss a label of each row.
        whole : bool
            Whether it costs the same to miss several.
        """


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
    >>> from simlabel.sums import Exact
    >>> from simlabel.ridge import Uniform
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
        for part, terms, shares in self._summed(Q):
            scores[part] = shares
            rest = (self.totals, self.of_labels, self.Y.indptr, self.Y.indices)
            on_cores(self.stages, count_weaker_shares, (terms, shares, weaker[part]), rest)
        return scores, weaker

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Shares of queries, and losses as in `Bag`, (n_queries, n_labels) both."""
        Y, lost = self.Y, np.empty((n_rows(Q), self.Y.shape[1]))
        scores = np.empty(lost.shape)
        for part, terms, shares in self._summed(Q):
            scores[part] = shares
            each = (terms, shares, np.argsort(shares, axis=1), lost[part])
            rest = (self.totals, self.of_labels, Y.indptr, Y.indices, losses, whole)
            on_cores(self.stages, worst_shares, each, rest)
        return scores, lost

    def _summed(self, Q: Rows) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Blocks of queries: their terms (n_queries, n_rows), and shares (n_queries, n_labels)."""
        Q = doubled(Q)
        for part in blocks(n_rows(Q), _block(self.Y.shape[0])):
            terms = self._terms(Q[part])
            sums = np.ascontiguousarray(terms @ self.Y)
            yield part, terms, _shares(sums, np.abs(terms).sum(axis=1))


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
    >>> from simlabel.sums import Exact
    >>> from simlabel.ridge import Ridge
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
        self.mean = targets.mean(
            axis=0
        )  # of the n rows beside one that has the label, where the query has it
        self.mean_less = self.mean - 1.0 / n  # where it has not

    def compare(self, Q: Rows) -> tuple[FloatArray, Counts]:
        """Scores of queries, and how many rows with each label have no more, (n_queries, n_labels) both."""
        Y = self.Y
        weaker = np.zeros((n_rows(Q), Y.shape[1]), dtype=np.int64)
        scores = np.empty(weaker.shape)
        rest = (self.diagonal, self._influence(self.mean), Y.indptr, Y.indices)
        for part, U, schur, present, _ in self._solved(Q):
            scores[part] = 1.0 - present
            on_cores(self.stages, count_larger_residuals, (U, schur, present, weaker[part]), rest)
        return scores, weaker

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Scores of queries, and losses as in `Bag`, (n_queries, n_labels) both."""
        Y, lost = self.Y, np.empty((n_rows(Q), self.Y.shape[1]))
        scores = np.empty(lost.shape)
        solved = self._influence(self.mean), self._influence(self.mean_less)
        rest = (self.diagonal, *solved, Y.indptr, Y.indices, losses, whole)
        for part, U, schur, present, absent in self._solved(Q):
            scores[part] = 1.0 - present
            each = (U, schur, scores[part], np.argsort(scores[part], axis=1), present, absent, lost[part])
            on_cores(self.stages, worst_ridge, each, rest)
        return scores, lost

    def _influence(self, mean: FloatArray) -> FloatArray:
        """Of each row for each of its labels, with this mean taken off."""
        return of_entries(self.GY - np.outer(self.G1, mean), self.Y)

    def _solved(self, Q: Rows) -> Iterator[tuple[slice, FloatArray, FloatArray, FloatArray, FloatArray]]:
        """Blocks of queries: u (n_queries, n_rows), d, and residuals with and without each label."""
        Q = doubled(Q)
        for part in blocks(n_rows(Q), _block(self.Y.shape[0])):
            S = self.stages.similarities(Q[part], self.prepared)
            U = S @ self.inverse
            own = self.stages.own_similarities(Q[part]) + self.penalty
            schur = np.maximum(own - np.einsum("qi,qi->q", S, U), self.penalty)
            short, ones = -(S @ self.GY), 1.0 - S @ self.G1
            present = 1.0 + short - np.outer(ones, self.mean)
            yield part, U, schur, present, short - np.outer(ones, self.mean_less)


def on_cores(
    stages: Stages,
    kernel: Callable[..., None],
    of_queries: Sequence[npt.NDArray[Any]],
    of_rows: Sequence[Any],
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
