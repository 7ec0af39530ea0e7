"""The client of a cluster: finding it, sending data, and waiting for results with a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

try:
    import distributed

    import dask
except ImportError as missing:  # pragma: no cover
    raise ImportError("simlabel.sums.dask runs on Dask: pip install 'simlabel[dask]'.") from missing

from simlabel._utils.limits import limits

Future = Any  # distributed has no types
Client = Any

PATIENCE = 30.0
#: environment of workers: Dask makes them return every freed block to the system at once, but blocks of
#: similarities are allocated and freed all the time
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 28}

_CLIENTS: dict[str, Client] = {}


class ClusterError(ConnectionError):
    """The cluster cannot continue: no scheduler, no workers, or a task that kills its workers."""


class WorkerDataLost(Exception):
    """Data were lost with their worker; their owner can send them again."""


def find_client(client: Any, patience: float = PATIENCE) -> Client:
    """Return a connected client: the one given, one for an address, or the current one."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ClusterError(
                "There is no Dask client: create one first, e.g. client = dask.distributed.Client(), or "
                "Client('tcp://scheduler:8786')."
            ) from None
    elif isinstance(client, str):
        client = _client_for(client, patience)
    if client.status in ("closed", "closing"):
        raise ClusterError("The Dask client is closed: create a new one and pass it to DaskEngine(client).")
    return client


def _client_for(address: str, patience: float) -> Client:
    known = _CLIENTS.get(address)
    if known is None or known.status != "running":
        try:
            known = distributed.Client(address, timeout=patience, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {address} within {patience:g} s: {error}"
            ) from None
        _CLIENTS[address] = known
    return known


@contextmanager
def local_client(n_workers: int) -> Iterator[Client]:
    """Yield a client of worker processes on this machine, one thread each, that end with the block."""
    environment = {**dask.config.get("distributed.nanny.pre-spawn-environ"), **KEEP_MEMORY}
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": environment}),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def thread_counts(client: Client, patience: float = PATIENCE) -> dict[str, int]:
    """Return the threads of each worker; wait for the first worker, at most `patience` seconds."""
    deadline = time.monotonic() + patience
    while True:
        try:
            threads = dict(client.nthreads()) if client.status == "running" else {}
        except (OSError, CancelledError, RuntimeError, TimeoutError):
            threads = {}
        if threads:
            return threads
        if client.status in ("closed", "closing"):
            raise ClusterError("The Dask client was closed during the computation.")
        if time.monotonic() > deadline:
            what = "there is no worker" if client.status == "running" else "the scheduler does not answer"
            raise ClusterError(f"For {patience:g} s {what}; the computation was given up: check the cluster.")
        time.sleep(limits().cluster_look_every)


def sent(client: Client, value: Any, worker: str | None = None) -> Future:
    """Send data that tasks will need to a worker, by default to any.

    Raises
    ------
    WorkerDataLost
        If the worker is gone before the data arrive.
    """
    try:
        workers = None if worker is None else [worker]
        return client.scatter([value], workers=workers, hash=False, direct=True)[0]
    except (OSError, TimeoutError, CancelledError):
        raise WorkerDataLost from None


def collect(
    client: Client,
    futures: Sequence[Future],
    patience: float = PATIENCE,
    watch: Callable[[], None] | None = None,
) -> list[Any]:
    """Return the results of futures, in order.

    Raises
    ------
    WorkerDataLost
        If a worker has died with data that cannot be computed again.
    ClusterError
        If a task kills its workers, or for `patience` seconds there is no scheduler or no worker.
    """
    seen = time.monotonic()
    try:
        while True:
            try:
                with client.as_current():
                    distributed.wait(futures, timeout=limits().cluster_look_every)
                break
            except TimeoutError:
                if watch is not None:
                    watch()
            if time.monotonic() - seen > patience:
                thread_counts(client, patience)
                seen = time.monotonic()
        return list(client.gather(list(futures)))
    except distributed.KilledWorker as error:
        raise ClusterError(
            f"A task was given up after it had killed its workers: {error} Most often they are out of "
            f"memory: give workers more (memory_limit), or use blocks of fewer rows."
        ) from None
    except (CancelledError, distributed.comm.core.CommClosedError):
        thread_counts(client, patience)
        raise WorkerDataLost from None


def tree(client: Client, parts: Sequence[Future], join: Callable[..., Any], how: Any) -> list[Future]:
    """Join futures on the workers by fours, the results by fours, and so on.

    Return all futures on the way, the last one is the result: a key that nobody holds may be dropped before
    the scheduler knows who needs it, so hold them until the result is there.
    """
    held, n = list(parts), limits().join_branches
    while len(parts) > 1:
        groups = [list(parts[i : i + n]) for i in range(0, len(parts), n)]
        parts = [
            client.submit(join, group, how, pure=False) if len(group) > 1 else group[0] for group in groups
        ]
        held += parts
    return held
