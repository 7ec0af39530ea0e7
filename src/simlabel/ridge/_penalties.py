"""Leave-one-out scores of ridge for one matrix of similarities and several penalties.

Exactly by a factor for each penalty; or roughly, where penalties are only compared: by a factor in single
precision, or for few rows by eigenvectors, of which the scores follow for any penalty. (Of 400 rows these
take as long as three factors, and other threads go on meanwhile; of 2,400, as six.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from simlabel._utils.kernels import invert_lower_in_place
from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes
from simlabel._utils.threads import held_blas
from simlabel._utils.validation import FloatArray
from simlabel.ridge._closed_form import cholesky_factor, left_out_scores, with_ones
from simlabel.ridge._groups import Positions, scores_without_groups

_DIGITS = 0.2  # of the smallest penalty: what single precision may take off the eigenvalues, at the worst


class LeftOut(Protocol):
    """Leave-one-out scores for a penalty, (n, width), in the precision that they have."""

    def __call__(self, penalty: float, /) -> FloatArray: ...


def left_out_by_penalty(
    S: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    groups: Codes | None = None,
    rough_from: float | None = None,
) -> LeftOut:
    """What gives leave-one-out scores for a penalty; parameters as for `ridge_solution`.

    Parameters
    ----------
    rough_from : float, optional
        The smallest penalty that will be asked for, where single precision is enough.

    Examples
    --------
    >>> S, T, w = np.eye(3) + 0.5, np.array([[1.0], [0.0], [1.0]]), np.ones(3)
    >>> exact = left_out_by_penalty(S, T, w)
    >>> rough = left_out_by_penalty(S, T, w, rough_from=0.1)
    >>> np.allclose(exact(0.3), rough(0.3), atol=1e-5)
    True
    """
    largest = float(np.diag(S) @ weights)  # no eigenvalue is larger than all together
    exact = rough_from is None or np.finfo(np.float32).eps * largest > _DIGITS * rough_from
    if exact:
        return _ByFactor(S, targets, weights, groups, np.float64)
    if groups is not None or len(S) > limits().eigenvector_rows:
        return _ByFactor(S, targets, weights, groups, np.float32)
    return _ByEigenvectors(S, targets, weights)


class _ByFactor:
    """Of the inverse only the parts that are asked for are made: of each row, or of each group."""

    def __init__(
        self, S: FloatArray, targets: FloatArray, weights: FloatArray, groups: Codes | None, dtype: Any
    ) -> None:
        self.S, self.targets, self.weights, self.groups = S, targets, weights, groups
        self.dtype = dtype

    def __call__(self, penalty: float) -> FloatArray:
        inverse = cholesky_factor(self.S, penalty / self.weights, self.dtype)
        invert_lower_in_place(inverse)
        AY1 = (inverse.T @ (inverse @ with_ones(self.targets).astype(self.dtype))).astype(np.float64)
        if self.groups is None:
            diagonal = np.einsum("ij,ij->j", inverse, inverse).astype(np.float64)
            scores = left_out_scores(AY1, diagonal, self.targets, self.weights, penalty)
        else:
            scores = scores_without_groups(_parts(inverse.T), AY1, self.targets, self.weights, self.groups)
        return scores.astype(self.dtype, copy=False)


def _parts(rows: FloatArray) -> Callable[[Positions], FloatArray]:
    """What gives the inner products of rows within groups, (n_groups, size, size)."""

    def within(groups: Positions) -> FloatArray:
        some = rows[groups]
        with held_blas(1):  # many small products, which would wait for each other
            return np.asarray(some @ some.transpose(0, 2, 1), dtype=np.float64)

    return within


class _ByEigenvectors:
    """Of W^1/2 S W^1/2."""

    def __init__(self, S: FloatArray, targets: FloatArray, weights: FloatArray) -> None:
        self.targets, self.weights, self.root = targets, weights, np.sqrt(weights)
        M = S.astype(np.float32)
        if (weights != 1.0).any():
            M *= np.outer(self.root, self.root).astype(np.float32)
        values, self.vectors = np.linalg.eigh(M)
        self.values = np.maximum(values, 0.0).astype(np.float64)
        self.squares = np.square(self.vectors)
        self.towards = self.vectors.T @ (self.root[:, None] * with_ones(targets)).astype(np.float32)

    def __call__(self, penalty: float) -> FloatArray:
        shrunk = (1.0 / (self.values + penalty)).astype(np.float32)
        AY1 = self.root[:, None] * (self.vectors @ (shrunk[:, None] * self.towards)).astype(np.float64)
        diagonal = self.weights * (self.squares @ shrunk).astype(np.float64)
        scores = left_out_scores(AY1, diagonal, self.targets, self.weights, penalty)
        return scores.astype(np.float32)
