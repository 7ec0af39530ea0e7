"""One block of queries against one block of references."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from simlabel._utils.forks import cached_property
from simlabel._utils.limits import limits
from simlabel._utils.rows import n_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities import Similarity
from simlabel.sums._contract import Job, Plan
from simlabel.sums._prepared import Prepared, Side, statistic
from simlabel.sums.reducers import Exclude, PartialResult, turned_over


class Tile:
    """Similarities of a block, each statistic computed once and dropped after its last reader.

    Parameters
    ----------
    prepared : Prepared
        References.
    queries : dict of Side
        Queries as each leaf reads them.
    q_rows : rows, (n_queries, n_features)
        Queries as they are.
    part : slice
        Which references.
    jobs : list of Job
        All that will be asked of the block.
    """

    def __init__(
        self,
        prepared: Prepared,
        queries: dict[Hashable, Side],
        q_rows: Rows,
        part: slice,
        jobs: Sequence[Job],
    ) -> None:
        self.prepared, self.queries, self.q_rows, self.part = prepared, queries, q_rows, part
        self.by_query = n_rows(q_rows) < limits().few_queries
        self.waiting: dict[Hashable, int] = {}
        for job in jobs:
            for leaf in job.similarity.leaves():
                self.waiting[leaf.key] = self.waiting.get(leaf.key, 0) + 1
        self.computed: dict[Hashable, tuple[FloatArray, Side]] = {}
        self.spare: dict[tuple[Hashable, int], FloatArray] = {}

    def weighted(self, job: Job) -> FloatArray:
        """psi(phi), (n_references, n_queries), in memory that is the caller's until the next call."""
        S = self._similarities(job.similarity)
        if job.weighting is not None and job.weighting.scope == "entry":
            S = job.weighting.apply(S.T).T  # a function of the user's sees queries as rows
        return S

    def _similarities(self, similarity: Similarity) -> FloatArray:
        finished = []
        for place, leaf in enumerate(similarity.leaves()):
            q = self.queries[leaf.key]
            if leaf.key not in self.computed:
                x = self.prepared.references(leaf.key, self.part)
                T = statistic(leaf, q, x, self.q_rows, self.part, self.prepared.dtype)
                self.computed[leaf.key] = turned_over(T).T if self.by_query else T, x
            T, x = self.computed[leaf.key]
            self.waiting[leaf.key] -= 1
            if self.waiting[leaf.key]:  # the last reader may overwrite
                T = self._copied(T, leaf.key, place)
            if self.by_query:
                finished.append(leaf.finish(T.T, q.beside, x.beside).T)
            else:
                finished.append(leaf.finish(T, x.beside, q.beside))
        return similarity.assemble(finished)

    def _copied(self, T: FloatArray, key: Hashable, place: int) -> FloatArray:
        """A copy, in the memory that the former one for this place of a similarity was in."""
        if (key, place) not in self.spare:
            self.spare[key, place] = np.empty_like(T)
        np.copyto(self.spare[key, place], T)
        return self.spare[key, place]


class TileSums:
    """What the jobs make of a block of queries, tile by tile.

    Parameters
    ----------
    q_rows : rows, (n_queries, n_features)
        The queries.
    exclude : Exclude, optional
        For these queries.
    """

    def __init__(
        self, prepared: Prepared, q_rows: Rows, jobs: Sequence[Job], exclude: Exclude | None
    ) -> None:
        self.prepared, self.q_rows, self.jobs = prepared, q_rows, jobs
        self.reduced = [job.reducer.start(n_rows(q_rows), exclude) for job in jobs]

    @cached_property
    def _sides(self) -> dict[Hashable, Side]:
        return self.prepared.queries(self.q_rows)

    def add(self, part: slice) -> None:
        """Take in the references `part`."""
        for partial, S in zip(self.reduced, self._similarities(self._sides, part), strict=True):
            partial.add(S, part)

    def meet(self, other: TileSums, mine: slice, part: slice) -> None:
        """Take in the references `part`, which are the queries of `other`, and let it take in mine."""
        sides = {key: self.prepared.references(key, mine) for key in self.prepared.leaves}
        both = zip(self.reduced, other.reduced, self._similarities(sides, part), strict=True)
        for partial, others, S in both:
            partial.add(S, part)
            if other is not self:
                others.add(S.T, mine)

    def _similarities(self, sides: dict[Hashable, Side], part: slice) -> Iterator[FloatArray]:
        """Those of each job in turn, in memory that the next one may use again."""
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported once, at the end
            tile = Tile(self.prepared, sides, self.q_rows, part, self.jobs)
            for job in self.jobs:
                yield tile.weighted(job)

    def partials(self) -> list[PartialResult]:
        """The results so far."""
        return self.reduced


def empty_outputs(plan: Plan, jobs: Sequence[Job]) -> list[FloatArray]:
    """Zeros for the results of all jobs."""
    return [np.zeros((plan.n_queries, job.reducer.width), dtype=plan.dtype) for job in jobs]
