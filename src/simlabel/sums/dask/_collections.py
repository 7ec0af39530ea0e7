"""Dask arrays and data frames as X and y."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlabel.labels import check_indicator_dense
from simlabel.sums.dask._connection import Client, Future, find_client
from simlabel.sums.dask._remote import RemoteRows, gathered
from simlabel.sums.dask._tasks import as_block


def remote_rows(X: Any, client: Any = None) -> RemoteRows:
    """A Dask array or data frame as rows that stay on the workers.

    Parameters
    ----------
    X : dask array or data frame, (n_rows, n_features)
        Blocks of rows; blocks of columns are put together.
    client : distributed.Client, str or None
        As in `DaskEngine`.
    """
    client = find_client(client)
    blocks = _blocks(X, client)  # held until the rows are there
    return RemoteRows(client, client.map(as_block, blocks, pure=False))


def labels_here(y: Any, client: Any = None) -> Any:
    """A Dask y as one that lies here: labels are small, and every stage looks at them.

    A 0/1 array or frame is checked where it is.
    """
    client = find_client(client)
    if len(y.shape) == 1 or (len(y.shape) == 2 and y.shape[1] == 1 and not hasattr(y, "columns")):
        return y.compute()
    frames = hasattr(y, "columns")
    blocks = _blocks(y, client)
    parts = gathered(client, client.map(_checked, blocks, frame=frames, pure=False), blocks)
    if not frames:
        return np.concatenate(parts)
    import pandas as pd

    return pd.concat(parts, ignore_index=True)


def _blocks(collection: Any, client: Client) -> list[Future]:
    """Futures of the blocks of rows."""
    if hasattr(collection, "columns"):
        delayed = collection.to_delayed()
    else:
        if len(collection.shape) != 2:
            raise ValueError(f"Expected a two-dimensional Dask array, got shape {collection.shape}.")
        delayed = collection.rechunk({1: -1}).to_delayed().ravel().tolist()
    return list(client.compute(list(delayed)))


def _checked(block: Any, frame: bool) -> Any:
    names = np.asarray(block.columns, dtype=object) if frame else None
    array = block.to_numpy() if frame else np.asarray(block)
    check_indicator_dense(array, names)
    return block
