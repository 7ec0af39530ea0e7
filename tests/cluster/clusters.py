"""Clusters for tests: worker processes with one thread each."""

from __future__ import annotations

import time

import numpy as np
from dask.distributed import Client, LocalCluster, get_worker


def started(n_workers=2, **options):
    """A client and its cluster."""
    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0", **options
    )
    return Client(cluster, set_as_default=False), cluster


class Slow:
    """RBF of two blocks that takes its time, told for each worker, and writes down who computed."""

    def __init__(self, seconds, log=None):
        self.seconds, self.log = seconds, log

    def __call__(self, A, B):
        name = get_worker().name
        time.sleep(self.seconds.get(name, self.seconds[None]))
        if self.log is not None:
            with open(self.log, "a") as file:
                file.write(f"{name}\n")
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


class Greedy:
    """A similarity that takes all memory there is."""

    def __call__(self, A, B):
        held = []
        for _ in range(200):
            held.append(np.ones(10 << 17))  # 10 MiB
            time.sleep(0.01)
        time.sleep(20)
        return np.zeros((len(A), len(B)))
