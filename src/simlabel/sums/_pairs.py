"""Engines that visit pairs: all of them, those with a column in common, or a sample for each query."""

from __future__ import annotations

import itertools
import threading
import zlib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, is_lazy, n_rows, row_width, take_rows
from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_number, check_numbers
from simlabel.similarities import Leaf, Similarity
from simlabel.sums._base import DEFAULT_MEMORY_MIB, Engine, Job, PairProgress, Plan, ReduceCall
from simlabel.sums._planning import (
    Visit,
    can_be_symmetric,
    nonzero_cost,
    pairs_cost,
    plan_reduction,
    sparse_unsupported_reason,
    symmetric_pays,
)
from simlabel.sums._prepared import Prepared, prepare, statistic
from simlabel.sums._reducers import SumReducer
from simlabel.sums._running import empty_outputs, reduce_pairs, reduce_symmetric, run_tasks
from simlabel.sums._samplers import draw
from simlabel.sums._shards import reduce_streamed
from simlabel.sums._sparse import reduce_sparse

_FEW = "plan for few queries"  # key of a job's cache
_MAX_DRAWS = 1 << 24  # for each query: more are slower than the sum over all references
_ROUNDING = 1e-8  # numpy's tolerance for the sum of probabilities


class Exact(Engine):
    """The sum over all pairs, in blocks that fit a bound on memory.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory used beyond inputs and outputs, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in total) after each block, e.g. to update a progress bar.
    visit : {"auto", "all", "nonzero"}
        Which pairs of sparse rows are visited: all of them, only those with a column in common
        (which gives the same sums), or what is faster.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> def show(done, total):
    ...     print(f"{done} of {total} pairs")
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1], [1]], "linear", engine=Exact(on_block=show))
    2 of 2 pairs
    array([[3.]])
    """

    name = "exact"
    file_key = "engines.Exact"

    def __init__(
        self,
        memory_mib: float = DEFAULT_MEMORY_MIB,
        on_block: PairProgress | None = None,
        visit: Visit = "auto",
    ) -> None:
        super().__init__(memory_mib, on_block)
        self.visit = visit

    def check(self) -> None:
        """Raise if a parameter is invalid."""
        super().check()
        if self.visit not in ("auto", "all", "nonzero"):
            raise ValueError(f"Exact: visit must be 'auto', 'all' or 'nonzero', got {self.visit!r}.")

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """Return the lower cost of all pairs and non-zero products."""
        costs = [] if self.visit == "nonzero" else [pairs_cost(n_queries, prepared, jobs)]
        if self.visit != "all" and sparse_unsupported_reason(prepared, jobs) is None:
            costs.append(nonzero_cost(n_queries, prepared, jobs))
        return min(costs)

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return what `reduce` would do for this number of queries."""
        return plan_reduction(n_queries, prepared, jobs, n_jobs, self.memory_mib, self.visit)

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute the results of all jobs, in one pass."""
        if is_lazy(call.prepared.X):
            return reduce_streamed(call, Exact(self.memory_mib, visit=self.visit), self.on_block)
        symmetric = call.symmetric and can_be_symmetric(call.prepared, call.jobs)
        plan = self._cached_plan(call, symmetric)
        run = reduce_symmetric if symmetric and symmetric_pays(plan) else reduce_pairs
        if not plan.references and plan.n_references:
            run = reduce_sparse
        # threads of BLAS would wait for each other longer than they work on small products
        small = plan.n_queries >= limits().few_queries and plan.operations < limits().serial_operations
        # each of our threads calls BLAS; one alone may use its threads, as many as the user allows
        with limit_blas_threads(1 if plan.threads > 1 or small else effective_jobs(call.n_jobs)):
            outputs = run(call, plan, self.on_block)
        check_finite_sums(outputs, call.jobs)
        return outputs

    def _cached_plan(self, call: ReduceCall, symmetric: bool) -> Plan:
        """Return the plan, cached for few queries: planning takes longer than their sums."""
        n_queries, prepared, jobs = call.n_queries, call.prepared, call.jobs
        few = n_queries < limits().few_queries and len(jobs) == 1 and not prepared.sparse
        grouped = call.exclude is not None and call.exclude.groups is not None
        settings: tuple[Any, ...] = (self.memory_mib, self.visit, call.n_jobs, symmetric, grouped, n_queries)
        if few and prepared.forms == {"dot"}:  # one product on one thread: the plan for most serves for fewer
            n_queries, settings = limits().few_queries - 1, settings[:2]
        cached: Any = jobs[0].cache.get(_FEW) if few else None
        if cached is not None and cached[0] is prepared and cached[1] == settings:
            plans: dict[int, Plan] = cached[2]
        else:
            memory_mib, visit = self.memory_mib, self.visit
            plan = plan_reduction(
                n_queries, prepared, jobs, call.n_jobs, memory_mib, visit, call.Q, symmetric, grouped
            )
            plans = {n_queries: plan}
        if few:
            jobs[0].cache[_FEW] = prepared, settings, plans
        if call.n_queries not in plans:
            queries = min(plans[n_queries].queries, call.n_queries)
            plans[call.n_queries] = replace(plans[n_queries], n_queries=call.n_queries, queries=queries)
        return plans[call.n_queries]

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Plan few queries if that does not depend on them."""
        if prepared.forms == {"dot"} and not prepared.sparse and not is_lazy(prepared.X):
            self._cached_plan(ReduceCall(prepared.X[:1], prepared, jobs), False)


def check_finite_sums(outputs: Sequence[FloatArray], jobs: Sequence[Job]) -> None:
    """Raise ValueError if sums have overflowed."""
    for sums, job in zip(outputs, jobs, strict=True):
        if not np.isfinite(sums).all():
            row = int(np.argwhere(~np.isfinite(sums))[0][0])
            raise ValueError(
                f"The sums of similarities overflow (first at query {row}, with {job.similarity!r}). "
                f"Normalize the features (normalizer='l2'), or lower the degree or the power."
            )


class Sampled(Engine):
    """The sum over references drawn for each query; its expectation is the sum over all.

    The draw depends on the query itself and on the seed, so the same query gets the same result in any
    order and batch.

    Parameters
    ----------
    probabilities : array, (n_references,)
        Probability of each reference, positive, summing to 1.
    n : int
        Number of draws.
    seed : int
        Seed of the draws.
    memory_mib : float
        Bound on the memory for blocks, in MiB.
    order : array of int, (n_references,), optional
        The order in which references are drawn from; their own order by default.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[2.0], [2.0]], [[1], [1]], "linear", engine=Sampled(np.full(2, 0.5), 1))
    array([[4.]])
    """

    name = "sampled"
    file_key = "engines.Sampled"
    exact = False

    def __init__(
        self,
        probabilities: FloatArray,
        n: int,
        seed: int = 0,
        memory_mib: float = DEFAULT_MEMORY_MIB,
        order: IntArray | None = None,
    ) -> None:
        self.probabilities = probabilities
        self.n = n
        self.seed = seed
        self.memory_mib = memory_mib
        self.order = order

    def check(self) -> None:
        """Raise ValueError if the probabilities or another parameter are invalid."""
        super().check()
        check_numbers("Sampled", "probabilities", self.probabilities, (None,), above=0)
        if abs(self.probabilities.sum() - 1.0) > _ROUNDING:
            raise ValueError(f"Sampled: probabilities must sum to 1, not to {self.probabilities.sum()}.")
        places = np.arange(len(self.probabilities))
        if self.order is not None and not np.array_equal(np.sort(self.order), places):
            raise ValueError(f"Sampled: order must hold each of the positions 0 to {len(places) - 1} once.")
        check_number("Sampled", "n", self.n, at_least=1, integer=True)
        check_number("Sampled", "seed", self.seed, at_least=0, integer=True)
        if self.n > _MAX_DRAWS:
            raise ValueError(f"Sampled: n must be at most {_MAX_DRAWS:,}, got {self.n:,}.")

    def unsupported_reason(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """Refuse weightings of whole rows, and precomputed matrices."""
        if "precomputed" in prepared.forms:
            return "a precomputed matrix has no references to draw"
        if not all(isinstance(job.reducer, SumReducer) for job in jobs):
            return "a weighting of whole rows is not a sum that could be estimated"
        return None

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return the plan of one query's draw, for all of them."""
        threads = min(effective_jobs(n_jobs), max(1, n_queries))
        plan = Exact(self.memory_mib / threads).plan(1, prepared, jobs, 1)
        share = min(1.0, self.n / max(1, prepared.n_rows))
        return replace(
            plan,
            how=f"sums over {self.n:,} references drawn for each query",
            n_queries=n_queries,
            references=0,
            parts=1,
            threads=threads,
            memory=threads * plan.memory,
            operations=n_queries * plan.operations * share,
            reasons=(*plan.reasons, "a sample is drawn for each query: the sums are right on average only"),
        )

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute the results, query by query."""
        reason = self.unsupported_reason(call.prepared, call.jobs)
        if reason is not None:
            raise ValueError(f"Sampling for each query is not possible: {reason}.")
        plan = self.plan(call.n_queries, call.prepared, call.jobs, call.n_jobs)
        exact, outputs = Exact(self.memory_mib / plan.threads), empty_outputs(plan, call.jobs)

        def work(queries: slice, stopped: Callable[[], bool]) -> None:
            for i in range(queries.start, queries.stop):
                if stopped():
                    return
                for output, sums in zip(outputs, exact.reduce(self._drawn(call, i)), strict=True):
                    output[i] = sums[0]

        with limit_blas_threads(1):
            run_tasks(work, list(blocks(call.n_queries, limits().sampled_task_queries)), plan.threads)
        return outputs

    def _drawn(self, call: ReduceCall, i: int) -> ReduceCall:
        """Return query i, and the references drawn for it."""
        q, exclude = call.Q[i : i + 1], call.excluded(slice(i, i + 1))
        rng = np.random.default_rng([self.seed, _fingerprint(q)])
        rows, scales = draw(self.probabilities, self.n, rng, self.order)
        prepared = prepare(take_rows(call.prepared.X, rows), [job.similarity for job in call.jobs])
        jobs = []
        for job in call.jobs:
            assert isinstance(job.reducer, SumReducer)
            V = job.reducer.influence.rows(rows)
            V = sp.csr_array(V.multiply(scales[:, None])) if sp.issparse(V) else V * scales[:, None]
            jobs.append(Job(job.similarity, job.weighting, SumReducer(V)))
        own = None if exclude is None else exclude.for_references(rows)
        return ReduceCall(q, prepared, jobs, own, n_jobs=1)


def _fingerprint(q: Rows) -> int:
    """Return a number that depends on the content of the query, not on its position."""
    if sp.issparse(q):
        q = q.sorted_indices() if not q.has_sorted_indices else q
        return zlib.crc32(q.data.tobytes(), zlib.crc32(q.indices.astype(np.int64).tobytes()))
    if isinstance(q, np.ndarray):
        return zlib.crc32(np.ascontiguousarray(q).tobytes())
    return zlib.crc32(repr(q).encode())


class AllPairs:
    """Cached statistics of all pairs of some rows, which give similarities with any parameters.

    Parameters
    ----------
    X : rows in memory, float64, (n_rows, n_features)
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from simlabel.similarities import RBF
    >>> pairs = AllPairs(np.array([[0.0], [1.0]]))
    >>> [pairs.similarities(RBF(gamma)).round(3).tolist() for gamma in (1.0, 2.0)]
    [[[1.0, 0.368], [0.368, 1.0]], [[1.0, 0.135], [0.135, 1.0]]]
    """

    def __init__(self, X: Rows, n_jobs: int | None = None) -> None:
        self.X, self.n_jobs = X, n_jobs
        self.cache: dict[Hashable, tuple[FloatArray, FloatArray]] = {}
        self._lock = threading.Lock()  # several threads may call `similarities` at once

    @classmethod
    def of(cls, X: Rows, n_jobs: int | None) -> Self:
        """Read rows in any container and precision."""
        X = X[:] if is_lazy(X) else X
        return cls(X[:].astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X, n_jobs)

    @staticmethod
    def supports(similarity: Similarity) -> bool:
        """Whether a similarity is computed from statistics; a Python function of two rows is not."""
        return all(leaf.similarity.form in ("dot", "coordinate") for leaf in similarity.leaves())

    def similarities(self, similarity: Similarity) -> FloatArray:
        """Return the similarities of all pairs, float64, (n_rows, n_rows)."""
        leaves = similarity.leaves()
        with self._lock:
            missing = [leaf for leaf in leaves if leaf.key not in self.cache]
            if missing:
                prepared = prepare(self.X, [similarity])
                for leaf in missing:
                    self.cache[leaf.key] = self._statistics(leaf, prepared)
        finished = []
        for leaf in leaves:
            T, norms = self.cache[leaf.key]
            finished.append(leaf.finish(T.copy(), norms, norms))
        return similarity.assemble(finished)

    def _statistics(self, leaf: Leaf, prepared: Prepared) -> tuple[FloatArray, FloatArray]:
        n, key = n_rows(self.X), leaf.key
        T = np.empty((n, n))
        most = max(1, limits().prepared_entries // max(1, row_width(self.X)))
        parts = list(blocks(n, min(limits().block_references, most)))
        sides = {part.start: prepared.references(key, part) for part in parts}

        def fill(both: tuple[slice, slice], stopped: Callable[[], bool]) -> None:
            here, other = both
            if stopped():
                return
            x, q = sides[other.start], sides[here.start]
            block = statistic(leaf, q, x, q.rows, other, T.dtype)
            T[other, here] = block
            T[here, other] = block.T

        pairs = list(itertools.combinations_with_replacement(parts, 2))
        with limit_blas_threads(1):
            run_tasks(fill, pairs, effective_jobs(self.n_jobs))
        return T, np.concatenate([sides[part.start].norms for part in parts])
