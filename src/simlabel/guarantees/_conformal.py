"""Full conformal prediction and risk control: each labeled row scored without itself and with the query.

A conformal p-value compares the query, if it had label k, with the labeled rows that have k. Add the query x
with label k to the n rows, and score each of the n + 1 rows by the n others, all in the same way. If the
query is exchangeable with the rows, each rank among the rows with k is equally likely. So

    p_k(x) = (1 + number of rows i with k that score at most what x scores) / (n_k + 1)

is at most alpha with a probability of at most alpha if k is true: for each label separately, however rare,
for any data and any n. No rows are held out for calibration. Refitting would need a fit for each query and
label, and a score of each row in it. Here one more row is one more term.

Sums (uniform and label mean). A row's score is the share of its similarity that goes to the rows with k,

    s_i = sum over j with k, j != i, of c_ij / sum over all j != i of |c_ij|,        c_ij = psi(phi(x_i, x_j))

and with the query among the rows s_i becomes (F_i + c_ix) / (T_i + |c_ix|), where F_i and T_i are the
leave-one-out sums without the query. The score of the query is F_x / T_x, without any fit.

Ridge. A row's score is its leave-one-out score in closed form, 1 - e_i for the rows with k, where

    e_i = ([GY]_i - m [G1]_i) / G_ii,     G = (S + lambda I)^-1,     m = the mean of Y without row i.

For all rows with k, and for the query, m is the same: n_k of n. With s the similarities of the query to the
rows, u = G s, and d = phi(x, x) + lambda - s'u, the larger inverse is G + uu'/d, -u/d and 1/d, so that

    e_x = (1 - s'GY) - m (1 - s'G1)        e_i = (A_i - u_i e_x / d) / (G_ii + u_i^2 / d),   A = GY - m G1

It takes one product u = G s per query, and a few operations per pair of a query and a label of a row.
(Full conformal prediction: Vovk, Gammerman, Shafer 2005; by label, "Mondrian": Vovk et al. 2003.)

Losses. `Recall` and `SetCoverage` take all labels that score at least t, with one t for all labels. If the
labels of the query were known, t would be the highest value at which the losses of all n + 1 rows, each
scored by the n others, add up to at most alpha (n + 1); by exchangeability the expected loss of the query is
alpha. They are not known, but the score of a row for k depends on the labels of the query only by whether k
is one of them, and the lower of the two scores is conservative. So a label is excluded if the losses of the
labeled rows, with their lower scores, at a t just above the label's score, plus 1 for the query, are at most
alpha (n + 1): the bound holds for any n, and all rows are used for scoring and for calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import count_larger_residuals, count_weaker_shares, worst_ridge, worst_shares
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge import Problem, Stages, positive_definite_inverse, similarity_matrix
from simlabel.sums import References, prepare, run_tasks


class _FullConformal:
    """Labeled rows that a query is added to.

    Parameters
    ----------
    stages : Stages
        Similarity, weighting and influence, resolved; the weighting works entry by entry.
    X : rows, (n_rows, n_features)
        Normalized.
    Y : csr_array of 0/1, (n_rows, n_labels)
    """

    def __init__(self, stages: Stages, X: Rows, Y: sp.csr_array) -> None:
        self.stages = stages
        self.Y = sp.csr_array(Y, dtype=np.float64, copy=True)
        self.Y.sort_indices()
        self.prepared = prepare(_in_double(X), [stages.similarity], keep_views=True)

    def compare(self, Q: Rows) -> tuple[FloatArray, IntArray]:
        """Score queries, and count for each label the rows with it that score no higher.

        Each row is scored with the query among the rows. Both arrays are (n_queries, n_labels).
        """
        return self._in_blocks(Q, self._compare, np.int64)

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Score queries, and sum for each label the losses of the rows if no higher scores were accepted.

        Parameters
        ----------
        Q : rows, (n_queries, n_features)
        losses : array, (n_rows,)
            Loss of missing a label of each row.
        whole : bool
            Whether missing several labels of a row costs the same as missing one.

        Returns
        -------
        scores, lost : arrays, (n_queries, n_labels)
        """
        return self._in_blocks(Q, partial(self._lose, losses, whole), np.float64)

    def _compare(self, Q: Rows, weaker: IntArray) -> FloatArray:
        """Fill the counts of a block of queries, and return its scores."""
        raise NotImplementedError

    def _lose(self, losses: FloatArray, whole: bool, Q: Rows, lost: FloatArray) -> FloatArray:
        """Fill the losses of a block of queries, and return its scores."""
        raise NotImplementedError

    def _in_blocks(
        self, Q: Rows, fill: Callable[[Rows, Any], FloatArray], dtype: type
    ) -> tuple[FloatArray, Any]:
        """Return the scores of queries, and what `fill` adds for each query and label."""
        scores = np.empty((n_rows(Q), self.Y.shape[1]))
        filled: Any = np.zeros(scores.shape, dtype=dtype)
        for part, block in self._blocks(Q):
            scores[part] = fill(block, filled[part])
        return scores, filled

    def _blocks(self, Q: Rows) -> Iterator[tuple[slice, Rows]]:
        Q = _in_double(Q)
        for part in blocks(n_rows(Q), max(1, limits().block_bytes // (8 * self.Y.shape[0]))):
            yield part, Q[part]

    def _on_cores(self, kernel: Callable[..., None], of_queries: tuple[Any, ...], *of_rows: Any) -> None:
        """Run a compiled loop on parts of the queries, on all cores; it fills the last array of queries."""
        n, threads = len(of_queries[0]), effective_jobs(self.stages.n_jobs)
        pieces = list(blocks(n, max(1, -(-n // (4 * threads)))))
        run_tasks(lambda at, _: kernel(*(each[at] for each in of_queries), *of_rows), pieces, threads)


class SumConformal(_FullConformal):
    """Rows whose similarities are summed.

    Examples
    --------
    >>> from simlabel.sums import Exact
    >>> from simlabel.ridge import Uniform
    >>> from simlabel.similarities import Linear
    >>> stages = Stages(similarity=Linear(), influence=Uniform(), engine=Exact())
    >>> rows = SumConformal(stages, np.array([[1.0], [1.0], [2.0]]), sp.csr_array([[1, 0], [1, 1], [0, 1]]))
    >>> shares, weaker = rows.compare(np.array([[1.0]]))
    >>> shares, weaker
    (array([[0.5 , 0.75]]), array([[2, 2]]))
    """

    def __init__(self, stages: Stages, X: Rows, Y: sp.csr_array) -> None:
        super().__init__(stages, X, Y)
        sums, self.totals = np.empty(Y.shape), np.empty(Y.shape[0])
        for part, block in self._blocks(X):
            terms = self._terms(block)
            terms[np.arange(len(terms)), np.arange(part.start, part.stop)] = 0.0  # masked, never subtracted
            sums[part], self.totals[part] = terms @ self.Y, np.abs(terms).sum(axis=1)
        self.row_arguments = self.totals, of_entries(sums, self.Y), self.Y.indptr, self.Y.indices

    def _terms(self, Q: Rows) -> FloatArray:
        return self.stages.similarities(Q, self.prepared, self.stages.weighting)

    def _scored(self, Q: Rows) -> tuple[FloatArray, FloatArray]:
        """Return the terms (n_queries, n_rows) and shares (n_queries, n_labels) of queries."""
        terms = self._terms(Q)
        totals = np.abs(terms).sum(axis=1)[:, None]
        sums = np.ascontiguousarray(terms @ self.Y)
        return terms, np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0)

    def _compare(self, Q: Rows, weaker: IntArray) -> FloatArray:
        terms, shares = self._scored(Q)
        self._on_cores(count_weaker_shares, (terms, shares, weaker), *self.row_arguments)
        return shares

    def _lose(self, losses: FloatArray, whole: bool, Q: Rows, lost: FloatArray) -> FloatArray:
        terms, shares = self._scored(Q)
        of_queries = terms, shares, np.argsort(shares, axis=1), lost
        self._on_cores(worst_shares, of_queries, *self.row_arguments, losses, whole)
        return shares


class RidgeConformal(_FullConformal):
    """Rows whose influence is solved for, with a positive definite similarity; scores are not mixed.

    Examples
    --------
    >>> from simlabel.sums import Exact
    >>> from simlabel.ridge import Ridge
    >>> from simlabel.similarities import Linear
    >>> stages = Stages(similarity=Linear(), influence=Ridge(1.0), engine=Exact())
    >>> rows = RidgeConformal(stages, np.array([[1.0], [1.0], [0.0]]), sp.csr_array([[1], [1], [0]]), 1.0)
    >>> scores, weaker = rows.compare(np.array([[1.0], [-1.0]]))
    >>> scores.round(2), weaker
    (array([[0.89], [0.44]]), array([[2], [0]]))
    """

    def __init__(self, stages: Stages, X: Rows, Y: sp.csr_array, penalty: float) -> None:
        super().__init__(stages, X, Y)
        self.penalty, n = penalty, Y.shape[0]
        S = similarity_matrix(Problem(stages, References(_in_double(X), self.Y, np.ones(n))))
        self.inverse = positive_definite_inverse(S, np.full(n, penalty))
        targets = self.Y.toarray()
        self.GY, self.G1 = self.inverse @ targets, self.inverse.sum(axis=1)
        self.mean = targets.mean(axis=0)  # of the other n rows, for a row with the label, if the query has it
        self.mean_less = self.mean - 1.0 / n  # if the query does not have it
        self.diagonal = np.diag(self.inverse).copy()
        # the influence of each row for each of its labels, with either mean subtracted
        self.solved, self.solved_less = (
            of_entries(self.GY - np.outer(self.G1, mean), self.Y) for mean in (self.mean, self.mean_less)
        )

    def _solved(self, Q: Rows) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return u (n_queries, n_rows), d, and the residuals of queries with and without each label."""
        S = self.stages.similarities(Q, self.prepared)
        U = S @ self.inverse
        own = self.stages.self_similarities(Q) + self.penalty
        schur = np.maximum(own - np.einsum("qi,qi->q", S, U), self.penalty)
        short, ones = -(S @ self.GY), 1.0 - S @ self.G1
        present = 1.0 + short - np.outer(ones, self.mean)
        return U, schur, present, short - np.outer(ones, self.mean_less)

    def _compare(self, Q: Rows, weaker: IntArray) -> FloatArray:
        U, schur, present, _ = self._solved(Q)
        of_rows = self.diagonal, self.solved, self.Y.indptr, self.Y.indices
        self._on_cores(count_larger_residuals, (U, schur, present, weaker), *of_rows)
        return 1.0 - present

    def _lose(self, losses: FloatArray, whole: bool, Q: Rows, lost: FloatArray) -> FloatArray:
        U, schur, present, absent = self._solved(Q)
        scores = 1.0 - present
        of_queries = U, schur, scores, np.argsort(scores, axis=1), present, absent, lost
        of_rows = self.diagonal, self.solved, self.solved_less, self.Y.indptr, self.Y.indices
        self._on_cores(worst_ridge, of_queries, *of_rows, losses, whole)
        return scores


def _in_double(X: Rows) -> Rows:
    """Convert rows to double precision: scores that are compared must not differ by rounding alone."""
    return X.astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X


def of_entries(values: FloatArray, Y: sp.csr_array) -> FloatArray:
    """Select the entries of a dense matrix at which Y has one, in the order of Y's entries."""
    return np.asarray(values[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices])
