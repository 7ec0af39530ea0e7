"""Rows for the benchmarks: synthetic ones, and data sets and raw tables of the folder SIMLABEL_DATA."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from _shared.timing import Scale
from sklearn.preprocessing import normalize

from simlabel.datasets import Dataset, DatasetError, load_dataset

REFERENCES, QUERIES, FEATURES, LABELS = 40_960, 2_048, 103, 14


class Missing(Exception):
    """Raised by a benchmark that lacks what it needs."""


def shared(name: str, scale: Scale) -> Dataset:
    """Return a data set of the folder SIMLABEL_DATA; evenly spaced rows of it if the scale is small."""
    try:
        data = load_dataset(name)
    except DatasetError as error:
        raise Missing(f"it needs the data set {name!r}; SIMLABEL_DATA names the folder. {error}") from error
    some = np.linspace(0, data.n_rows - 1, scale.rows(data.n_rows)).astype(int)
    split = None if data.split is None else data.split[some]
    return replace(data, X=data.X[some], Y=data.Y[some], split=split)


def dense(data: Dataset) -> tuple[Any, Any]:
    """Return X and Y of a data set as dense arrays."""
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.Y.toarray(), dtype=int)


def raw_table(name: str, scale: Scale | None = None) -> pd.DataFrame:
    """Return a raw table of SIMLABEL_DATA with all cells as text; its first rows for a small scale."""
    path = Path(os.environ.get("SIMLABEL_DATA", "")) / "raw" / f"{name}.csv"
    if not path.exists():
        raise Missing(f"it needs raw/{name}.csv in the folder that SIMLABEL_DATA names.")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame if scale is None else frame.iloc[: scale.rows(len(frame))]


def sources(packages: pd.DataFrame) -> pd.Series:
    """Return the source of each Debian package: packages of one source are near duplicates."""
    return packages["source"].where(packages["source"] != "", packages["package"])


def whole_groups(groups: pd.Series, rows: int, seed: int) -> pd.Series:
    """Return which rows belong to randomly chosen groups that together have at most so many rows."""
    order = np.random.default_rng(seed).permutation(groups.unique())
    before = groups.value_counts().loc[order].cumsum()
    return groups.isin(before.index[before <= rows])


def unit_rows(n: int, n_features: int, seed: int, dtype: Any = np.float32) -> Any:
    """Return random directions."""
    return normalize(np.random.default_rng(seed).standard_normal((n, n_features), dtype=dtype), copy=False)


def label_rows(n: int, n_labels: int, per_row: float, seed: int = 2) -> Any:
    """Return random label sets as CSR, with `per_row` labels in a row on average."""
    rng = np.random.default_rng(seed)
    count = round(n * per_row)
    rows, columns = rng.integers(0, n, count), rng.integers(0, n_labels, count)
    Y = sp.csr_array((np.ones(count, dtype=np.int8), (rows, columns)), shape=(n, n_labels))
    Y.data[:] = 1
    return Y


def problem(
    scale: Scale,
    references: int = REFERENCES,
    queries: int = QUERIES,
    features: int = FEATURES,
    labels: int = LABELS,
    per_row: float = 4.2,
    dtype: Any = np.float32,
) -> tuple[Any, Any, Any]:
    """Return references X, their label sets Y and queries Q: unit rows, fewer if the scale is small."""
    X = unit_rows(scale.rows(references), features, 0, dtype)
    return X, label_rows(len(X), labels, per_row), unit_rows(scale.rows(queries), features, 1, dtype)
