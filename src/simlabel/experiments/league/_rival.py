"""A contestant: how it is made, what it chooses from, what it is meant for, what it costs."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from simlabel.datasets import Dataset
from simlabel.experiments._algorithms import Algorithm
from simlabel.experiments._preparing import AsFrame, Dense, ScaledColumns, Words
from simlabel.experiments._searched import Searched
from simlabel.support.text import one_line

_MANY = 100  # labels
_BY_HAND = {
    "mlrl": "pip install --no-deps mlrl-boomer mlrl-common mlrl-util (newer versions than it asks for do)"
}
_IMPORTED = {"mlrl": "mlrl.boosting"}  # packages of which not the first name is what a rival needs
_WIDE, _LONG = 300, 7000  # columns and rows up to which Tagger gets a matrix as a table
_DENSE = 1 << 30  # bytes of labels that are no longer handed to who takes them dense alone
Grid = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Rival:
    """A contestant of the league.

    Attributes
    ----------
    name, title, what : str
    make : callable
        The estimator for a seed.
    grid : sequence of dict
        What is searched inside the training rows; None for who chooses by itself.
    before : "scaled", "dense" or None
        What matrices go through first.
    package : str or None
        What must be installed.
    cost : (float, float, float, float)
        Processor seconds of a fold of yeast (2,175 rows, 103 columns, 14 labels), and the powers of rows,
        columns and labels by which they grow: for the choice of what fits in a budget.
    for_tables, for_many : bool
        Whether it plays on raw tables (by their words), and only where labels are many.
    sparse_labels : bool
    """

    name: str
    title: str
    what: str
    make: Callable[[int], Any]
    grid: Grid | None = ({},)
    before: str | None = None
    package: str | None = None
    cost: tuple[float, float, float, float] = (5.0, 1.0, 1.0, 1.0)
    for_tables: bool = True
    for_many: bool = False
    sparse_labels: bool = False

    @property
    def absent(self) -> str | None:
        """Why it cannot play here; None if it can."""
        return None if self.package is None else _why_absent(self.package)

    def sits_out(self, data: Dataset) -> str | None:
        """Why it is not meant for a set; None if it is."""
        table = isinstance(data.X, pd.DataFrame)
        if table and not self.for_tables:
            return "not meant for raw tables"
        if self.for_many and data.n_labels < _MANY:
            return f"meant for {_MANY} labels and more"
        dense = 8 * data.n_rows * data.n_labels
        if not self.sparse_labels and dense > _DENSE:
            return f"takes labels as a dense matrix alone, which would have {dense / (1 << 30):.1f} GiB"
        if (
            self.name == "tagger"
            and not table
            and (sp.issparse(data.X) or max(data.X.shape[1] / _WIDE, data.n_rows / _LONG) > 1)
        ):
            return f"meant for tables, or dense sets of up to {_WIDE} columns and {_LONG:,} rows"
        return None

    def algorithm(self, data: Dataset, seed: int) -> Algorithm:
        """As it plays on a set."""
        estimator, table = self.make(seed), isinstance(data.X, pd.DataFrame)
        if self.name == "tagger":
            return Algorithm(self.name, self.title, estimator if table else AsFrame(estimator), True)
        first = Words() if table else {"scaled": ScaledColumns(), "dense": Dense(), None: None}[self.before]
        steps = [] if first is None else [("first", first)]
        if table and self.before == "dense":
            steps.append(("dense", Dense()))
        prefix = "rival__" if steps else ""
        whole = Pipeline([*steps, ("rival", estimator)]) if steps else estimator
        if self.grid is None:
            return Algorithm(self.name, self.title, whole, self.sparse_labels)
        grid = [{f"{prefix}{key}": value for key, value in one.items()} for one in self.grid]
        return Algorithm(
            self.name, self.title, Searched(whole, grid, sparse_labels=self.sparse_labels, seed=seed), True
        )

    def seconds(self, n_rows: int, n_columns: int, n_labels: int) -> float:
        """Processor seconds that a fold is expected to take."""
        own, rows, columns, labels = self.cost
        return own * (n_rows / 2175) ** rows * (n_columns / 103) ** columns * (n_labels / 14) ** labels


@functools.cache
def _why_absent(package: str) -> str | None:
    """Why a package cannot be used; None if it can: being there does not mean that it can be loaded."""
    name = package.replace("-", "_")
    how = _BY_HAND.get(package, "pip install 'simlabel[league]'")
    if importlib.util.find_spec(name) is None:
        return f"{package} is not installed: {how}"
    try:
        importlib.import_module(_IMPORTED.get(package, name))
    except Exception as error:  # a library that is missing, another version of numpy: anything
        said = one_line(f"{type(error).__name__}: {error}")
        return f"{package} is installed, but cannot be imported ({said}); install it anew: {how}"
    return None
