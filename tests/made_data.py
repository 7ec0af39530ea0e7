"""Small made-up data sets."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel.datasets import Dataset


def make_data(name="made", rows=60, labels=4, seed=0, split=None, sparse=False):
    """Labels that features know something about, and a rare one."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 6))
    Y = (X[:, :labels] + 0.3 * rng.normal(size=(rows, labels)) > 0.2).astype(np.int8)
    Y[:, -1] = 0
    Y[: max(2, rows // 15), -1] = 1
    names = tuple(f"label {k}" for k in range(labels))
    X = sp.csr_array(np.where(X > 0, X, 0.0)) if sparse else X
    return Dataset(name, X, sp.csr_array(Y), names, tuple("abcdef"), split)
