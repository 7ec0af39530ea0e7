"""What an engine gets and provides: jobs and calls, costs, plans and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.rows import n_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities import Leaf, Similarity
from simlabel.sums._prepared import Prepared
from simlabel.sums._reducers import Exclude, Reducer
from simlabel.sums._weightings import Weighting

DEFAULT_MEMORY_MIB = 256

PairProgress = Callable[[int, int], None]  # (pairs done, pairs in total)


@dataclass(frozen=True)
class Job:
    """One reduction: a similarity, a weighting and a reducer.

    In `cache` engines keep what they compute from the references for later queries.
    """

    similarity: Similarity
    weighting: Weighting | None
    reducer: Reducer
    cache: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """The elementary similarities."""
        return self.similarity.leaves()


@dataclass(frozen=True)
class ReduceCall:
    """Similarities of queries and references, to be reduced for several jobs in one pass.

    Jobs that read the same statistic share it: the inner products of a block are computed once for any
    number of bandwidths.

    Attributes
    ----------
    Q : rows, (n_queries, n_features)
        Queries.
    prepared : Prepared
        References.
    jobs : sequence of Job
        The reductions.
    exclude : Exclude, optional
        Each query's own entry, which is left out.
    symmetric : bool
        Whether the queries are the references, in order: then each pair is computed once if the
        similarities and reducers allow it.
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

    @cached_property
    def n_queries(self) -> int:
        """Number of queries."""
        return n_rows(self.Q)

    def excluded(self, queries: slice) -> Exclude | None:
        """Return the entries that some of the queries leave out."""
        return None if self.exclude is None else self.exclude.part(queries)


@dataclass(frozen=True)
class Plan:
    """What a reduction does.

    Attributes
    ----------
    how : str
        Description of the way of summing.
    n_queries, n_references : int
        Size of the problem.
    dtype : dtype
        Precision of the similarities; sums are always float64.
    queries, references : int
        Size of the largest block; 0 references if pairs are not visited in blocks.
    parts : int
        Ranges of references that are reduced separately and merged, for few queries on many threads.
    threads : int
        Number of threads.
    memory : int
        Upper bound on the bytes for blocks and partial results of all threads together.
    operations : float
        Predicted multiplications and additions for the similarities.
    reasons : tuple of str
        Reasons for these choices.
    panels : bool
        Whether a compiled kernel computes similarities and sums in one pass.

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
        queries = "query" if self.n_queries == 1 else "queries"
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        blocks = f"blocks of {self.queries:,} x {self.references:,} on" if self.references else "on"
        lines = [
            f"{self.how}: {self.n_queries:,} {queries} x {self.n_references:,} references, in {self.dtype}",
            f"  {blocks} {threads}, at most {max(1, self.memory >> 20)} MiB, "
            f"about {self.operations:.3g} operations",
        ]
        return "\n".join(lines + [f"  {reason}" for reason in self.reasons])


class Engine(BaseEstimator):
    """Base class of all engines."""

    name: ClassVar[str]
    #: whether results are the sums themselves, not estimates
    exact: bool = True

    def __init__(self, memory_mib: float = DEFAULT_MEMORY_MIB, on_block: PairProgress | None = None) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block

    @property
    def local_engine(self) -> Engine:
        """The engine for blocks on this machine."""
        return self

    def check(self) -> None:
        """Raise if a parameter is invalid."""
        check_number(type(self).__name__, "memory_mib", self.memory_mib, above=0)
        on_block = getattr(self, "on_block", None)
        if on_block is not None and not callable(on_block):
            raise TypeError(f"{type(self).__name__}: on_block must be callable, got {on_block!r}.")

    def unsupported_reason(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """Return why this engine cannot be used, or None."""
        return None

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """Predict nanoseconds on one core."""
        raise NotImplementedError

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Precompute, and cache in the jobs, what does not depend on queries."""

    def update_cache(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Update the cache of `old` for `new`, after references were added or removed.

        Both jobs have the same columns of V. What is not carried over is computed when needed.
        """

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return what `reduce` would do for this number of queries."""
        raise NotImplementedError

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute the results of all jobs, (n_queries, width) each."""
        raise NotImplementedError
