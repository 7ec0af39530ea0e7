"""What fit and predict are given, checked: rows in memory, on disk or on a cluster, objects, labels."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from simlabel._utils.rows import LazyRows, as_rows, check_lazy, is_collection, is_lazy
from simlabel._utils.validation import Rows, check_features, collected
from simlabel.similarities import Similarity
from simlabel.sums import Engine, is_objects
from simlabel.tables import Cells, table_cells

if TYPE_CHECKING:
    from distributed import Client


def on_cluster() -> ModuleType:
    """What computes with Dask, which is optional."""
    from simlabel.sums import dask as cluster

    return cluster


def client_of(engine: Engine | str | None) -> Client | None:
    """Of an engine on a cluster, the way to it."""
    return getattr(engine, "client", None)


def checked_rows(estimator: BaseEstimator, X: Any, *, reset: bool, client: Client | None = None) -> Rows:
    """Rows of features; the estimator gets their number and names, or is compared with them."""
    named = X = collected(X)
    if is_collection(X):
        named = getattr(X, "_meta", X) if hasattr(X, "columns") else X
        X = on_cluster().remote_rows(X, client)
    else:
        X = as_rows(X)
    if not isinstance(X, LazyRows):
        return check_features(estimator, X, reset=reset)
    validate_data(estimator, named, reset=reset, skip_check_array=True)  # names and number of features
    return check_lazy(X)


def checked_training_rows(
    estimator: BaseEstimator, X: Any, similarity: Similarity, client: Client | None
) -> Rows:
    """Rows of features, objects, or a square matrix, whichever the similarity compares."""
    X = collected(X)
    if is_objects(X, similarity):
        X = list(X)
        if not X:
            raise ValueError(
                "Found array with 0 sample(s): X is an empty list; at least one row is required."
            )
        return X
    if similarity.form != "precomputed":
        return checked_rows(estimator, X, reset=True, client=client)
    if is_lazy(X) or is_collection(X):
        raise TypeError("A precomputed matrix must be in memory: its columns are the references.")
    X = check_features(estimator, X, reset=True)
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"A precomputed matrix must be square in fit, (n_rows, n_rows); got shape {X.shape}."
        )
    return X


def checked_table(X: Any) -> Cells:
    """The cells of a table that has a row."""
    if is_collection(X) or is_lazy(X):
        raise TypeError("An encoder reads tables in memory; give it a frame, or parts of one after another.")
    cells = table_cells(X)
    if not cells.rows:
        raise ValueError("Found array with 0 sample(s): the table has no rows; at least one is required.")
    return cells


def labels_here(y: Any, client: Client | None) -> Any:
    """Labels that lie here; those of a Dask collection are fetched."""
    return on_cluster().labels_here(y, client) if is_collection(y) else y
