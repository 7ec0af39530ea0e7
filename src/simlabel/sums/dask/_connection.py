"""The client of a cluster, and waiting for it without waiting forever."""

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
#: what workers should have in their environment: Dask has them give every freed block back to the system
#: at once, and blocks of similarities are taken and freed all the time
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 28}

_CLIENTS: dict[str, Client] = {}


class ClusterError(ConnectionError):
    """A cluster that cannot go on: no scheduler, no workers, or workers that die of a task."""


class DataLost(Exception):
    """What a worker held is gone with it; who has it can send it again."""


def find_client(client: Any, patience: float = PATIENCE) -> Client:
    """A client that is connected: the one given, one for an address, or the current one."""
    if client is None:
        try:
            client = distributed.default_client()
        except ValueError:
            raise ClusterError(
                "There is no Dask client: make one first, e.g. client = dask.distributed.Client(), or "
                "Client('tcp://scheduler:8786')."
            ) from None
    elif isinstance(client, str):
        client = _client_for(client, patience)
    if client.status in ("closed", "closing"):
        raise ClusterError("The Dask client is closed; make a new one and give it to DaskEngine(client).")
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


def _environment() -> dict[str, Any]:
    return dict(dask.config.get("distributed.nanny.pre-spawn-environ"))


@contextmanager
def local_client(n_workers: int) -> Iterator[Client]:
    """A client of worker processes on this machine, one thread each, that end with the block."""
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": {**_environment(), **KEEP_MEMORY}}),
        distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def thread_counts(client: Client, patience: float = PATIENCE) -> dict[str, int]:
    """Threads of each worker; waits for the first worker, but not for long."""
    deadline = time.monotonic() + patience
    while True:
        threads = _asked(client)
        if threads:
            return threads
        if client.status in ("closed", "closing"):
            raise ClusterError("The Dask client was closed in the middle of the work.")
        if time.monotonic() > deadline:
            what = "no worker has come" if client.status == "running" else "the scheduler does not answer"
            raise ClusterError(f"For {patience:g} s {what}; the work was given up. Look after the cluster.")
        time.sleep(limits().cluster_look_every)


def _asked(client: Client) -> dict[str, int]:
    """Threads of each worker, none while the scheduler is not there."""
    if client.status != "running":
        return {}
    try:
        return dict(client.nthreads())
    except (OSError, CancelledError, RuntimeError, TimeoutError):
        return {}


def sent(client: Client, value: Any, worker: str | None = None) -> Future:
    """Something that tasks will need, on a worker; on whichever where none is named.

    Raises
    ------
    DataLost
        Where the worker is gone before it has come.
    """
    try:
        workers = None if worker is None else [worker]
        return client.scatter([value], workers=workers, hash=False, direct=True)[0]
    except (OSError, TimeoutError, CancelledError):
        raise DataLost from None


def collect(
    client: Client,
    futures: Sequence[Future],
    patience: float = PATIENCE,
    watch: Callable[[], None] | None = None,
) -> list[Any]:
    """The results of futures, in order.

    Raises
    ------
    DataLost
        Where a worker has died with data that nobody can compute again.
    ClusterError
        Where a task kills its workers, or for `patience` seconds there is no scheduler or no worker.
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
            f"A task was given up after its workers had died of it: {error} Most often they were out of "
            f"memory: give workers more (memory_limit), or blocks of fewer rows."
        ) from None
    except (CancelledError, distributed.comm.core.CommClosedError):
        thread_counts(client, patience)
        raise DataLost from None
