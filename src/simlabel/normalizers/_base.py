"""What a normalizer is."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, TransformerMixin

from simlabel._utils.validation import FloatArray, Rows


class Normalizer(TransformerMixin, BaseEstimator):
    """Base class: maps every row by itself, with what was learnt from the training rows."""

    name: ClassVar[str]
    #: whether what comes out is >= 0 whatever went in
    nonnegative_output: bool = False
    #: whether fit learns something from the rows, so that they are needed to learn it anew
    learns: bool = True
    #: whether it learns from their labels too
    learns_labels: bool = False
    #: names of what fit learns, for a model file
    fitted_state: ClassVar[tuple[str, ...]] = ()

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Whether nothing below 0 comes out; `rows` says whether nothing below 0 goes in."""
        return self.nonnegative_output

    def check(self) -> None:
        """Raise ValueError where a parameter, or what was learnt, is out of range."""

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn from the training rows."""
        return self
