"""Learned influence where not all labels are known: each label is learnt from the rows where it is.

Labels that are known in the same rows share a system; set sizes share that of the rows that are wholly known.
Each system is solved in closed form as long as all of them together are not too much work; beyond it, by
conjugate gradients, all labels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import RidgeSolution, ridge_solution
from simlabel.sums import References

Known = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Pattern:
    """Rows where something is known, (n_rows,) of bool, and the columns of the targets that it is."""

    rows: Known
    columns: IntArray


def knowledge(references: References) -> Known | None:
    """Which targets are known, (n_rows, n_labels + n_sizes); None where all are."""
    if references.unknown is None:
        return None
    labels = references.unknown.toarray() == 0
    whole = labels.all(axis=1, keepdims=True)
    return np.hstack([labels, np.broadcast_to(whole, (len(whole), len(references.sizes)))])


def patterns(known: Known) -> list[Pattern]:
    """The columns, in groups that are known in the same rows.

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
    """Multiplications that it takes to invert all systems."""
    return float(sum(np.count_nonzero(each.rows) ** 3 for each in found))


def check_work(known: Known | None, width: int) -> None:
    """Refuse to pass over so many rows, with so many features, once for each of many patterns."""
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
    groups: Codes | None,
    found: Sequence[Pattern],
) -> RidgeSolution:
    """As `ridge_solution`, each column from the rows where it is known.

    A row where it is not has no influence on it; its leave-one-out score is that of a new row, without its
    group.

    Examples
    --------
    >>> known = np.array([[True], [True], [False]])
    >>> T = np.array([[1.0], [0.0], [0.0]])
    >>> solution = partly_known_solution(np.eye(3), T, np.ones(3), 1.0, None, patterns(known))
    >>> solution.V.ravel(), solution.left_out[2]
    (array([ 0.25, -0.25,  0.  ]), array([0.5]))
    """
    V, left_out, mean = np.zeros(targets.shape), np.zeros(targets.shape), np.zeros(targets.shape[1])
    for each in found:
        there, others = np.flatnonzero(each.rows), np.flatnonzero(~each.rows)
        if not len(there):
            continue
        T, w = targets[np.ix_(there, each.columns)], weights[there]
        own = None if groups is None else np.unique(groups[there], return_inverse=True)[1]
        solution = ridge_solution(S[np.ix_(there, there)], T, w, penalty, own)
        V[np.ix_(there, each.columns)] = solution.V
        mean[each.columns] = solution.mean
        left_out[np.ix_(there, each.columns)] = solution.left_out
        across = S[np.ix_(others, there)]
        left_out[np.ix_(others, each.columns)] = across @ solution.V + solution.mean
        if groups is not None:
            for rows, scores in _without_groups(across, solution, T, w, groups[others], groups[there]):
                left_out[np.ix_(others[rows], each.columns)] = scores
    return RidgeSolution(V, mean, left_out)


def by_patterns(
    solve: Callable[[Rows, FloatArray], RidgeSolution],
    targets: Rows,
    weights: FloatArray,
    known: Known | None,
) -> RidgeSolution:
    """``solve(targets, weights)`` for each pattern, rows where it is not known being of weight 0."""
    if known is None:
        return solve(targets, weights)
    V: FloatArray | None = None
    left_out, mean = np.zeros(targets.shape), np.zeros(targets.shape[1])
    for each in patterns(known):
        if each.rows.any():
            solution = solve(targets[:, each.columns], np.where(each.rows, weights, 0.0))
            V = np.zeros((len(solution.V), targets.shape[1])) if V is None else V
            V[:, each.columns], mean[each.columns] = solution.V, solution.mean
            left_out[:, each.columns] = solution.left_out
    assert V is not None  # of some label something is known, or all are of nothing
    return RidgeSolution(V, mean, left_out)


def _without_groups(
    across: FloatArray,
    solution: RidgeSolution,
    T: FloatArray,
    weights: FloatArray,
    asked: Codes,
    there: Codes,
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Of rows that are no part of a system, those of whose group some are, and their scores without these."""
    A = solution.inverse
    assert A is not None
    AY, A1 = A @ T, A.sum(axis=1)
    for group in np.intersect1d(asked, there).tolist():
        rows, gone = np.flatnonzero(asked == group), np.flatnonzero(there == group)
        kept = weights.copy()
        kept[gone] = 0.0
        mean = kept @ T / kept.sum() if kept.any() else np.zeros(T.shape[1])
        influence = AY - np.outer(A1, mean)
        step = np.linalg.solve(A[np.ix_(gone, gone)], influence[gone])
        yield rows, across[rows] @ (influence - A[:, gone] @ step) + mean
