"""Rows that lie on the workers of a cluster, block by block."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from simlabel._utils.rows import Columns, LazyRows, Stack, joined
from simlabel._utils.validation import Rows
from simlabel.sums.dask._connection import Client, ClusterError, DataLost, Future, collect, sent
from simlabel.sums.dask._tasks import call, look, merge_all, take, tree


class RemoteRows(LazyRows):
    """Blocks of rows on workers; the function goes to them, they do not come.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    blocks : list of Future
        Arrays or CSR matrices with the same columns.
    known : list of tuple, optional
        Rows, columns, dtype and sparseness of each block; asked for by default.
    """

    remote = True

    def __init__(self, client: Client, blocks: Sequence[Future], known: Sequence[Any] | None = None) -> None:
        self.client = client
        looks = gathered(client, client.map(look, list(blocks), pure=False)) if known is None else known
        there = [(block, each) for block, each in zip(blocks, looks, strict=True) if each[0]]
        self.blocks = [block for block, _ in there]
        self.known = [each for _, each in there]
        self.starts = [0, *np.cumsum([each[0] for each in self.known]).tolist()]
        _, width, self.dtype, self.sparse = there[0][1] if there else looks[0]
        self.shape = (int(self.starts[-1]), width)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            whole, columns = index
            if whole != slice(None):
                raise TypeError("Of rows on workers, columns are chosen for all rows: X[:, columns].")
            return self.mapped(Columns(columns))
        if not isinstance(index, slice):
            return self._taken(np.asarray(index))
        parts = [self.client.submit(take, block, rows, pure=False) for block, rows in self._touched(index)]
        return joined(gathered(self.client, parts)) if parts else self[0:1][0:0]

    def _touched(self, index: slice) -> Iterator[tuple[Future, slice]]:
        start, stop, _ = index.indices(len(self))
        for i in range(max(0, bisect_right(self.starts, start) - 1), len(self.blocks)):
            low, high = max(start, self.starts[i]), min(stop, self.starts[i + 1])
            if low >= stop:
                return
            yield self.blocks[i], slice(low - self.starts[i], high - self.starts[i])

    def _taken(self, rows: Any) -> Rows:
        of = np.searchsorted(self.starts, rows, side="right") - 1
        asked = np.unique(of).tolist()
        parts = [
            self.client.submit(take, self.blocks[i], rows[of == i] - self.starts[i], pure=False)
            for i in asked
        ]
        order = np.argsort(np.argsort(of, kind="stable"), kind="stable")
        return Stack(gathered(self.client, parts)).whole()[order]

    def part(self, rows: slice) -> RemoteRows:
        """Some of the rows; whole blocks are the same blocks."""
        touched = list(self._touched(rows))
        counts = {block.key: each[0] for block, each in zip(self.blocks, self.known, strict=True)}
        whole = all((at.start, at.stop) == (0, counts[block.key]) for block, at in touched)
        if whole:
            first = bisect_right(self.starts, rows.indices(len(self))[0]) - 1
            some = slice(first, first + len(touched))
            return RemoteRows(self.client, self.blocks[some], self.known[some])
        return RemoteRows(
            self.client, [self.client.submit(take, block, at, pure=False) for block, at in touched]
        )

    def taken(self, rows: Any) -> RemoteRows:
        """Rows of one block by their positions, left where they are."""
        if len(self.blocks) != 1:
            raise TypeError("Positions are taken from one block at a time.")
        return RemoteRows(
            self.client, [self.client.submit(take, self.blocks[0], np.asarray(rows), pure=False)]
        )

    def mapped(self, step: Callable[[Rows], Rows]) -> RemoteRows:
        """The rows as a function gives them, on the same workers."""
        return RemoteRows(self.client, self.client.map(step, self.blocks, pure=False))

    def cuts(self) -> Iterator[slice]:
        """Block by block."""
        return (slice(a, b) for a, b in zip(self.starts, self.starts[1:], strict=False))

    def asked(self, each: Callable[..., Any], *companions: Any) -> Callable[[], list[Any]]:
        """Send a function to every block, with its part of the companions."""
        asked, held = self._asked(each, companions)
        return lambda: gathered(self.client, asked, held)

    def folded(self, each: Callable[..., Any], merge: Callable[[Any, Any], Any], *companions: Any) -> Any:
        """Send a function to every block, and merge on the workers, in a tree."""
        asked, held = self._asked(each, companions)
        joined = tree(self.client, asked, merge_all, merge)
        return gathered(self.client, joined[-1:], [*held, *joined])[0]

    def _asked(self, each: Callable[..., Any], companions: Sequence[Any]) -> tuple[list[Future], list[Any]]:
        """What was asked, and what is to be held until the answers are there."""
        asked = []
        function = _beside(self.client, each)  # once, since it may hold a lot
        held = [function]
        for block, rows in zip(self.blocks, self.cuts(), strict=True):
            others = [_beside(self.client, other[rows]) for other in companions]
            held += others
            asked.append(self.client.submit(call, function, block, *others, pure=False))
        return asked, held

    def together(self, pieces: Sequence[Any]) -> Sequence[LazyRows]:
        """All of them as one, where all lie on the same cluster."""
        if not all(isinstance(piece, RemoteRows) and piece.client is self.client for piece in pieces):
            return pieces
        blocks = [block for piece in pieces for block in piece.blocks]
        return [RemoteRows(self.client, blocks, [each for piece in pieces for each in piece.known])]

    def __reduce__(self) -> Any:
        return np.array, (self[:],)


def _beside(client: Client, part: Any) -> Any:
    """What goes with a task: a few numbers in it, anything large beside it."""
    return part if isinstance(part, range) else sent(client, part)


def gathered(client: Client, futures: Sequence[Future], held: Sequence[Any] = ()) -> list[Any]:
    """The results of futures; what is lost is lost. What they need is held until they are there."""
    try:
        return collect(client, futures)
    except DataLost:
        raise ClusterError(
            "A worker has died with data that nobody else had; repeat, with what can be computed again."
        ) from None
