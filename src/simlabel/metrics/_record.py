"""What there is to know about a criterion, in one record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray, check_sample_weight
from simlabel.metrics._truth import LabelMatrix, Mask, Truth, Weights


def mean_of_defined(rows: FloatArray, sample_weight: Weights = None) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    weights = check_sample_weight(sample_weight, len(rows))
    defined = ~np.isnan(rows) if weights is None else ~np.isnan(rows) & (weights > 0)
    if not defined.any():
        return float("nan")
    return float(np.average(rows[defined], weights=None if weights is None else weights[defined]))


@dataclass(frozen=True)
class Criterion:
    """A criterion: what it is called, how it is measured, what it needs.

    Attributes
    ----------
    name, title : str
        As it is asked for, and as it is shown.
    function : callable
        ``function(Y_true, scores, sample_weight=None)``, with ``propensity=`` where it needs that; of a
        criterion of label sets ``function(Y_true, Y_pred, sample_weight=None)``.
    rows : callable or None
        The same for each row, (n_rows,), NaN where undefined; None where rows have no value of their own.
    aggregation : {"mean", "whole"}
        Whether it is the mean of `rows`, so that blocks of rows can be measured one by one, or is known
        only from all rows together.
    undefined : callable or None
        ``undefined(truth)`` says on which rows it is not defined; None where it is on all.
    higher_is_better, needs_scores, needs_propensities : bool
        Direction; whether it reads scores or predicted sets; whether it asks how frequent labels are.
    k : int or None
        How many labels from the top it looks at, which is no more than there are.

    Examples
    --------
    >>> from simlabel.metrics import find_criterion
    >>> find_criterion("hamming_loss").heading
    'Hamming loss ↓'
    """

    name: str
    title: str
    function: Callable[..., float]
    rows: Callable[..., FloatArray] | None = None
    aggregation: Literal["mean", "whole"] = "mean"
    undefined: Callable[..., Mask] | None = None
    higher_is_better: bool = True
    needs_scores: bool = True
    needs_propensities: bool = False
    k: int | None = None

    @property
    def heading(self) -> str:
        """Title and direction."""
        return f"{self.title} {'↑' if self.higher_is_better else '↓'}"

    def measure(
        self,
        Y_true: LabelMatrix,
        Y_pred: LabelMatrix,
        scores: npt.ArrayLike,
        propensity: npt.ArrayLike | None = None,
        sample_weight: Weights = None,
    ) -> float:
        """Its value for predictions of which it takes what it needs."""
        if not self.needs_propensities:
            given = scores if self.needs_scores else Y_pred
            return self.function(Y_true, given, sample_weight=sample_weight)
        if propensity is None:
            raise ValueError(
                f"{self.name} needs the propensities of the training labels: propensities(Y_train)."
            )
        return self.function(Y_true, scores, propensity=propensity, sample_weight=sample_weight)

    def n_undefined(self, Y_true: LabelMatrix) -> int:
        """On how many rows it is not defined."""
        return 0 if self.undefined is None else int(self.undefined(Truth.of(Y_true)).sum())


@dataclass(frozen=True)
class Family:
    """Criteria of the first k labels, one for each k, after a pattern whose functions also take ``k=``."""

    pattern: Criterion

    def at(self, k: int) -> Criterion:
        """The criterion for one k."""
        one = self.pattern
        return replace(
            one,
            name=f"{one.name}@{k}",
            title=f"{one.title}@{k}",
            function=partial(one.function, k=k),
            rows=None if one.rows is None else partial(one.rows, k=k),
            undefined=None if one.undefined is None else partial(one.undefined, k=k),
            k=k,
        )
