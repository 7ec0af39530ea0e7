"""What all guarantees have in common."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from simlabel._utils.validation import check_number
from simlabel.guarantees._grounds import Grounds
from simlabel.guarantees._measured import Measured, Sets, Truths
from simlabel.guarantees._promise import Promise
from simlabel.guarantees._risk import Inside


class Guarantee(BaseEstimator):
    """Base class: a promise that label sets keep on rows like the labelled ones.

    All have a `level`, and `most`, the largest set that is of use: where more labels would be needed, or
    all there are, there is no set but None.
    """

    #: what is promised, for tables and options
    name: ClassVar[str]
    #: ways to come to it on the model's own rows; the last works for every model
    methods: ClassVar[tuple[str, ...]]

    level: float
    method: str
    most: int | None

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""
        owner = type(self).__name__
        check_number(owner, "level", self.level, above=0)
        if not self.level < 1:
            raise ValueError(f"{owner}: level must be a share below 1, got {self.level!r}.")
        check_number(owner, "most", self.most, at_least=1, integer=True, also=(None,))
        if self.method not in ("auto", *self.methods):
            known = ", ".join(map(repr, ("auto", *self.methods)))
            raise ValueError(f"{owner}: method must be one of {known}, got {self.method!r}.")

    @property
    def alpha(self) -> float:
        """How much may be missed."""
        return 1.0 - self.level

    def resolved_method(self, grounds: Grounds) -> str:
        """The way that is gone; one that was asked for and is not open is an error that says why."""
        why = grounds.why_not_whole
        if self.method == "auto":
            return self.methods[0] if why is None else "split"
        if self.method != "split" and why is not None:
            raise ValueError(
                f"{self!r} needs all rows of the model at once, and {why}. Use method='split', or 'auto'."
            )
        return self.method

    def promise(self, grounds: Grounds) -> Promise:
        """What it comes to for a model."""
        raise TypeError(f"{type(self).__name__} does not say what it promises.")

    def useless(self, inside: Inside) -> npt.NDArray[np.bool_]:
        """For which queries the set is of no use, (n_queries,)."""
        sizes, n_labels = inside.sum(axis=1), inside.shape[1]
        return sizes > min(max(1, n_labels - 1), self.most or n_labels)

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """What sets keep of the promise on rows whose labels are known.

        Parameters
        ----------
        truths : list of set
            The true labels of each row.
        sets : list of tuple or None
            What `predict_sets` gave. None, left to a person, misses nothing.
        """
        raise TypeError(f"{type(self).__name__} does not say how it is measured.")

    def _promised(self, grounds: Grounds, method: str, **facts: Any) -> Promise:
        return Promise(self, method, model=grounds.model, caveats=grounds.caveats(), **facts)
