"""What an engine is given, and what it must provide: results, a price and a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.rows import n_rows
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities import Similarity
from simlabel.sums._prepared import Prepared
from simlabel.sums._weightings import Weighting
from simlabel.sums.reducers import Exclude, Reducer

DEFAULT_MEMORY_MIB = 256

Progress = Callable[[int, int], None]  # (pairs done, pairs in all)


@dataclass(frozen=True)
class Job:
    """One reduction: which similarity, under which weighting, reduced how.

    `kept` is where engines keep what they made of the references for later queries.
    """

    similarity: Similarity
    weighting: Weighting | None
    reducer: Reducer
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True)
class ReduceCall:
    """The similarities of queries and references, to be reduced for several jobs in one pass.

    Jobs that read the same statistic share it: the inner products of a block are computed once
    for any number of bandwidths.

    Attributes
    ----------
    Q : rows, (n_queries, n_features)
        Queries.
    prepared : Prepared
        References.
    jobs : sequence of Job
        What to compute.
    exclude : Exclude, optional
        Each query's own entry, to be left out.
    symmetric : bool
        Says that the queries are the references, in order: then each pair is touched once, where
        the similarities and reducers allow it.
    n_jobs : int, optional
        Threads; None for all cores.

    Examples
    --------
    >>> from simlabel.sums import Exact, SumReducer, prepare
    >>> from simlabel.similarities import Linear
    >>> X = np.array([[1.0], [2.0]])
    >>> call = ReduceCall(X[1:], prepare(X, [Linear()]), [Job(Linear(), None, SumReducer(np.eye(2)))])
    >>> Exact().reduce(call)
    [array([[2., 4.]])]
    """

    Q: Rows
    prepared: Prepared
    jobs: Sequence[Job]
    exclude: Exclude | None = None
    symmetric: bool = False
    n_jobs: int | None = None

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return n_rows(self.Q)

    def excluded(self, queries: slice) -> Exclude | None:
        """What some of the queries leave out."""
        return None if self.exclude is None else self.exclude.part(queries)


@dataclass(frozen=True)
class Plan:
    """What a reduction does.

    Attributes
    ----------
    how : str
        The way of summing, in words.
    n_queries, n_references : int
        Size of the problem.
    dtype : dtype
        Precision of the similarities; sums are always float64.
    queries, references : int
        Largest block; no references where pairs are not visited in blocks.
    parts : int
        Ranges of references that are reduced apart and merged, for few queries on many threads.
    threads : int
        How many.
    memory : int
        Bytes for blocks and partial results of all threads together, at most.
    operations : float
        Multiplications and additions for the similarities, predicted.
    reasons : tuple of str
        Why it is so.
    panels : bool
        Whether a compiled kernel makes similarities and sums in one go.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", n_jobs=1).fit([[1.0, 0.0], [0.0, 1.0]], [{"a"}, {"b"}])
    >>> print(model.plan([[1.0, 1.0]]))
    exact sums over all pairs: 1 query x 2 references, in float64
      blocks of 1 x 2 on 1 thread, at most 1 MiB, about 8 operations
      float64 because the features are float64
      few queries: one product, which the BLAS library shares among the cores
    """

    how: str
    n_queries: int
    n_references: int
    dtype: np.dtype[Any]
    queries: int
    references: int
    parts: int
    threads: int
    memory: int
    operations: float
    reasons: tuple[str, ...]
    panels: bool = False

    def __str__(self) -> str:
        one = "query" if self.n_queries == 1 else "queries"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        blocks = f"blocks of {self.queries:,} x {self.references:,} on" if self.references else "on"
        lines = [
            f"{self.how}: {self.n_queries:,} {one} x {self.n_references:,} references, in {self.dtype}",
            f"  {blocks} {threads}, at most {max(1, self.memory >> 20)} MiB, "
            f"about {self.operations:.3g} operations",
        ]
        return "\n".join(lines + [f"  {reason}" for reason in self.reasons])


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

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """The results of all jobs, (n_queries, width) each."""
        raise TypeError(f"{type(self).__name__} does not compute anything.")
