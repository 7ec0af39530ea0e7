"""What all guarantees have in common: parameters, the guarantee of a model, and its measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.text import format_names
from simlabel._utils.validation import BoolArray, FloatArray, Rows, check_number
from simlabel.guarantees._calibration_data import CalibrationData
from simlabel.model import Model

Chooser = Callable[[Rows], tuple[FloatArray, BoolArray]]
Truths = Sequence[Set[Any]]
Sets = Sequence[tuple[Any, ...] | None]


class SelectionBiasWarning(UserWarning):
    """A guarantee is based on rows that were picked, and not drawn as new rows are."""


class Guarantee(BaseEstimator):
    """Base class: a property that label sets have on rows that are exchangeable with the labeled rows.

    Parameters
    ----------
    level : float
        The guaranteed share or probability, between 0 and 1.
    method : str
        How the guarantee is computed: "auto", or one of `methods`.
    max_labels : int, optional
        The largest useful set; larger sets, and those with all labels, become None.
    """

    #: name in tables and options
    name: ClassVar[str]
    #: methods that use the model's own rows; the last one works for every model
    methods: ClassVar[tuple[str, ...]] = ("full", "split")

    def __init__(self, level: float = 0.9, *, method: str = "auto", max_labels: int | None = None) -> None:
        self.level = level
        self.method = method
        self.max_labels = max_labels

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        owner = type(self).__name__
        check_number(owner, "level", self.level, above=0)
        if not self.level < 1:
            raise ValueError(f"{owner}: level must be a share below 1, got {self.level!r}.")
        check_number(owner, "max_labels", self.max_labels, at_least=1, integer=True, also=(None,))
        if self.method not in ("auto", *self.methods):
            known = ", ".join(map(repr, ("auto", *self.methods)))
            raise ValueError(f"{owner}: method must be one of {known}, got {self.method!r}.")

    @property
    def alpha(self) -> float:
        """The allowed loss: 1 - `level`."""
        return 1.0 - self.level

    def resolved_method(self, calibration_data: CalibrationData) -> str:
        """Return the method to use, or raise ValueError if the requested one is impossible."""
        why = calibration_data.full_conformal_unavailable_reason
        if self.method == "auto":
            return self.methods[0] if why is None else "split"
        if self.method != "split" and why is not None:
            raise ValueError(
                f"{self!r} needs all rows of the model at once, but {why}. Use method='split', or 'auto'."
            )
        return self.method

    def calibrate(self, calibration_data: CalibrationData) -> FittedGuarantee:
        """Compute the guarantee for a model."""
        raise NotImplementedError

    def trivial(self, inside: BoolArray) -> BoolArray:
        """Return for which queries the set is not useful, (n_queries,)."""
        sizes, n_labels = inside.sum(axis=1), inside.shape[1]
        return sizes > min(max(1, n_labels - 1), self.max_labels or n_labels)

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """Measure how sets keep the guarantee on rows whose labels are known.

        Parameters
        ----------
        truths : list of set
            The true labels of each row.
        sets : list of tuple or None
            Result of `predict_sets`. None, left to a person, misses nothing.
        """
        raise NotImplementedError

    def _make_fitted(self, calibration_data: CalibrationData, method: str, **facts: Any) -> FittedGuarantee:
        return FittedGuarantee(
            self, method, model=calibration_data.model, caveats=calibration_data.caveats(), **facts
        )


@dataclass(frozen=True)
class FittedGuarantee:
    """A guarantee that was computed for one model; `predict_sets` accepts it in place of the guarantee.

    Attributes
    ----------
    guarantee : Guarantee
        What was requested.
    method : str
        "full", "bonferroni" or "split".
    statement : str
        Description of what is guaranteed.
    n_rows : int
        Number of labeled rows that it is based on.
    caveats : tuple of str
        Why it holds only approximately; empty if it is exact.
    always : tuple
        Labels that are in every set, because too few rows have them to exclude them.
    """

    guarantee: Guarantee
    method: str
    statement: str
    n_rows: int
    model: Model = field(repr=False)
    choose: Chooser = field(repr=False)
    caveats: tuple[str, ...] = ()
    always: tuple[Any, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether it holds exactly if new rows are drawn as the labeled rows were."""
        return not self.caveats

    def inside(self, X: Rows) -> tuple[FloatArray, BoolArray, BoolArray]:
        """Return scores and sets of validated queries, (n_queries, n_labels), and which sets are useless."""
        scores, inside = self.choose(self.model.normalized(X))
        inside = self.model.labels.closed(inside)  # a guarantee of sets holds for larger sets too
        return scores, inside, self.guarantee.trivial(inside)

    def sets(self, X: Rows) -> list[tuple[Any, ...] | None]:
        """Return label sets of validated queries, strongest label first; None if the set is not useful."""
        scores, inside, trivial = self.inside(X)
        names, order = self.model.labels.classes.tolist(), np.argsort(-scores, axis=1, kind="stable")
        return [
            None if trivial[q] else tuple(names[k] for k in order[q] if inside[q, k])
            for q in range(len(scores))
        ]

    def __str__(self) -> str:
        lines = [self.statement, *(f"Only approximate: {caveat}" for caveat in self.caveats)]
        if self.always:
            names = format_names([str(label) for label in self.always], most=10)
            lines.append(f"In every set, because too few rows have them: {names}.")
        return "\n".join(lines)


@dataclass(frozen=True)
class Measured:
    """A measured share, and the guaranteed one.

    Attributes
    ----------
    guaranteed, value : float
    error : float
        Standard error of the value.
    n : int
        Number of rows, or for `LabelCoverage` of labels that occur, that it is the mean of.
    size : float
        Mean number of labels in a set.
    abstained : int
        Number of rows that were left to a person.
    lowest : tuple of (label, share, n_rows) or None
        The label with the lowest share, if each label has its own guarantee.
    """

    guaranteed: float
    value: float
    error: float
    n: int
    size: float
    abstained: int
    lowest: tuple[Any, float, int] | None = None


def mean_share(guaranteed: float, shares: Sequence[float], sets: Sets) -> Measured:
    """Return the mean of the shares with its standard error; NaN without shares."""
    n, sizes = len(shares), [len(each) for each in sets if each is not None]
    return Measured(
        guaranteed,
        float(np.mean(shares)) if n else math.nan,
        float(np.std(shares, ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
        n,
        float(np.mean(sizes)) if sizes else math.nan,
        len(sets) - len(sizes),
    )
