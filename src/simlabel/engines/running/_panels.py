"""Sums in one go, where nothing but sums is asked of similarities that a compiled kernel knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._kernels import panel_width, sort_by_label, tile_rows
from simlabel.engines._contract import Job, Plan, ReduceCall
from simlabel.engines._prepared import Prepared, Side
from simlabel.engines.reducers import Arrays, Exclude, InfluenceColumns, PartialResult, PartialSum, SumReducer
from simlabel.engines.running._tiles import TileSums
from simlabel.rows import n_rows, row_width
from simlabel.support.forks import cached_property
from simlabel.support.validation import FloatArray, Rows


class BlockSums(Protocol):
    """What the jobs make of a block of queries, as it takes in references."""

    def add(self, part: slice) -> None:
        """Take in the references `part`."""

    def meet(self, other: Any, mine: slice, part: slice) -> None:
        """Take in the references `part`, which are the queries of `other`, and let it take in mine."""

    def partials(self) -> list[PartialResult]:
        """The results so far."""


def sums_of_block(call: ReduceCall, queries: slice, plan: Plan) -> BlockSums:
    """What takes in references for some of the queries, as planned."""
    kind: type[PanelSums | TileSums] = PanelSums if plan.panels else TileSums
    return kind(call.prepared, call.Q[queries], call.jobs, call.excluded(queries))


class PanelSums:
    """The sums of a block of queries, in panels.

    Parameters
    ----------
    q_rows : rows, (n_queries, n_features)
        The queries.
    jobs : list of Job
        Of which `can_use_panels` is true.
    exclude : Exclude, optional
        For these queries.
    """

    def __init__(
        self, prepared: Prepared, q_rows: Rows, jobs: Sequence[Job], exclude: Exclude | None
    ) -> None:
        assert isinstance(jobs[0].reducer, SumReducer)
        self.prepared, self.q_rows, self.influence = prepared, q_rows, jobs[0].reducer.influence
        (self.key,) = prepared.leaves
        step = tile_rows(row_width(q_rows), prepared.dtype)
        self.V = InfluenceInTiles(self.influence, step, prepared.dtype)
        self.kernel: Any = jobs[0].similarity.sums_in_panels
        self.parameters = np.array([job.similarity.panel_parameters for job in jobs], dtype=np.float64)
        self.n, self.width = n_rows(q_rows), panel_width(prepared.dtype)
        exclude = exclude or Exclude(np.full(self.n, -1), np.ones(self.n))
        self.own = _filled(exclude.own, self.width, -1)
        self.kept = _filled(exclude.kept.astype(prepared.dtype), self.width, 1)
        self.out = np.zeros((len(jobs), len(self.own), self.influence.width, self.width))
        self.mirrored: FloatArray | None = None

    @cached_property
    def _side(self) -> Side:
        return self.prepared.queries(self.q_rows)[self.key]

    def add(self, part: slice) -> None:
        """Take in the references `part`."""
        nobody = np.empty((0, 0, self.width, self.width), dtype=self.prepared.dtype)
        self._add(self._side, part, nobody, np.empty((0, 0, 0)), diagonal=False)

    def meet(self, other: PanelSums, mine: slice, part: slice) -> None:
        """Take in the references `part`, which are the queries of `other`, and let it take in mine."""
        side = self.prepared.references(self.key, mine)  # not kept: each block would have a copy in panels
        labels = self.V.in_panels(mine)
        if other.mirrored is None:
            other.mirrored = np.zeros((len(self.out), other.n, labels.shape[1] * self.width))
        self._add(side, part, labels, other.mirrored, diagonal=other is self)

    def _add(
        self, side: Side, part: slice, own_rows: FloatArray, mirrored: FloatArray, diagonal: bool
    ) -> None:
        x = self.prepared.references(self.key, part)
        left_out, back = (self.own - part.start, self.kept), (own_rows, mirrored, diagonal)
        q_side = _filled(side.beside, self.width, 0)
        X = np.ascontiguousarray(x.rows)
        references, queries = (X, x.beside), (side.panels, q_side)
        settings, V = (self.V.step, self.parameters), self.V.rows(part)
        self.kernel((references, queries, *settings, V, left_out, back, self.out))

    def partials(self) -> list[PartialResult]:
        """The sums so far, as other parts of the program read them."""
        n_jobs, n_panels, n_labels, width = self.out.shape
        totals = self.out.transpose(0, 2, 1, 3).reshape(n_jobs, n_labels, n_panels * width)[:, :, : self.n]
        if self.mirrored is not None:
            totals = totals + self.mirrored.transpose(0, 2, 1)[:, :n_labels]
        return [PartialSum(self.influence, total, None) for total in totals]


class InfluenceInTiles:
    """V as the kernels of panels read it.

    Parameters
    ----------
    influence : InfluenceColumns
        V.
    step : int
        References of a tile.
    """

    def __init__(self, influence: InfluenceColumns, step: int, dtype: np.dtype[Any]) -> None:
        self.influence, self.step, self.dtype = influence, step, dtype

    def rows(self, part: slice) -> tuple[FloatArray, Arrays]:
        """(dense and by label, or empty; entries by tile and label): the rows `part`."""
        if self.influence.by_entry:
            make, key = self._entries, ("entries", part.start, part.stop, self.step, self.dtype)
            return np.empty((0, 0), dtype=self.dtype), self.influence.made.get(key, lambda: make(part))
        V = self.influence.rows(part)
        dense = V.toarray() if sp.issparse(V) else V
        return np.ascontiguousarray(dense.T, dtype=self.dtype), self._none(part)

    def _none(self, part: slice) -> Arrays:
        n_tiles = -(-(part.stop - part.start) // self.step)
        empty: npt.NDArray[np.int64] = np.empty(0, dtype=np.int64)
        return np.zeros(n_tiles + 1, dtype=np.int64), empty, empty, empty, np.empty(0, dtype=self.dtype)

    def _entries(self, part: slice) -> Arrays:
        touched = list(self.influence.stack.parts(part))
        V, _, rows = touched[0] if len(touched) == 1 else (self.influence.rows(part), part, slice(None))
        indptr = V.indptr[rows.start : None if rows.stop is None else rows.stop + 1]
        n = int(indptr[-1] - indptr[0])
        entries = (
            self._none(part)[0],
            np.empty(n, dtype=np.int64),
            np.empty(n + 1, dtype=np.int64),
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=self.dtype),
        )
        place = np.full(self.influence.width, -1)
        sort_by_label(indptr, V.indices, V.data, self.step, place, entries)
        firsts, labels, begins, *rest = entries
        n_labels = int(firsts[-1])
        return firsts, labels[:n_labels].copy(), begins[: n_labels + 1].copy(), *rest

    def in_panels(self, rows: slice) -> FloatArray:
        """Some rows in panels of rows and labels, (row panels, label panels, width, width)."""
        V = self.influence.rows(rows)
        width, n = panel_width(self.dtype), V.shape[0]
        n_panels, n_label_panels = -(-n // width), -(-self.influence.width // width)
        filled = np.zeros((n_panels * width, n_label_panels * width), dtype=self.dtype)
        filled[:n, : self.influence.width] = V.toarray() if sp.issparse(V) else V
        return np.ascontiguousarray(filled.reshape(n_panels, width, n_label_panels, width).swapaxes(1, 2))


def _filled(numbers: npt.NDArray[Any], width: int, rest: float) -> npt.NDArray[Any]:
    """One number per query in panels, (n_panels, width)."""
    filled = np.full(-(-len(numbers) // width) * width, rest, dtype=numbers.dtype)
    filled[: len(numbers)] = numbers
    return filled.reshape(-1, width)
