"""The data sets of the benchmark and their protocols: SIMLABEL_DATA, raw tables, synthetic sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from _shared.data import whole_groups
from sklearn.preprocessing import MultiLabelBinarizer

from league.leaks import identifiers, shared_rows
from league.synthetic import SYNTHETIC
from simlabel.datasets import Dataset, data_folder, listed_sets, load_dataset, read_table
from simlabel.experiments import FixedSplit, KFolds, Protocol, RandomSplits

SMALL, LARGE, MANY = 1000, 5000, 100  # rows: repeated folds below, one split above; labels
_BEST_OF = ("average_precision", "ranking_loss", "hamming_loss")


@dataclass(frozen=True)
class BenchmarkSet:
    """A data set with its protocol.

    Attributes
    ----------
    data : Dataset
        `X` of a raw table is a data frame.
    kind : str
        "dense", "sparse", "many labels", "raw table" or "synthetic".
    protocol : Protocol
    note : str
    best : dict of str to float
        The results of the true probabilities, where they are known.
    """

    data: Dataset
    kind: str
    protocol: Protocol
    note: str = ""
    best: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the data."""
        return self.data.name

    @cached_property
    def ratio(self) -> float:
        """Number of test rows for each training row."""
        first = self.protocol.splits(self.data)[0]
        return len(first.test) / len(first.train)

    def warnings(self) -> list[str]:
        """Describe what makes results on this set look better than they are."""
        first = self.protocol.splits(self.data)[0]
        shared, found = shared_rows(self.data, first), identifiers(self.data)
        said = f"{shared:,} of {len(first.test):,} test rows ({first.name}) are equal to a training row"
        return [said] * bool(shared) + ([found] if found else [])


@dataclass(frozen=True)
class RawTable:
    """A raw table: its label column, other columns that are no features, and its groups of rows."""

    labels: str
    separator: str
    dropped: tuple[str, ...] = ()
    groups: str | None = None
    most: int | None = None

    def read(self, path: Path) -> BenchmarkSet:
        """Read the table, with at most `most` rows in whole groups."""
        frame = read_table(path).frame.fillna("").astype(str)
        groups: pd.Series | None = None
        if self.groups is not None:
            own = frame[self.groups]
            groups = own.where(own != "", frame.iloc[:, 0])
            if self.most is not None:
                some = whole_groups(groups, self.most, 0)
                frame, groups = frame[some], groups[some]
        lists = [[one for one in cell.split(self.separator) if one] for cell in frame[self.labels]]
        dropped = [self.labels, *self.dropped, *([self.groups] if self.groups else [])]
        X = frame.drop(columns=dropped).reset_index(drop=True)
        binarizer = MultiLabelBinarizer(sparse_output=True)
        Y = sp.csr_array(binarizer.fit_transform(lists), dtype=np.int8)
        columns = tuple(map(str, X.columns))
        data = Dataset(path.stem, X, Y, tuple(binarizer.classes_.tolist()), columns, source=str(path))
        note = "text and lists in cells" + f"; rows of one {self.groups} stay together" * (groups is not None)
        known = None if groups is None else groups.tolist()
        return BenchmarkSet(data, "raw table", KFolds(5, stratified=True, groups=known), note)


RAW_TABLES = {
    "tv": RawTable("genres", ", ", ("id",)),
    "debtags": RawTable("tags", ";", (), "source", 3000),
}


def _matrix(name: str) -> BenchmarkSet:
    data = load_dataset(name)
    kind = "many labels" if data.n_labels >= MANY else "sparse" if sp.issparse(data.X) else "dense"
    return BenchmarkSet(data, kind, protocol_of(data))


def _synthetic(name: str) -> BenchmarkSet:
    created = SYNTHETIC[name]()
    protocol = protocol_of(created.data) if created.data.split is None else FixedSplit()
    best = {criterion: created.best(criterion) for criterion in _BEST_OF}
    return BenchmarkSet(created.data, "synthetic", protocol, created.note, best)


def protocol_of(data: Dataset) -> Protocol:
    """Return ten folds; twice five of small sets; of large sets their own split, or one random split."""
    if data.n_rows > LARGE:
        return FixedSplit() if data.split is not None else RandomSplits(0.25)
    small = data.n_rows < SMALL
    return KFolds(5 if small else 10, 2 if small else 1, stratified=True)


def available() -> dict[str, Callable[[], BenchmarkSet]]:
    """Return a reader for each data set by name: files of SIMLABEL_DATA, raw tables, synthetic sets."""
    readers: dict[str, Any] = {}
    folder = data_folder()
    if folder is not None:
        readers |= {name: partial(_matrix, name) for name in dict(listed_sets(folder))}
        paths = {name: folder / "raw" / f"{name}.csv" for name in RAW_TABLES}
        readers |= {name: partial(RAW_TABLES[name].read, p) for name, p in paths.items() if p.is_file()}
    return readers | {name: partial(_synthetic, name) for name in SYNTHETIC}
