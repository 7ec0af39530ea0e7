"""A draw of references for each query."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel.engines._base import Engine
from simlabel.engines._exact import Exact
from simlabel.engines._plan import DEFAULT_MEMORY_MIB, Plan
from simlabel.engines._reducers import Exclude, SumReducer
from simlabel.engines._rows import Prepared, blocks, n_rows, prepare
from simlabel.engines._symmetric import empty_outputs
from simlabel.engines._threads import effective_jobs, one_blas_thread, run_tasks
from simlabel.engines._tiles import Job
from simlabel.sampling import draw
from simlabel.support.validation import FloatArray, Rows, check_number, check_numbers, take_rows

_QUERIES_PER_TASK = 16
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
        self, probabilities: FloatArray, n: int, seed: int = 0, memory_mib: float = DEFAULT_MEMORY_MIB
    ) -> None:
        self.probabilities = probabilities
        self.n = n
        self.seed = seed
        self.memory_mib = memory_mib

    def check(self) -> None:
        """Raise ValueError where the probabilities are none, or a number is out of range."""
        super().check()
        check_numbers("Sampled", "probabilities", self.probabilities, (None,), above=0)
        if abs(self.probabilities.sum() - 1.0) > _ROUNDING:
            raise ValueError(f"Sampled: probabilities must sum to 1, not to {self.probabilities.sum()}.")
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
        """Query by query."""
        reason = self.why_not(prepared, jobs)
        if reason is not None:
            raise ValueError(f"Sampling for each query is not possible: {reason}.")
        plan = self.plan(n_rows(Q), prepared, jobs, n_jobs)
        outputs = empty_outputs(plan, jobs)

        def work(queries: slice, stopped: Callable[[], bool]) -> None:
            for i in range(queries.start, queries.stop):
                if stopped():
                    return
                own = None if exclude is None else exclude.part(slice(i, i + 1))
                found = self._one(Q[i : i + 1], prepared, jobs, own, self.memory_mib / plan.threads)
                for output, row in zip(outputs, found, strict=True):
                    output[i] = row

        with one_blas_thread():
            run_tasks(work, list(blocks(n_rows(Q), _QUERIES_PER_TASK)), plan.threads)
        return outputs

    def _one(
        self,
        q: Rows,
        prepared: Prepared,
        jobs: Sequence[Job],
        exclude: Exclude | None,
        memory_mib: float,
    ) -> list[FloatArray]:
        rng = np.random.default_rng([self.seed, _fingerprint(q)])
        rows, scales = draw(self.probabilities, self.n, rng)
        some = prepare(take_rows(prepared.X, rows), [job.similarity for job in jobs])
        drawn = [Job(job.similarity, job.weighting, SumReducer(_scaled(job, rows, scales))) for job in jobs]
        own = None
        if exclude is not None:
            place = np.searchsorted(rows, exclude.own)
            there = place < len(rows)
            there[there] = rows[place[there]] == exclude.own[there]
            own = Exclude(np.where(there, place, -1), exclude.kept)
        return [sums[0] for sums in Exact(memory_mib).reduce(q, some, drawn, exclude=own, n_jobs=1)]


def _scaled(job: Job, rows: Any, scales: FloatArray) -> Any:
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
