"""Rows on the workers of a cluster, and Dask collections as X and y."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import Columns, LazyRows, Stack, joined, touched
from simlabel._utils.validation import Rows, check_sparse
from simlabel.labels import check_indicator_dense
from simlabel.sums.dask._client import (
    Client,
    ClusterError,
    Future,
    WorkerDataLost,
    collect,
    find_client,
    sent,
    tree,
)


class RemoteRows(LazyRows):
    """Blocks of rows on workers; functions are sent to them.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    blocks : list of Future
        Arrays or CSR matrices with the same columns.
    known : list of tuple, optional
        Rows, columns, dtype and sparseness of each block; queried by default.
    """

    remote = True

    def __init__(self, client: Client, blocks: Sequence[Future], known: Sequence[Any] | None = None) -> None:
        self.client = client
        shapes = gathered(client, client.map(_shape, list(blocks), pure=False)) if known is None else known
        there = [(block, each) for block, each in zip(blocks, shapes, strict=True) if each[0]]
        self.blocks = [block for block, _ in there]
        self.known = [each for _, each in there]
        self.starts = [0, *np.cumsum([each[0] for each in self.known]).tolist()]
        _, width, self.dtype, self.sparse = there[0][1] if there else shapes[0]
        self.shape = (int(self.starts[-1]), width)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            rows, columns = index
            if rows != slice(None):
                raise TypeError("Select columns of rows on workers for all rows: X[:, columns].")
            return self.mapped(Columns(columns))
        if isinstance(index, slice):
            parts = [self._selected(i, rows) for i, rows in touched(self.starts, index)]
            return joined(gathered(self.client, parts)) if parts else self[0:1][0:0]
        rows = np.asarray(index)
        of = np.searchsorted(self.starts, rows, side="right") - 1
        parts = [self._selected(i, rows[of == i] - self.starts[i]) for i in np.unique(of).tolist()]
        order = np.argsort(np.argsort(of, kind="stable"), kind="stable")
        return Stack(gathered(self.client, parts)).whole()[order]

    def _selected(self, i: int, rows: Any) -> Future:
        return self.client.submit(_selected, self.blocks[i], rows, pure=False)

    def part(self, rows: slice) -> RemoteRows:
        """Return some of the rows; whole blocks are not copied."""
        parts = list(touched(self.starts, rows))
        if all((at.start, at.stop) == (0, self.known[i][0]) for i, at in parts):
            blocks, known = ([every[i] for i, _ in parts] for every in (self.blocks, self.known))
            return RemoteRows(self.client, blocks, known)
        return RemoteRows(self.client, [self._selected(i, at) for i, at in parts])

    def taken(self, rows: Any) -> RemoteRows:
        """Return rows of a single block by their positions, on the same worker."""
        if len(self.blocks) != 1:
            raise TypeError("Positions are selected from one block at a time.")
        return RemoteRows(self.client, [self._selected(0, np.asarray(rows))])

    def mapped(self, step: Callable[[Rows], Rows]) -> RemoteRows:
        """Return the rows that a function returns for these, on the same workers."""
        return RemoteRows(self.client, self.client.map(step, self.blocks, pure=False))

    def cuts(self) -> Iterator[slice]:
        """Yield the rows of each block."""
        return (slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False))

    def map_async(self, each: Callable[..., Any], *companions: Any) -> Callable[[], list[Any]]:
        """Send a function to every block, with its part of the companions."""
        results, held = self._submitted(each, companions)
        return lambda: gathered(self.client, results, held)

    def folded(self, each: Callable[..., Any], merge: Callable[[Any, Any], Any], *companions: Any) -> Any:
        """Send a function to every block, and merge the results on the workers, in a tree."""
        results, held = self._submitted(each, companions)
        merged = tree(self.client, results, _merged, merge)
        return gathered(self.client, merged[-1:], [*held, *merged])[0]

    def _submitted(
        self, each: Callable[..., Any], companions: Sequence[Any]
    ) -> tuple[list[Future], list[Any]]:
        """Return futures, and what must be held until their results are there."""
        results = []
        function = sent(self.client, each)  # once, since it may contain large arrays
        held = [function]
        for block, rows in zip(self.blocks, self.cuts(), strict=True):
            others = [other[rows] for other in companions]
            others = [part if isinstance(part, range) else sent(self.client, part) for part in others]
            held += others
            results.append(self.client.submit(_called, function, block, *others, pure=False))
        return results, held

    def joined_pieces(self, pieces: Sequence[Any]) -> Sequence[LazyRows]:
        """Return all of them as one, if all are on the same cluster."""
        if not all(isinstance(piece, RemoteRows) and piece.client is self.client for piece in pieces):
            return pieces
        blocks = [block for piece in pieces for block in piece.blocks]
        return [RemoteRows(self.client, blocks, [each for piece in pieces for each in piece.known])]

    def __reduce__(self) -> Any:
        return np.array, (self[:],)


def gathered(client: Client, futures: Sequence[Future], held: Sequence[Any] = ()) -> list[Any]:
    """Return the results of futures, whose inputs are held until then; lost data are an error."""
    try:
        return collect(client, futures)
    except WorkerDataLost:
        raise ClusterError(
            "A worker has died with the only copy of some data: repeat with data that can be recomputed."
        ) from None


def remote_rows(X: Any, client: Any = None) -> RemoteRows:
    """Return a Dask array or data frame as rows that stay on the workers.

    Parameters
    ----------
    X : dask array or data frame, (n_rows, n_features)
        Blocks of columns are merged.
    client : distributed.Client, str or None
        As in `DaskEngine`.
    """
    client = find_client(client)
    blocks = _blocks(X, client)  # held until the rows are there
    return RemoteRows(client, client.map(as_remote_rows, blocks, pure=False))


def gather_labels(y: Any, client: Any = None) -> Any:
    """Return a Dask y in local memory: labels are small, and every stage reads them.

    A 0/1 array or frame is checked on the workers.
    """
    client = find_client(client)
    frame = hasattr(y, "columns")
    if len(y.shape) == 1 or (len(y.shape) == 2 and y.shape[1] == 1 and not frame):
        return y.compute()
    blocks = _blocks(y, client)
    parts = gathered(client, client.map(_checked, blocks, frame=frame, pure=False), blocks)
    if not frame:
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _blocks(collection: Any, client: Client) -> list[Future]:
    """Return futures of the blocks of rows."""
    if hasattr(collection, "columns"):
        delayed = collection.to_delayed()
    elif len(collection.shape) != 2:
        raise ValueError(f"Expected a two-dimensional Dask array, got shape {collection.shape}.")
    else:
        delayed = collection.rechunk({1: -1}).to_delayed().ravel().tolist()
    return list(client.compute(list(delayed)))


# What runs on the workers.


def as_remote_rows(block: Any) -> Rows:
    """Return a block of a Dask collection as rows."""
    if sp.issparse(block):
        return sp.csr_array(check_sparse(block, "X"))
    return np.ascontiguousarray(block.to_numpy() if hasattr(block, "to_numpy") else block)


def _checked(block: Any, frame: bool) -> Any:
    names = np.asarray(block.columns, dtype=object) if frame else None
    check_indicator_dense(block.to_numpy() if frame else np.asarray(block), names)
    return block


def _selected(block: Rows, rows: Any) -> Rows:
    return block[rows]


def _called(function: Callable[..., Any], block: Rows, *companions: Any) -> Any:
    return function(block, *companions)


def _merged(parts: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    return reduce(merge, parts)


def _shape(block: Rows) -> tuple[int, int, np.dtype[Any], bool]:
    """Return rows, columns, dtype, and whether the block is sparse."""
    return int(block.shape[0]), int(block.shape[1]), np.dtype(block.dtype), bool(sp.issparse(block))
