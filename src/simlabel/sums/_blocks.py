"""Sums of one block of queries, as it gets blocks of references: in tiles, or in panels."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np

from simlabel._utils.kernels import panel_width, tile_rows
from simlabel._utils.limits import limits
from simlabel._utils.rows import n_rows, row_width
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, Rows
from simlabel.sums._base import Job, Plan, ReduceCall
from simlabel.sums._influence import transposed
from simlabel.sums._prepared import Prepared, Side, statistic
from simlabel.sums._reducers import Exclude, PartialResult, PartialSum, SumReducer


class TileSums:
    """The partial results of all jobs for a block of queries, tile by tile.

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
        self.by_query = n_rows(q_rows) < limits().few_queries
        self.reduced = [job.reducer.start(n_rows(q_rows), exclude) for job in jobs]

    @cached_property
    def _sides(self) -> dict[Hashable, Side]:
        return self.prepared.queries(self.q_rows)

    def add(self, part: slice) -> None:
        """Add the references `part`."""
        for partial, S in zip(self.reduced, self._similarities(self._sides, part), strict=True):
            partial.add(S, part)

    def update_pair(self, other: TileSums, mine: slice, part: slice) -> None:
        """Add the references `part`, which are the queries of `other`, and add these queries to `other`."""
        sides = {key: self.prepared.references(key, mine) for key in self.prepared.leaves}
        both = zip(self.reduced, other.reduced, self._similarities(sides, part), strict=True)
        for partial, others, S in both:
            partial.add(S, part)
            if other is not self:
                others.add(S.T, mine)

    def _similarities(self, queries: dict[Hashable, Side], part: slice) -> Iterator[FloatArray]:
        """Yield psi(phi) of each job, (n_references, n_queries), in memory that the next one may overwrite.

        Each statistic is computed once, and dropped after its last reader.
        """
        waiting: dict[Hashable, int] = {}
        for job in self.jobs:
            for leaf in job.leaves:
                waiting[leaf.key] = waiting.get(leaf.key, 0) + 1
        computed: dict[Hashable, tuple[FloatArray, Side]] = {}
        copies: dict[tuple[Hashable, int], FloatArray] = {}  # their memory is reused by the next job
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported once, at the end
            for job in self.jobs:
                finished = []
                for place, leaf in enumerate(job.leaves):
                    key, q = leaf.key, queries[leaf.key]
                    if key not in computed:
                        x = self.prepared.references(key, part)
                        T = statistic(leaf, q, x, self.q_rows, part, self.prepared.dtype)
                        computed[key] = transposed(T).T if self.by_query else T, x
                    T, x = computed[key]
                    waiting[key] -= 1
                    if waiting[key]:  # the last reader may overwrite
                        if (key, place) not in copies:
                            copies[key, place] = np.empty_like(T)
                        np.copyto(copies[key, place], T)
                        T = copies[key, place]
                    if self.by_query:
                        finished.append(leaf.finish(T.T, q.norms, x.norms).T)
                    else:
                        finished.append(leaf.finish(T, x.norms, q.norms))
                S = job.similarity.assemble(finished)
                if job.weighting is not None and job.weighting.scope == "entry":
                    S = job.weighting.apply(S.T).T  # a user's function gets queries as rows
                yield S

    def partials(self) -> list[PartialResult]:
        """Return the results so far."""
        return self.reduced


class PanelSums:
    """The sums of a block of queries, in panels: a compiled kernel computes similarities and sums at once.

    Parameters
    ----------
    q_rows : rows, (n_queries, n_features)
        The queries.
    jobs : list of Job
        Jobs for which `can_use_panels` is true.
    exclude : Exclude, optional
        For these queries.
    """

    def __init__(
        self, prepared: Prepared, q_rows: Rows, jobs: Sequence[Job], exclude: Exclude | None
    ) -> None:
        assert isinstance(jobs[0].reducer, SumReducer)
        self.prepared, self.q_rows, self.influence = prepared, q_rows, jobs[0].reducer.influence
        (self.key,) = prepared.leaves
        self.step = tile_rows(row_width(q_rows), prepared.dtype)
        self.kernel: Any = jobs[0].similarity.sums_in_panels
        self.parameters = np.array([job.similarity.panel_parameters for job in jobs], dtype=np.float64)
        self.n, self.width = n_rows(q_rows), panel_width(prepared.dtype)
        exclude = exclude or Exclude(np.full(self.n, -1), np.ones(self.n))
        self.own = _in_panels(exclude.own, self.width, -1)
        self.kept = _in_panels(exclude.kept.astype(prepared.dtype), self.width, 1)
        self.out = np.zeros((len(jobs), len(self.own), self.influence.width, self.width))
        self.mirrored: FloatArray | None = None

    @cached_property
    def _side(self) -> Side:
        return self.prepared.queries(self.q_rows)[self.key]

    def add(self, part: slice) -> None:
        """Add the references `part`."""
        none = np.empty((0, 0, self.width, self.width), dtype=self.prepared.dtype)
        self._add(self._side, part, none, np.empty((0, 0, 0)), diagonal=False)

    def update_pair(self, other: PanelSums, mine: slice, part: slice) -> None:
        """Add the references `part`, which are the queries of `other`, and add these queries to `other`."""
        side = self.prepared.references(self.key, mine)  # not stored: each block would have a copy in panels
        labels = self.influence.in_panels(mine, self.prepared.dtype)
        if other.mirrored is None:
            other.mirrored = np.zeros((len(self.out), other.n, labels.shape[1] * self.width))
        self._add(side, part, labels, other.mirrored, diagonal=other is self)

    def _add(
        self, side: Side, part: slice, own_rows: FloatArray, mirrored: FloatArray, diagonal: bool
    ) -> None:
        x = self.prepared.references(self.key, part)
        references = np.ascontiguousarray(x.rows), x.norms
        queries = side.panels, _in_panels(side.norms, self.width, 0)
        V = self.influence.in_tiles(part, self.step, self.prepared.dtype)
        excluded, back = (self.own - part.start, self.kept), (own_rows, mirrored, diagonal)
        self.kernel((references, queries, self.step, self.parameters, V, excluded, back, self.out))

    def partials(self) -> list[PartialResult]:
        """Return the sums so far, (n_labels, n_queries) for each job."""
        n_jobs, n_panels, n_labels, width = self.out.shape
        totals = self.out.transpose(0, 2, 1, 3).reshape(n_jobs, n_labels, n_panels * width)[:, :, : self.n]
        if self.mirrored is not None:
            totals = totals + self.mirrored.transpose(0, 2, 1)[:, :n_labels]
        return [PartialSum(self.influence, total, None) for total in totals]


def sums_of_block(call: ReduceCall, queries: slice, plan: Plan) -> Any:
    """Return the planned sums for some of the queries: TileSums or PanelSums."""
    kind: type[PanelSums | TileSums] = PanelSums if plan.panels else TileSums
    return kind(call.prepared, call.Q[queries], call.jobs, call.excluded(queries))


def _in_panels(numbers: AnyArray, width: int, fill: float) -> AnyArray:
    """Return one number per query in panels, (n_panels, width)."""
    filled = np.full(-(-len(numbers) // width) * width, fill, dtype=numbers.dtype)
    filled[: len(numbers)] = numbers
    return filled.reshape(-1, width)
