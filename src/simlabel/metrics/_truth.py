"""True label sets and scores, checked; a truth that serves many measurements is checked once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.support.validation import FloatArray, check_sparse

#: label sets as a user may give them: 0/1, (n_rows, n_labels), or checked before
LabelMatrix: TypeAlias = "npt.ArrayLike | sp.sparray | Truth"
Weights: TypeAlias = npt.ArrayLike | None
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Truth:
    """True label sets that every criterion takes as they are, because they were checked before.

    Attributes
    ----------
    Y : csr_array of 0/1, (n_rows, n_labels)
        With sorted indices and no stored zeros.

    Examples
    --------
    >>> from simlabel.metrics import one_error
    >>> truth = Truth.of([[1, 0], [0, 1], [1, 1]])
    >>> one_error(truth, [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), one_error(truth[1:2], [[0.8, 0.2]])
    (0.3333333333333333, 1.0)
    """

    Y: sp.csr_array

    @classmethod
    def of(cls, Y: LabelMatrix) -> Self:
        """Check a 0/1 indicator in any form."""
        return cls(as_truth(Y))

    def __getitem__(self, rows: Any) -> Self:
        """Some of the rows: a slice or an array of numbers, which may repeat."""
        return type(self)(self.Y[rows])


def as_truth(Y: LabelMatrix, name: str = "Y_true") -> sp.csr_array:
    """A 0/1 indicator in any form as CSR with sorted indices and no stored zeros."""
    if isinstance(Y, Truth):
        return Y.Y
    array = check_sparse(Y, name) if sp.issparse(Y) else _as_numbers(Y, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a 0/1 matrix, (n_rows, n_labels); got shape {array.shape}.")
    result = sp.csr_array(array, copy=True)
    result.eliminate_zeros()
    if result.nnz and not (result.data == 1).all():
        raise ValueError(f"{name} must hold only 0 and 1, got {result.data[result.data != 1][0]!r}.")
    return result


def _as_numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """A dense array of real numbers."""
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError):  # rows that differ in length, or something else than numbers
        array = np.array("")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a matrix of real numbers, (n_rows, n_labels).")
    return array


def check_scores(scores: npt.ArrayLike, truth: sp.csr_array) -> FloatArray:
    """Scores of the same shape as the truth, finite."""
    array = _as_numbers(scores, "scores")
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if array.shape != truth.shape:
        raise ValueError(f"scores have shape {array.shape}, but Y_true has {truth.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("scores contain NaN or infinity.")
    return array


def check_sets(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> tuple[sp.csr_array, sp.csr_array]:
    """True and predicted label sets of the same shape."""
    truth, predicted = as_truth(Y_true), as_truth(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_pred has shape {predicted.shape}, but Y_true has {truth.shape}.")
    return truth, predicted


def no_true_label(truth: sp.csr_array) -> Mask:
    """Rows without a true label, (n_rows,) of bool."""
    return np.diff(truth.indptr) == 0


def no_pair(truth: sp.csr_array) -> Mask:
    """Rows without a true label or without a false one, (n_rows,) of bool."""
    counts = np.diff(truth.indptr)
    return (counts == 0) | (counts == truth.shape[1])
