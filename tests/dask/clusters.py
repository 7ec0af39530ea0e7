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
    """RBF of two blocks that takes its time."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, A, B):
        time.sleep(self.seconds)
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2))


class Held(Slow):
    """The same, but one worker is held until others have done their part; who computed is written down."""

    def __init__(self, worker, until, log):
        super().__init__(0.0)
        self.worker, self.until, self.log = worker, until, log
        log.touch()

    def __call__(self, A, B):
        name = get_worker().name
        while name == self.worker and len(self.log.read_text().split()) < self.until:
            time.sleep(0.05)
        with open(self.log, "a") as file:
            file.write(f"{name}\n")
        return super().__call__(A, B)


class Greedy:
    """A similarity that takes all memory there is."""

    def __call__(self, A, B):
        held = []
        while True:  # until the worker is killed for it
            if len(held) < 200:
                held.append(np.ones(10 << 17))  # 10 MiB
            time.sleep(0.01)
