"""What is played on: sets of a folder, raw tables, and made ones; each with the protocol that suits it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel.datasets import Dataset, DatasetError, load_dataset, read_table
from simlabel.datasets._catalogue import data_folder, listed_sets
from simlabel.datasets._dataset import PARTS, TEST, TRAIN
from simlabel.datasets._formats import find_format
from simlabel.datasets._parts import join_parts
from simlabel.experiments._protocols import FixedSplit, KFolds, Protocol, RandomSplits
from simlabel.experiments.league._leaks import identifiers, shared_rows
from simlabel.experiments.league._made import MADE

Kind = Literal["dense", "sparse", "many labels", "raw table", "made"]
_SMALL, _LARGE, _MANY = 1000, 5000, 100  # rows: 5 x 2 folds below, one split above; labels
_BEST_OF = ("average_precision", "ranking_loss", "hamming_loss")


@dataclass(frozen=True)
class LeagueSet:
    """A set of the league.

    Attributes
    ----------
    data : Dataset
        Of a raw table `X` is a frame.
    kind : str
    protocol : Protocol
    what : str
        What is special about it.
    warnings : tuple of str
        What makes its figures look better than they are.
    best : dict of str to float
        What a learner that knows the law would reach, where it is known.
    """

    data: Dataset
    kind: Kind
    protocol: Protocol
    what: str = ""
    warnings: tuple[str, ...] = ()
    best: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the data."""
        return self.data.name


@dataclass(frozen=True)
class _Table:
    """A raw table: where its labels are, what is no feature, which rows belong together, how many count."""

    labels: str
    separator: str
    dropped: tuple[str, ...]
    groups: str | None = None
    most: int | None = None


#: raw tables that are known by name
_TABLES = {
    "tv": _Table("genres", ", ", ("id",)),
    "debtags": _Table("tags", ";", (), "source", 3000),
}


def league_sets(
    names: Sequence[str] | None = None,
    *,
    fixed: bool = False,
    folder: str | os.PathLike[str] | None = None,
    **options: Any,
) -> tuple[list[LeagueSet], list[str]]:
    """The sets of the league, and what was left out and why.

    Parameters
    ----------
    names : sequence of str, optional
        Only these.
    fixed : bool
        Published training and test parts for all sets that have them, in place of folds.
    folder : path, optional
        A folder of files in any format that `load_dataset` reads; by default the one that ``SIMLABEL_DATA``
        names, with the raw tables that are known in it, and the sets that the project makes.
    **options
        Of the reader, for CSV files: ``label_column="tags"``.
    """
    makers: dict[str, Callable[[], LeagueSet]] = {}
    where = data_folder() if folder is None else Path(folder)
    if where is not None:
        makers |= {name: _reader(where, name, files, fixed, options) for name, files in listed_sets(where)}
        for name, table in _TABLES.items():
            path = where / "raw" / f"{name}.csv"
            if path.is_file():
                makers[name] = _table_reader(path, name, table)
    if folder is None:
        makers |= {name: _made_reader(name) for name in MADE}
    unknown = [name for name in names or () if name not in makers]
    if unknown:
        raise ValueError(f"the league has no set {unknown[0]!r}; there are {', '.join(makers)}.")
    sets, left_out = [], []
    for name in makers if names is None else names:
        try:
            sets.append(makers[name]())
        except DatasetError as error:
            left_out.append(f"{name}: {error}")
    return sets, left_out


def _reader(
    folder: Path, name: str, files: list[tuple[int | None, Path]], fixed: bool, options: Mapping[str, Any]
) -> Callable[[], LeagueSet]:
    def read() -> LeagueSet:
        chosen = _published_parts(folder, name) if fixed or len(files) > 1 else None
        if chosen is None:
            path = files[0][1]
            taken = inspect.signature(find_format(path, None).read).parameters
            own = {key: value for key, value in options.items() if key in taken}
            data = replace(load_dataset(path, **own), name=name)
        else:
            loaded = [(part, load_dataset(path)) for part, path in chosen]
            data = replace(join_parts(loaded), name=name)
        return _described(data, _kind(data), FixedSplit() if fixed and data.split is not None else None)

    return read


def _published_parts(folder: Path, name: str) -> list[tuple[int, Path]] | None:
    """The files of the training and test parts, where both are there."""
    found = {}
    for path in sorted(folder.iterdir()):
        for word, part in PARTS.items():
            if path.name.startswith(f"{name}-{word}."):
                found[part] = path
    return sorted(found.items()) if {TRAIN, TEST} <= set(found) else None


def _kind(data: Dataset) -> Kind:
    if data.n_labels >= _MANY:
        return "many labels"
    return "sparse" if sp.issparse(data.X) else "dense"


def _protocol(data: Dataset, groups: Any = None) -> Protocol:
    """Ten folds; twice five of small sets; of large ones their own split, or one that is drawn."""
    if data.n_rows > _LARGE:
        return FixedSplit() if data.split is not None else RandomSplits(0.25)
    small = data.n_rows < _SMALL
    return KFolds(5 if small else 10, 2 if small else 1, stratified=True, groups=groups)


def _described(
    data: Dataset, kind: Kind, protocol: Protocol | None = None, what: str = "", groups: Any = None
) -> LeagueSet:
    chosen = _protocol(data, groups) if protocol is None else protocol
    return LeagueSet(data, kind, chosen, what, tuple(_warnings(data, chosen)))


def _warnings(data: Dataset, protocol: Protocol) -> list[str]:
    first = protocol.splits(data)[0]
    shared, found = shared_rows(data, first), identifiers(data)
    said = f"{shared:,} of {len(first.test):,} test rows ({first.name}) are equal to a training row"
    return [said] * bool(shared) + ([found] if found else [])


def _table_reader(path: Path, name: str, table: _Table) -> Callable[[], LeagueSet]:
    def read() -> LeagueSet:
        frame = read_table(path).frame.fillna("").astype(str)
        groups = None
        if table.groups is not None:
            own = frame[table.groups]
            groups = own.where(own != "", frame.iloc[:, 0])
            if table.most is not None:
                order = np.random.default_rng(0).permutation(groups.unique())
                before = groups.value_counts().loc[order].cumsum()
                frame = frame[groups.isin(before.index[before <= table.most])]
                groups = groups[frame.index]
        lists = [[one for one in cell.split(table.separator) if one] for cell in frame[table.labels]]
        labels = sorted({one for row in lists for one in row})
        place = {one: k for k, one in enumerate(labels)}
        pairs = [(i, place[one]) for i, row in enumerate(lists) for one in row]
        Y = sp.csr_array(
            (np.ones(len(pairs), dtype=np.int8), tuple(zip(*pairs, strict=True))),
            shape=(len(frame), len(labels)),
        )
        gone = [table.labels, *table.dropped, *([table.groups] if table.groups else [])]
        X = frame.drop(columns=gone).reset_index(drop=True)
        data = Dataset(name, X, Y, tuple(labels), tuple(X.columns), source=str(path))
        part = f"; {len(frame):,} rows of whole groups" if table.most is not None else ""
        folds = KFolds(5, stratified=True, groups=None if groups is None else groups.tolist())
        kept = "" if groups is None else f", rows of one {table.groups} stay together"
        return _described(data, "raw table", folds, f"text and lists in cells{kept}{part}")

    return read


def _made_reader(name: str) -> Callable[[], LeagueSet]:
    def read() -> LeagueSet:
        made = MADE[name]()
        protocol = None if made.data.split is None else FixedSplit()
        found = _described(made.data, "made", protocol, made.what)
        best = {criterion: made.best(criterion) for criterion in _BEST_OF}
        return replace(found, best=best)

    return read


def n_columns(data: Dataset) -> int:
    """How wide the rows are, for estimates of time; of a table as many as its words bring about."""
    return 300 if isinstance(data.X, pd.DataFrame) else min(data.X.shape[1], _stored(data))


def _stored(data: Dataset) -> int:
    """Entries in a row that are stored."""
    return max(1, round(data.X.nnz / data.n_rows)) if sp.issparse(data.X) else int(data.X.shape[1])
