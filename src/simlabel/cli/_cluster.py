"""A prediction on a Dask cluster: one that runs, or workers started here for the time being."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import typer

from simlabel.cli._console import say

_ROWS = 8192  # rows that go to the workers in one go: a task should compute longer than it travels


@contextmanager
def on_cluster(
    estimator: Any, cluster: str | None, workers: int | None, on_block: Callable[[int, int], None]
) -> Iterator[int | None]:
    """Spread a fitted model over a cluster, if one is wanted; gives how many rows to predict at a time."""
    if cluster is not None and workers is not None:
        raise typer.BadParameter("--cluster and --workers exclude each other.")
    if cluster is None and workers is None:
        yield None
        return
    from simlabel.sums.dask import DaskEngine, find_client, local_client

    with ExitStack() as stack:
        if workers is not None:
            client = stack.enter_context(local_client(workers))
        else:
            client = find_client(cluster)
            stack.callback(client.close)
        say(f"dashboard: {client.dashboard_link}")
        estimator.change_engine(DaskEngine(client, on_block=on_block))
        yield _ROWS
