"""Unknown labels: sums and learned influence where some labels of some rows are not known.

Sums: a label that is known for few rows would get small sums. So each sum is divided by the similarity to
the rows where the label is known, and multiplied by the similarity to all rows. The same holds for set
sizes, which count only rows whose labels are all known. If similarities may be negative, numbers of rows
take the place of similarities.

Learned influence: each label is learned from the rows where it is known. Labels that are known for the same
rows share a linear system; set sizes share that of the rows whose labels are all known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.rows import dense_rows, group_sums, pieces
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import ridge_solution
from simlabel.ridge._influence import Problem
from simlabel.ridge._leave_one_out import RidgeSolution
from simlabel.sums import References


class _Parts(NamedTuple):
    """Sums over the rows with a label, with that label known, with a size, with all labels known, and all."""

    labels: FloatArray
    known: FloatArray
    sizes: FloatArray
    whole: FloatArray
    total: FloatArray


@dataclass(frozen=True)
class KnownSums:
    """Turn sums with the columns of `References.influence` into label weights, sizes and the total.

    Attributes
    ----------
    problem : Problem
        With references of which some labels are unknown.
    divided : bool
        Whether the sums of labels were divided by counts already, so that only sizes are rescaled.
    """

    problem: Problem
    divided: bool = False

    def __call__(
        self, sums: FloatArray, rows: npt.NDArray[np.integer] | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return label weights (n, n_labels), sizes (n, n_sizes), and total similarity, (n,).

        Parameters
        ----------
        sums : array, (n, 2 n_labels + n_sizes + 1)
        rows : array of int, (n,), optional
            The references that are the queries, each without itself or its group.
        """
        similar, counted = self._parts(sums), self._parts(self._counts(rows))
        by = counted if self._by_counts else similar
        total = similar.total
        # if no similar row has a known value, fall back to the base rates
        base_rate = total * _ratio(counted.labels, counted.known)
        labels = similar.labels if self.divided else _scaled(similar.labels, by.total, by.known, base_rate)
        base_rate = total * _ratio(counted.sizes, counted.whole)
        return labels, _scaled(similar.sizes, by.total, by.whole, base_rate), total[:, 0]

    @cached_property
    def frequencies(self) -> FloatArray:
        """Estimated weight of each label and each set size if all were known, (n_labels + n_sizes,)."""
        counted = self._parts(self._all)
        return counted.total[0] * np.append(self.shares, _ratio(counted.sizes, counted.whole)[0])

    @cached_property
    def shares(self) -> FloatArray:
        """Share of the references with each label, among those where it is known, (n_labels,)."""
        counted = self._parts(self._all)
        return _ratio(counted.labels, counted.known)[0]

    def factors(self, sums: FloatArray) -> FloatArray:
        """Return the factors of a query's sums, (n, n_labels + n_sizes); 1 where nothing is known."""
        similar, counted = self._parts(sums), self._parts(self._all)
        by = counted if self._by_counts else similar
        ones = np.ones((len(sums), len(self.problem.references.sizes)))
        known = np.hstack([by.total * ones[:, :0] if self.divided else by.known, by.whole * ones])
        created = np.divide(by.total, known, out=np.ones(known.shape), where=known > 0)
        return np.hstack([np.ones(similar.labels.shape), created]) if self.divided else created

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
    def _of_groups(self) -> Rows:
        groups = self.problem.references.groups
        assert groups is not None
        return group_sums(groups, np.ones(len(groups)), self.problem.rows[:])

    def _counts(self, rows: npt.NDArray[np.integer] | None) -> FloatArray:
        """Return the sums for equal similarities, without the row or its group, (n or 1, n_columns)."""
        if rows is None:
            return self._all
        references = self.problem.references
        if references.groups is not None:
            removed = dense_rows(self._of_groups[references.groups[rows]])
        else:
            weights = references.weights[rows]
            removed = dense_rows(self.problem.rows[rows]) * (np.minimum(weights, 1.0) / weights)[:, None]
        left = self._all - removed
        return np.where(left > 1e-9 * self._all, left, 0.0)


def never_negative(problem: Problem) -> bool:
    """Return whether weighted similarities are known to be non-negative."""
    stages = problem.stages
    of = stages.similarity.never_negative
    known = of(False) or (of(True) and problem.references.nonnegative)
    return known if stages.weighting is None else stages.weighting.never_negative(known)


def _ratio(part: FloatArray, of: FloatArray) -> FloatArray:
    """Return part / of, and 0 where `of` is 0."""
    of = np.broadcast_to(of, part.shape)
    return np.divide(part, of, out=np.zeros(part.shape), where=of > 0)


def _scaled(sums: FloatArray, total: FloatArray, known: FloatArray, base_rate: FloatArray) -> FloatArray:
    """Return sums / known * total, and the usual value where nothing is known."""
    known = np.broadcast_to(known, sums.shape)
    return np.where(known > 0, _ratio(sums, known) * total, base_rate).astype(sums.dtype, copy=False)


@dataclass(frozen=True)
class Pattern:
    """Rows that are known, (n_rows,) of bool, and the columns of the targets that are known for them."""

    rows: BoolArray
    columns: IntArray


def knowledge(references: References) -> BoolArray | None:
    """Return which targets are known, (n_rows, n_labels + n_sizes); None if all are."""
    if references.unknown is None:
        return None
    labels = references.unknown.toarray() == 0
    whole = labels.all(axis=1, keepdims=True)
    return np.hstack([labels, np.broadcast_to(whole, (len(whole), len(references.sizes)))])


def patterns(known: BoolArray) -> list[Pattern]:
    """Group the columns that are known for the same rows.

    Examples
    --------
    >>> [each.columns.tolist() for each in patterns(np.array([[True, False, True], [True, True, True]]))]
    [[0, 2], [1]]
    """
    groups: dict[bytes, list[int]] = {}
    packed = np.packbits(known, axis=0)
    for k in range(known.shape[1]):
        groups.setdefault(packed[:, k].tobytes(), []).append(k)
    return [Pattern(known[:, columns[0]], np.array(columns)) for columns in groups.values()]


def work(found: Sequence[Pattern]) -> float:
    """Return the number of multiplications that inverting all systems takes."""
    return float(sum(np.count_nonzero(each.rows) ** 3 for each in found))


def check_work(known: BoolArray | None, width: int) -> None:
    """Refuse more passes over the rows, one for each pattern, than can be done in reasonable time."""
    if known is None:
        return
    found = len(patterns(known))
    if found * (len(known) * width**2) > limits().passed_operations:
        raise ValueError(
            f"Labels are known in {found:,} different sets of rows, and each would need a pass of its own "
            f"over {len(known):,} rows with {width:,} features or inducing references. Use fewer of them, "
            f"e.g. Ridge(inducing={max(1, width // 4)}), a sampler, or influence='uniform'."
        )


def partly_known_solution(
    S: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    penalty: float,
    groups: IntArray | None,
    found: Sequence[Pattern],
) -> RidgeSolution:
    """Solve as `ridge_solution` does, each column on the rows where it is known.

    A row where a column is unknown has no influence on it; its leave-one-out score is that of a new row,
    without its group.

    Examples
    --------
    >>> known = np.array([[True], [True], [False]])
    >>> T = np.array([[1.0], [0.0], [0.0]])
    >>> solution = partly_known_solution(np.eye(3), T, np.ones(3), 1.0, None, patterns(known))
    >>> solution.V.ravel(), solution.loo_scores[2]
    (array([ 0.25, -0.25,  0.  ]), array([0.5]))
    """
    V, loo_scores, mean = np.zeros(targets.shape), np.zeros(targets.shape), np.zeros(targets.shape[1])
    for each in found:
        there, others = np.flatnonzero(each.rows), np.flatnonzero(~each.rows)
        if not len(there):
            continue
        inside, outside = np.ix_(there, each.columns), np.ix_(others, each.columns)
        T, w = targets[inside], weights[there]
        own = None if groups is None else np.unique(groups[there], return_inverse=True)[1]
        solution = ridge_solution(S[np.ix_(there, there)], T, w, penalty, own)
        V[inside], loo_scores[inside], mean[each.columns] = solution.V, solution.loo_scores, solution.mean
        across = S[np.ix_(others, there)]
        loo_scores[outside] = across @ solution.V + solution.mean
        if groups is not None:
            for rows, scores in _without_groups(across, solution, T, w, groups[others], groups[there]):
                loo_scores[np.ix_(others[rows], each.columns)] = scores
    return RidgeSolution(V, mean, loo_scores)


def by_patterns(
    solve: Callable[[Rows, FloatArray], RidgeSolution],
    targets: Rows,
    weights: FloatArray,
    known: BoolArray | None,
) -> RidgeSolution:
    """Call ``solve(targets, weights)`` for each pattern, with weight 0 for unknown rows."""
    if known is None:
        return solve(targets, weights)
    V: FloatArray | None = None
    loo_scores, mean = np.zeros(targets.shape), np.zeros(targets.shape[1])
    for each in patterns(known):
        if each.rows.any():
            solution = solve(targets[:, each.columns], np.where(each.rows, weights, 0.0))
            V = np.zeros((len(solution.V), targets.shape[1])) if V is None else V
            V[:, each.columns], mean[each.columns] = solution.V, solution.mean
            loo_scores[:, each.columns] = solution.loo_scores
    assert V is not None  # some label is known for some row
    return RidgeSolution(V, mean, loo_scores)


def _without_groups(
    across: FloatArray,
    solution: RidgeSolution,
    T: FloatArray,
    weights: FloatArray,
    queries: IntArray,
    there: IntArray,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield rows outside a system that share a group with rows inside, and their scores without these."""
    A = solution.inverse
    assert A is not None
    AY, A1 = A @ T, A.sum(axis=1)
    for group in np.intersect1d(queries, there).tolist():
        rows, removed = np.flatnonzero(queries == group), np.flatnonzero(there == group)
        remaining = np.where(there == group, 0.0, weights)
        mean = remaining @ T / remaining.sum() if remaining.any() else np.zeros(T.shape[1])
        influence = AY - np.outer(A1, mean)
        step = np.linalg.solve(A[np.ix_(removed, removed)], influence[removed])
        yield rows, across[rows] @ (influence - A[:, removed] @ step) + mean
