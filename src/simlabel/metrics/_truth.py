"""Validation of true label sets, predicted sets and scores. A `Truth` is validated once for many criteria."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    check_sample_weight,
    check_sparse,
    is_missing,
)
from simlabel.labels import LabelSpace, MaskedIndicator

#: label sets of a user: 0/1, (n_rows, n_labels), NaN where unknown; or validated already
LabelMatrix: TypeAlias = "npt.ArrayLike | sp.sparray | MaskedIndicator | Truth"
SampleWeights: TypeAlias = npt.ArrayLike | None


@dataclass(frozen=True)
class Truth:
    """True label sets, validated once; all criteria accept them. Unknown labels of a row are ignored.

    Attributes
    ----------
    Y : csr_array of 0/1, (n_rows, n_labels)
        With sorted indices and no stored zeros.
    unknown : csr_array of ones, (n_rows, n_labels), or None
        Entries that are not known; None if all are known.

    Examples
    --------
    >>> from simlabel.metrics import one_error
    >>> truth = Truth.of([[1, 0], [0, 1], [1, 1]])
    >>> one_error(truth, [[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]]), one_error(truth[1:2], [[0.8, 0.2]])
    (0.3333333333333333, 1.0)
    >>> one_error([[1, 0, float("nan")]], [[0.5, 0.1, 0.9]])
    0.0
    """

    Y: sp.csr_array
    unknown: sp.csr_array | None = None

    @classmethod
    def of(cls, Y: LabelMatrix, name: str = "Y_true") -> Truth:
        """Validate a 0/1 indicator in any form; NaN and masked entries are unknown."""
        if isinstance(Y, Truth):
            return Y
        if isinstance(Y, MaskedIndicator):
            _, truth, unknown = LabelSpace.learn_known(Y)
            return cls(truth, None if unknown is None else unknown.entries)
        if sp.issparse(Y):
            return cls(as_indicator(Y, name))
        array = _as_numbers(Y, name)
        missing = np.isnan(array)
        known = as_indicator(np.where(missing, 0, array), name)
        return cls(known, sp.csr_array(missing.astype(np.int8)) if missing.any() else None)

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_labels)."""
        return (int(self.Y.shape[0]), int(self.Y.shape[1]))

    @property
    def n_known(self) -> IntArray:
        """Number of known labels of each row, (n_rows,)."""
        n, n_labels = self.shape
        return np.full(n, n_labels) - (0 if self.unknown is None else np.diff(self.unknown.indptr))

    def __getitem__(self, rows: Any) -> Truth:
        """Select rows by a slice or an array of positions, which may repeat."""
        return Truth(self.Y[rows], None if self.unknown is None else self.unknown[rows])

    def with_nan(self) -> FloatArray:
        """Return a dense array, (n_rows, n_labels), NaN where unknown."""
        assert self.unknown is not None
        return np.where(self.unknown.toarray() > 0, np.nan, self.Y.toarray())

    def mask_unknown(self, scores: FloatArray) -> FloatArray:
        """Replace the scores of unknown labels by -inf."""
        if self.unknown is None:
            return scores
        scores = scores.copy()
        rows = np.repeat(np.arange(self.shape[0]), np.diff(self.unknown.indptr))
        scores[rows, self.unknown.indices] = -np.inf
        return scores


def as_indicator(Y: npt.ArrayLike | sp.sparray, name: str = "Y_true") -> sp.csr_array:
    """Validate a 0/1 indicator without unknown entries; return CSR, sorted and without stored zeros."""
    array = check_sparse(Y, name) if sp.issparse(Y) else _as_numbers(Y, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a 0/1 matrix, (n_rows, n_labels); got shape {array.shape}.")
    result = sp.csr_array(array, copy=True)
    result.eliminate_zeros()
    if result.nnz and not (result.data == 1).all():
        raise ValueError(f"{name} must hold only 0 and 1, got {result.data[result.data != 1][0]!r}.")
    return result


def _as_numbers(values: Any, name: str) -> AnyArray:
    """Return a dense array of real numbers, NaN where masked or missing."""
    try:
        array = np.asarray(values)
        if np.ma.isMaskedArray(values):
            array = np.where(np.ma.getmaskarray(values), np.nan, array)
        if array.dtype == object and array.ndim:
            flat = [np.nan if is_missing(value) else value for value in array.ravel()]
            array = np.array(flat, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError):  # rows of different lengths, or no numbers
        array = np.array("")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a matrix of real numbers, (n_rows, n_labels).")
    return array


def check_scores(scores: npt.ArrayLike, truth: Truth) -> FloatArray:
    """Validate scores: finite, and of the shape of the truth."""
    array = _as_numbers(scores, "scores")
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if array.shape != truth.shape:
        raise ValueError(f"scores have shape {array.shape}, but Y_true has {truth.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("scores contain NaN or infinity.")
    return array


def check_sets(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> tuple[Truth, sp.csr_array]:
    """Validate true and predicted label sets of the same shape; predictions of unknown labels are removed."""
    truth = Truth.of(Y_true)
    predicted = Y_pred.Y if isinstance(Y_pred, Truth) else as_indicator(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_pred has shape {predicted.shape}, but Y_true has {truth.shape}.")
    if truth.unknown is not None:
        predicted = sp.csr_array(predicted - predicted.multiply(truth.unknown))
        predicted.eliminate_zeros()
    return truth, predicted


def row_weights(sample_weight: SampleWeights, n_rows: int) -> FloatArray:
    """Validate the weights of rows; ones by default."""
    weights = check_sample_weight(sample_weight, n_rows)
    return np.ones(n_rows) if weights is None else weights


def nothing_known(truth: Truth) -> BoolArray:
    """Return which rows have no known label, (n_rows,) of bool."""
    return (truth.n_known == 0) & (truth.unknown is not None)


def no_true_label(truth: Truth) -> BoolArray:
    """Return which rows have no true label, (n_rows,) of bool."""
    return np.diff(truth.Y.indptr) == 0


def no_pair(truth: Truth) -> BoolArray:
    """Return which rows lack a true label or a false label, (n_rows,) of bool."""
    counts = np.diff(truth.Y.indptr)
    return (counts == 0) | (counts == truth.n_known)
