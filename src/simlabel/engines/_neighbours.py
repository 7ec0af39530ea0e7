"""Top-k sums through an index: only near references are compared with a query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel.engines._base import Engine
from simlabel.engines._exact import Exact, check_finite_sums
from simlabel.engines._index import NearestIndex, faiss_library, faiss_threads
from simlabel.engines._plan import DEFAULT_MEMORY_MIB, Plan
from simlabel.engines._reducers import Exclude
from simlabel.engines._row_reducers import Largest
from simlabel.engines._rows import Prepared, numbers_beside
from simlabel.engines._threads import effective_jobs
from simlabel.engines._tiles import Job
from simlabel.rows import blocks, dense_rows, n_rows, pieces, row_width, take_rows
from simlabel.similarities import Leaf
from simlabel.support.validation import FloatArray, Rows, check_number

_KEPT = "ann"  # where a job keeps its index
_SPARE = 8  # more candidates than neighbours: float32, which the index has, may confuse near ones
_LARGEST_SQUARE = 1e30  # of rows that float32 can tell apart


class ANN(Engine):
    """Top-k weighting through an index of the references (faiss-cpu, the extra `ann`).

    For RBF, cosine, and polynomials of odd degree such as linear, on dense rows. The similarities of
    the neighbours that are found are computed exactly. `plan_` shows the recall, measured on
    references left out of their own neighbours.

    Parameters
    ----------
    recall : float
        Share of the k nearest references that is to be found. With 1, and where references are few,
        the index looks at all of them, and the sums are exact.
    memory_mib : float
        Bound on the memory for blocks of candidates, in MiB.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [3.0], [2.0]], [[1], [1], [1]], "linear",
    ...                 weighting="top_k", engine=ANN(recall=1.0))
    array([[6.]])
    """

    name = "ann"
    file_key = "engines.ANN"

    def __init__(self, recall: float = 0.95, memory_mib: float = DEFAULT_MEMORY_MIB) -> None:
        self.recall = recall
        self.memory_mib = memory_mib

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether every neighbour is found, by the settings alone."""
        return self.recall >= 1.0

    def check(self) -> None:
        """Raise where the recall is not between 0 and 1, or the library is not there."""
        super().check()
        check_number("ANN", "recall", self.recall, above=0)
        if self.recall > 1:
            raise ValueError(f"ANN: recall must be at most 1, got {self.recall!r}.")
        faiss_library()

    def why_not(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """No top-k weighting, no distance or inner product that decides who is near, or sparse rows."""
        for job in jobs:
            if not isinstance(job.reducer, Largest):
                return "without weighting=TopK(...) all references count, not the nearest alone"
            leaves = job.similarity.leaves()
            if len(leaves) != 1 or leaves[0].similarity.nearest is None:
                return f"{job.similarity!r} does not rise with an inner product or fall with a distance"
        if prepared.sparse or not hasattr(prepared.X, "shape"):
            return "the index holds dense rows"
        if max((max(each, default=0.0) for each in prepared.largest.values()), default=0.0) > _LARGEST_SQUARE:
            return "the features are too large for float32, in which the index holds them"
        return None

    def ready(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Build the index, and measure it."""
        self._refuse(prepared, jobs)
        for job in jobs:
            if _KEPT not in job.kept:
                leaf, reducer = job.similarity.leaves()[0], _largest(job)
                assert leaf.similarity.nearest is not None
                rows = _float32(_viewed(prepared, leaf, slice(0, prepared.n_rows)))
                k = min(reducer.k, prepared.n_rows)
                job.kept[_KEPT] = NearestIndex(rows, leaf.similarity.nearest, k, self.recall)

    def carry(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Keep the cells, and put rows that came or went in or out; where most went, build it anew."""
        index: NearestIndex | None = old.kept.get(_KEPT)
        if index is None or index.exact:
            return
        same = 0
        for mine, other in zip(pieces(before.X), pieces(after.X), strict=False):
            if mine is not other:
                break
            same += n_rows(mine)
        if 2 * same < after.n_rows:
            return
        leaf = new.similarity.leaves()[0]
        changed = index.replaced(same, _float32(_viewed(after, leaf, slice(same, after.n_rows))))
        new.kept[_KEPT] = changed.checked(_float32(_viewed(after, leaf, slice(0, after.n_rows))))

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """How much of the references is looked at, and what share of the neighbours that finds."""
        self.ready(prepared, jobs)
        index: NearestIndex = jobs[0].kept[_KEPT]
        seen, words = float(prepared.n_rows), "all references are looked at: every neighbour is found"
        if not index.exact:
            seen = index.cells + prepared.n_rows * index.probes / index.cells
            words = (
                f"{index.probes} of {index.cells:,} cells are looked at: recall {index.recall:.3f} of the "
                f"{index.k} nearest, measured on {index.n_checked} references"
            )
        return Plan(
            f"sums over the {_largest(jobs[0]).k} nearest, through an index",
            n_queries,
            prepared.n_rows,
            prepared.dtype,
            queries=n_queries,
            references=0,
            parts=1,
            threads=1,
            memory=int(self.memory_mib * 2**20) + 4 * prepared.n_rows * row_width(prepared.X),
            operations=2.0 * n_queries * seen * row_width(prepared.X),
            reasons=(words, "asked for by engine='ann'"),
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
        """The sums over neighbours; the candidates of a search share one pass over all pairs instead."""
        self._refuse(prepared, jobs)
        if len(jobs) > 1:
            pairs = Exact(self.memory_mib)
            return pairs.reduce(Q, prepared, jobs, exclude=exclude, symmetric=symmetric, n_jobs=n_jobs)
        with faiss_threads(effective_jobs(n_jobs)):
            self.ready(prepared, jobs)
            sums = self._through(Q, prepared, jobs[0], exclude, n_jobs)
        check_finite_sums([sums], jobs)
        return [sums]

    def _refuse(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        reason = self.why_not(prepared, jobs)
        if reason is not None:
            raise ValueError(f"engine='ann' is not possible: {reason}.")

    def _through(
        self, Q: Rows, prepared: Prepared, job: Job, exclude: Exclude | None, n_jobs: int | None
    ) -> FloatArray:
        out: FloatArray = np.empty((n_rows(Q), job.reducer.width), dtype=prepared.dtype)
        looked = min(prepared.n_rows, _largest(job).capacity + max(_SPARE, _largest(job).capacity // 4))
        per_query = 8 * looked * (2 * row_width(prepared.X) + 8)
        for part in blocks(n_rows(Q), max(1, int(self.memory_mib * 2**20) // per_query)):
            found = _Candidates(Q[part], prepared, job, looked)
            own = None if exclude is None else exclude.part(part)
            out[part] = _largest(job).of_candidates(found.similarities, found.places, own)
            doubtful = np.flatnonzero(found.doubtful)
            if len(doubtful):
                rows = part.start + doubtful
                own = None if exclude is None else Exclude(exclude.own[rows], exclude.kept[rows])
                pairs = Exact(self.memory_mib)
                some = take_rows(Q, rows)
                out[rows] = pairs.reduce(some, prepared, [job], exclude=own, n_jobs=n_jobs)[0]
        return out


class _Candidates:
    """References that may be among the nearest of some queries, compared exactly.

    Attributes
    ----------
    places, similarities : array, (n_queries, n_candidates)
        In rising order of place; -inf for none.
    doubtful : array of bool, (n_queries,)
        Where a nearer one may have been missed by rounding, or too few were found.
    """

    def __init__(self, Q: Rows, prepared: Prepared, job: Job, looked: int) -> None:
        leaf, index = job.similarity.leaves()[0], job.kept[_KEPT]
        viewed = np.asarray(dense_rows(leaf.view(Q)), dtype=np.float64)
        beside = numbers_beside(leaf, viewed)
        short = _float32(viewed)
        far, places = index.nearest(short, looked)
        order = np.argsort(places, axis=1, kind="stable")
        self.places: npt.NDArray[np.int64] = np.take_along_axis(places, order, axis=1)
        there = self.places >= 0
        self.places[~there] = 0
        rows = _taken(prepared, leaf, self.places.ravel()).reshape(*self.places.shape, -1)
        T = np.einsum("qcm,qm->qc", rows, viewed)
        others = prepared.beside[leaf.key][:][self.places]
        S = np.array(
            [
                leaf.similarity.finish(T[i : i + 1].copy(), beside[i : i + 1], others[i])[0]
                for i in range(len(T))
            ]
        ).reshape(T.shape)
        self.similarities: FloatArray = np.where(there, S, -np.inf)
        needed = min(_largest(job).capacity, looked)
        self.doubtful = (there.sum(axis=1) < needed) | (beside > _LARGEST_SQUARE)
        if index.exact and looked < prepared.n_rows:
            self.doubtful |= _too_near(T, others, beside, far[:, -1], leaf, needed, prepared)


def _too_near(
    T: FloatArray, others: FloatArray, beside: FloatArray, last: Any, leaf: Leaf, needed: int, prepared: Any
) -> npt.NDArray[np.bool_]:
    """Whether a reference that is no candidate could be as near as one that counts, but for rounding."""
    largest = np.sqrt(max(prepared.largest[leaf.key], default=0.0))
    unit = np.finfo(np.float32).eps * (8 + row_width(prepared.X))
    if leaf.similarity.nearest == "distance":
        squares = others + beside[:, None] - 2 * T
        return ~(
            np.partition(squares, needed - 1, axis=1)[:, needed - 1]
            < last - unit * (np.sqrt(beside) + largest) ** 2
        )
    kept = np.partition(-T, needed - 1, axis=1)[:, needed - 1]
    return ~(-kept > last + unit * np.sqrt(beside) * largest)


def _largest(job: Job) -> Largest:
    assert isinstance(job.reducer, Largest)
    return job.reducer


def _float32(rows: Any) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # rows that are too large are compared exactly
        return np.ascontiguousarray(rows, dtype=np.float32)


def _viewed(prepared: Prepared, leaf: Leaf, part: slice) -> Rows:
    if leaf.key in prepared.views:
        return prepared.views[leaf.key][part]
    return dense_rows(leaf.view(prepared.X[part]))


def _taken(prepared: Prepared, leaf: Leaf, rows: npt.NDArray[np.int64]) -> FloatArray:
    if leaf.key in prepared.views:
        some: Any = take_rows(prepared.views[leaf.key], rows)
    else:
        some = leaf.view(take_rows(prepared.X, rows))
    return np.asarray(dense_rows(some), dtype=np.float64)
