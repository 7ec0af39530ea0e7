"""Made-up rows of the shapes that the benchmarks are about."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import normalize

from simlabel.datasets import Dataset, DatasetError, load_dataset


class Missing(Exception):
    """Raised by a part that lacks what it needs."""


def shared(name: str) -> Dataset:
    """A data set of the folder SIMLABEL_DATA."""
    try:
        return load_dataset(name)
    except DatasetError as error:
        raise Missing(f"it needs the data set {name!r}; SIMLABEL_DATA names the folder. {error}") from error


REFERENCES, QUERIES = 40_960, 2_048


def unit_rows(n: int, n_features: int, seed: int, dtype: Any = np.float32) -> Any:
    """Random directions."""
    rng = np.random.default_rng(seed)
    return normalize(rng.standard_normal((n, n_features))).astype(dtype)


def label_rows(n: int, n_labels: int, per_row: float, seed: int = 2) -> Any:
    """Label sets as CSR, so many labels in a row on average, drawn one by one."""
    rng = np.random.default_rng(seed)
    count = round(n * per_row)
    rows, columns = rng.integers(0, n, count), rng.integers(0, n_labels, count)
    Y = sp.csr_array((np.ones(count, dtype=np.int8), (rows, columns)), shape=(n, n_labels))
    Y.data[:] = 1
    return Y
