"""References spread over workers: each shard is made there once, and again where it was lost."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from simlabel.cluster._connection import Client, Future, sent, thread_counts
from simlabel.cluster._remote import RemoteRows
from simlabel.cluster._tasks import build
from simlabel.engines import Job, Prepared, cut_jobs, shard_rows
from simlabel.rows import LazyRows, n_rows, pieces
from simlabel.support.limits import limits
from simlabel.support.validation import Rows

_LOST = ("cancelled", "lost", "error")


class Sent:
    """Blocks of arrays that workers have already, as long as the arrays are alive."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Any, Future]] = {}

    def block(self, client: Client, whole: Rows, part: slice, worker: str) -> Future:
        """The rows `part` of an array, on some worker; sent unless one has them."""
        key = (id(whole), part.start, part.stop)
        known = self._known.get(key)
        if known is not None and known[0]() is whole and known[1].status not in _LOST:
            return known[1]
        block = sent(client, whole[part], worker)
        if not isinstance(whole, list):  # which cannot be watched
            self._known[key] = weakref.ref(whole, lambda _: self._known.pop(key, None)), block
        return block


class Spread:
    """Shards of the references on workers.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    prepared, jobs
        What is to be reduced.
    known : Sent
        What workers have already.
    patience : float
        Seconds to wait for a first worker.
    """

    def __init__(
        self, client: Client, prepared: Prepared, jobs: Sequence[Job], known: Sent, patience: float
    ) -> None:
        self.client, self.prepared, self.jobs, self.known = client, prepared, tuple(jobs), known
        self.patience = patience
        threads = sum(thread_counts(client, patience).values())
        self.rows = list(_cut(prepared.X, threads))
        self._shards: list[Future | None] = [None] * len(self.rows)
        self._beside: list[Any] = [None] * len(self.rows)

    def is_for(self, client: Client, prepared: Prepared, jobs: Sequence[Job]) -> bool:
        """Whether these are the shards that a reduction wants."""
        same = len(jobs) == len(self.jobs) and all(a is b for a, b in zip(jobs, self.jobs, strict=True))
        return same and self.client is client and self.prepared is prepared

    def shards(self) -> list[Future]:
        """All shards; those that are not there, or no longer, are made."""
        workers: list[str] = []
        for i, shard in enumerate(self._shards):
            if shard is None or shard.status in _LOST:
                workers = workers or sorted(thread_counts(self.client, self.patience))
                self._shards[i] = self._made(i, workers[i % len(workers)])
        return list(self._shards)

    def _made(self, i: int, worker: str) -> Future:
        rows, dtype = self.rows[i], self.prepared.dtype
        cut = cut_jobs(self.jobs, rows)
        jobs = sent(self.client, cut, worker)
        X = self._block(rows, worker)
        self._beside[i] = (jobs, X)  # kept: a shard that is lost may be made again from them
        return self.client.submit(build, X, jobs, rows, dtype, pure=False)

    def _block(self, rows: slice, worker: str) -> Any:
        """A block as a task takes it: on a worker already, read by the worker, or sent to it."""
        at = 0
        for piece in pieces(self.prepared.X):
            n = n_rows(piece)
            if rows.start < at + n:
                part = slice(rows.start - at, rows.stop - at)
                if isinstance(piece, RemoteRows):
                    return piece.part(part).blocks[0]
                if isinstance(piece, LazyRows):
                    return piece.part(part)
                return self.known.block(self.client, piece, part, worker)
            at += n
        raise IndexError(f"There are no rows {rows}.")

    def __reduce__(self) -> Any:
        return _nothing, ()  # a connection is not part of a model's state


def _nothing() -> None:
    return None


def _cut(X: Rows, threads: int) -> Iterator[slice]:
    """Shards: blocks that lie on workers as they are, others evenly for all threads."""
    n = sum(n_rows(piece) for piece in pieces(X))
    largest = max(limits().fewest_shard_rows, -(-n // (limits().shards_per_thread * max(1, threads))))
    at = 0
    for piece in pieces(X):
        cuts = piece.cuts() if isinstance(piece, RemoteRows) else shard_rows(piece, largest)
        for part in cuts:
            yield slice(at + part.start, at + part.stop)
        at += n_rows(piece)
