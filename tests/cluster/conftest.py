"""A real cluster of processes, kept for all tests of a module."""

from __future__ import annotations

import os

import pytest

# worker processes are told where the tests' own simlabel is, and compute on one thread each
os.environ.setdefault("NUMBA_NUM_THREADS", "1")


def started(n_workers=2, **options):
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=None, **options
    )
    return Client(cluster, set_as_default=False), cluster


@pytest.fixture(scope="module")
def client():
    client, cluster = started()
    yield client
    client.close()
    cluster.close()
