"""A draw of references for each query."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, take_rows
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_number, check_numbers
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Engine, Job, Plan, ReduceCall
from simlabel.sums._exact import Exact
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._samplers import draw
from simlabel.sums.reducers import SumReducer
from simlabel.sums.running import empty_outputs, run_tasks

_MOST_DRAWS = 1 << 24  # for each query: more are slower than the sum over all references
_ROUNDING = 1e-8  # numpy's bound on what probabilities may sum to beside 1


class Sampled(Engine):
    """The sum over references drawn anew for each query; its expectation is the sum over all.

    The draw depends on the query itself and on the seed, so that the same query gets the same answer
    in any order and company.

    Parameters
    ----------
    probabilities : array, (n_references,)
        Of each reference, positive, summing to 1.
    n : int
        Number of draws.
    seed : int
        For the draws.
    memory_mib : float
        Bound on the memory for blocks, in MiB.
    order : array of int, (n_references,), optional
        The order in which references are drawn from; as they stand by default.

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
        """Raise ValueError where the probabilities are none, or a number is out of range."""
        super().check()
        check_numbers("Sampled", "probabilities", self.probabilities, (None,), above=0)
        if abs(self.probabilities.sum() - 1.0) > _ROUNDING:
            raise ValueError(f"Sampled: probabilities must sum to 1, not to {self.probabilities.sum()}.")
        places = np.arange(len(self.probabilities))
        if self.order is not None and not np.array_equal(np.sort(self.order), places):
            raise ValueError(f"Sampled: order must hold each of the positions 0 to {len(places) - 1} once.")
        check_number("Sampled", "n", self.n, at_least=1, integer=True)
        check_number("Sampled", "seed", self.seed, at_least=0, integer=True)
        if self.n > _MOST_DRAWS:
            raise ValueError(f"Sampled: n must be at most {_MOST_DRAWS:,}, got {self.n:,}.")

    def why_not(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """A weighting of whole rows, or a matrix in place of references."""
        if any(leaf.similarity.form == "precomputed" for leaf in prepared.leaves.values()):
            return "a precomputed matrix has no references to draw"
        if not all(isinstance(job.reducer, SumReducer) for job in jobs):
            return "a weighting that looks at whole rows is no sum that could be estimated"
        return None

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """The plan for one query's draw, for all of them."""
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
        """Query by query."""
        reason = self.why_not(call.prepared, call.jobs)
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

        with held_blas(1):
            run_tasks(work, list(blocks(call.n_queries, limits().sampled_task_queries)), plan.threads)
        return outputs

    def _drawn(self, call: ReduceCall, i: int) -> ReduceCall:
        """Query i, and the references drawn for it."""
        q, exclude = call.Q[i : i + 1], call.excluded(slice(i, i + 1))
        rng = np.random.default_rng([self.seed, _fingerprint(q)])
        rows, scales = draw(self.probabilities, self.n, rng, self.order)
        some = prepare(take_rows(call.prepared.X, rows), [job.similarity for job in call.jobs])
        sums = [SumReducer(_scaled(job, rows, scales)) for job in call.jobs]
        jobs = [Job(job.similarity, job.weighting, each) for job, each in zip(call.jobs, sums, strict=True)]
        own = None if exclude is None else exclude.among(rows)
        return ReduceCall(q, some, jobs, own, n_jobs=1)


def _scaled(job: Job, rows: npt.NDArray[np.int64], scales: FloatArray) -> Rows:
    assert isinstance(job.reducer, SumReducer)
    V = job.reducer.influence.rows(rows)
    return sp.csr_array(V.multiply(scales[:, None])) if sp.issparse(V) else V * scales[:, None]


def _fingerprint(q: Rows) -> int:
    """A number that depends on what the query is, not on where it stands."""
    if sp.issparse(q):
        q = q.sorted_indices() if not q.has_sorted_indices else q
        return zlib.crc32(q.data.tobytes(), zlib.crc32(q.indices.astype(np.int64).tobytes()))
    if isinstance(q, np.ndarray):
        return zlib.crc32(np.ascontiguousarray(q).tobytes())
    return zlib.crc32(repr(q).encode())
