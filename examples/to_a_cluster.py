"""From a local model to a cluster in three lines: the same answers from worker processes.

Give the address of a Dask scheduler, or nothing for two workers on this machine.
"""

from __future__ import annotations

import sys

import numpy as np
from dask.distributed import Client, LocalCluster

from simlabel import SMLClassifier
from simlabel.cluster import DaskEngine


def main(address: str | None) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype(np.float32)
    y = [{name for name, value in zip("abcd", row, strict=False) if value > 0.5} for row in X]
    queries = rng.normal(size=(1_000, 20)).astype(np.float32)
    model = SMLClassifier(random_state=0).fit(X, y)
    here = model.predict(queries)

    where = address or LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with Client(where) as client:  # one
        model.change_engine(DaskEngine(client))  # two
        there = model.predict(queries)  # three
        print(model.plan(queries))
        print(f"dashboard: {client.dashboard_link}")
    print(f"the same answers: {here == there}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
