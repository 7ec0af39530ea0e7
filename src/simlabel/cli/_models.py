"""A model file and the rows it is asked about."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel import SMLClassifier, load
from simlabel.datasets import Dataset, FeatureChunks
from simlabel.datasets._dataset import Numbered
from simlabel.fitted import Outputs
from simlabel.inspection import Explanation
from simlabel.support.validation import Rows

BLOCK = 256  # rows that are predicted in one go, always: so that no figure depends on how a file is read

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class FittedModel:
    """A model from a file.

    Attributes
    ----------
    estimator : SMLClassifier
    features : tuple of str, or int
        Names of its features; only their number where it was fitted without names.
    labels : list of str
    """

    estimator: SMLClassifier
    features: Sequence[str] | int
    labels: list[str]

    @classmethod
    def open(cls, path: Path) -> FittedModel:
        """Read a model that `simlabel fit` or `save` wrote."""
        estimator = load(path)
        names = getattr(estimator, "feature_names_in_", None)
        features = int(estimator.n_features_in_) if names is None else tuple(map(str, names))
        return cls(estimator, features, [str(label) for label in estimator.classes_])

    def outputs(self, X: Rows) -> Outputs:
        """Label sets, label weights and probabilities."""
        return self._ask(self.estimator.outputs, X)

    def sets(self, outputs: Outputs) -> list[tuple[str, ...]]:
        """The names of the labels in each set, strongest first."""
        return [tuple(self.labels[k] for k in columns) for columns in outputs.columns]

    def explain(self, X: Rows, top: int) -> Explanation:
        """What decided."""
        return self._ask(partial(self.estimator.explain, top=top), X)

    def _ask(self, method: Callable[[Rows], Answer], X: Rows) -> Answer:
        with warnings.catch_warnings():
            # the columns were matched by name when the file was read
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return method(X)


def as_fitted(data: Dataset) -> tuple[Rows, list[set[str]]]:
    """X with the names of its columns, where it has any, and label sets by name."""
    names = list(data.label_names)
    bounds = zip(data.Y.indptr[:-1], data.Y.indptr[1:], strict=True)
    sets = [{names[k] for k in data.Y.indices[start:stop]} for start, stop in bounds]
    if isinstance(data.feature_names, Numbered):
        return data.X, sets
    columns = list(data.feature_names)
    if sp.issparse(data.X):
        sparse: Any = pd.DataFrame.sparse  # its types are missing
        return sparse.from_spmatrix(data.X, columns=columns), sets
    return pd.DataFrame(data.X, columns=columns), sets


def blocks(chunks: FeatureChunks, size: int | None = None) -> Iterator[Rows]:
    """The rows of a file in blocks of `size`, else `BLOCK`, however they were read."""
    size = size or BLOCK
    held: list[Rows] = []
    count = 0
    for chunk in chunks:
        held.append(chunk)
        count += chunk.shape[0]
        while count >= size:
            whole = stacked(held)
            yield whole[:size]
            held, count = [whole[size:]], count - size
    if count:
        yield stacked(held)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Rows of one kind as one block."""
    if len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)
