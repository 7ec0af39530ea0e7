"""What an engine is: a way to compute the sums, with a price and a plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sklearn.base import BaseEstimator

from simlabel.engines._plan import Plan
from simlabel.engines._reducers import Exclude
from simlabel.engines._rows import Prepared
from simlabel.engines._tiles import Job
from simlabel.support.validation import FloatArray, Rows, check_number


class Engine(BaseEstimator):
    """Base class of all engines."""

    name: ClassVar[str]
    #: whether what comes out is the sum itself, not an estimate of it
    exact: bool = True
    memory_mib: float

    @property
    def at_home(self) -> Engine:
        """What computes on this machine alone: for blocks that are here anyway."""
        return self

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""
        check_number(type(self).__name__, "memory_mib", self.memory_mib, above=0)
        told = getattr(self, "on_block", None)
        if told is not None and not callable(told):
            raise TypeError(f"{type(self).__name__}: on_block must be callable, got {told!r}.")

    def why_not(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """What stands against using this engine, or None."""
        return None

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """Predicted nanoseconds on one core."""
        raise TypeError(f"{type(self).__name__} does not say what it costs.")

    def ready(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Do, and keep in the jobs, what can be done before a query comes."""

    def carry(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Bring what `old` keeps up to date for `new`, where some references came or went.

        Both jobs have the same columns of V. What is not carried over is made anew when needed.
        """

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """What `reduce` would do for that many queries."""
        raise TypeError(f"{type(self).__name__} does not say what it does.")

    def reduce(
        self,
        Q: Rows,
        prepared: Prepared,
        jobs: Sequence[Job],
        *,
        exclude: Exclude | None = None,
        symmetric: bool = False,
        n_jobs: int | None = None,
    ) -> list[FloatArray]:
        """The results of all jobs; parameters as in `reduce_similarities`."""
        raise TypeError(f"{type(self).__name__} does not compute anything.")
