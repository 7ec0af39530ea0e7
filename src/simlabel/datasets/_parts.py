"""A set that comes as training and test parts -> one set with its split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError

Places = npt.NDArray[np.int32] | None  # of the columns of a part among all; None where they are the same


def join_parts(parts: Sequence[tuple[int, Dataset]]) -> Dataset:
    """Stack parts, each with its number in the split.

    Columns that have only numbers for names may be fewer in one part than in the other, since a file that
    lists what is there does not say what is not.
    """
    datasets = [dataset for _, dataset in parts]
    first = datasets[0]
    sources = ", ".join(dataset.source for dataset in datasets)
    feature_names, in_features = _union([part.feature_names for part in datasets], "features", sources)
    label_names, in_labels = _union([part.label_names for part in datasets], "labels", sources)
    X = [_spread(part.X, places, feature_names) for part, places in zip(datasets, in_features, strict=True)]
    Y = [_spread(part.Y, places, label_names) for part, places in zip(datasets, in_labels, strict=True)]
    sizes = [part.n_rows for part in datasets]
    is_sparse = any(sp.issparse(part) for part in X)
    return replace(
        first,
        X=sp.csr_array(sp.vstack(X, format="csr")) if is_sparse else np.vstack(X),
        Y=sp.csr_array(sp.vstack(Y, format="csr")),
        label_names=label_names,
        feature_names=feature_names,
        split=np.repeat(np.array([part for part, _ in parts], dtype=np.int8), sizes),
        n_attributes=max(dataset.n_attributes for dataset in datasets),
        source=sources,
    )


def _union(names: list[Sequence[str]], what: str, sources: str) -> tuple[Sequence[str], list[Places]]:
    """All names, and for each part the places of its own among them; None where they are the same."""
    longest = max(names, key=len)
    if all(own == longest for own in names):
        return longest, [None] * len(names)
    if not all(name.isdecimal() for own in names for name in own):
        own, other = names[0], next(own for own in names if own != names[0])
        differing = sorted(set(own) ^ set(other)) or ["(their order)"]
        raise DatasetError(f"expected the same {what} in all parts; they differ in {differing[:5]}", sources)
    union = sorted({name for own in names for name in own}, key=int)
    place = {name: k for k, name in enumerate(union)}
    return tuple(union), [np.array([place[name] for name in own], dtype=np.int32) for own in names]


def _spread(matrix: Rows, places: Places, names: Sequence[str]) -> Rows:
    if places is None:
        return matrix
    matrix = sp.csr_array(matrix)
    shape = (matrix.shape[0], len(names))
    return sp.csr_array((matrix.data, places[matrix.indices], matrix.indptr), shape=shape)
