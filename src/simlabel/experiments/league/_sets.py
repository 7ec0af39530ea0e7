"""What is played on: sets of a folder, raw tables, and made ones; each with the protocol that suits it."""

from __future__ import annotations

import inspect
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import scipy.sparse as sp

from simlabel.datasets import Dataset, load_dataset
from simlabel.datasets._catalogue import (
    FOLDER,
    Files,
    data_folder,
    listed_sets,
    looks_like_path,
    parts_beside,
)
from simlabel.datasets._formats import find_format
from simlabel.datasets._lines import stem
from simlabel.datasets._parts import join_parts
from simlabel.experiments._protocols import FixedSplit, KFolds, Protocol, RandomSplits
from simlabel.experiments.league._leaks import identifiers, shared_rows
from simlabel.experiments.league._made import MADE
from simlabel.experiments.league._tables import KNOWN, KnownTable, other_tables, own_table

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


def league_sets(
    names: Sequence[str] | None = None,
    *,
    fixed: bool = False,
    folder: str | os.PathLike[str] | None = None,
    seed: int = 0,
    **options: Any,
) -> tuple[list[LeagueSet], list[str]]:
    """The sets of the league, and what was left out and why.

    Parameters
    ----------
    names : sequence of str, optional
        Only these; a path of a file is a set, too.
    fixed : bool
        Published training and test parts for all sets that have them, in place of folds.
    folder : path, optional
        A folder of files in any format that `load_dataset` reads; by default the one that ``SIMLABEL_DATA``
        names, with the raw tables that are known in it, and the sets that the project makes.
    seed : int
        Of the shuffles that folds and drawn splits come from.
    **options
        Of the reader, for files with a column of labels: ``label_column="tags"``, ``separator``,
        ``delimiter``. Of those that `read_table` reads, the ones with texts or empty cells are raw tables.
    """
    makers = _makers(folder, fixed, options)
    wanted = list(makers if names is None else dict.fromkeys(names))
    files = {name: Path(name) for name in wanted if name not in makers and Path(name).is_file()}
    for name, path in files.items():
        makers[name] = _reader(stem(path), [(None, path)], fixed, options)
    unknown = [name for name in wanted if name not in makers]
    if unknown:
        raise ValueError(_no_set(unknown[0], folder, makers))
    called = Counter(stem(files[name]) if name in files else name for name in wanted)
    for name in (name for name, count in called.items() if count > 1):
        raise ValueError(f"two of the sets are called {name!r}; give one of the files another name.")
    sets, left_out = [], []
    for name in wanted:
        try:
            sets.append(_shuffled(makers[name](), seed))
        except ValueError as error:  # malformed, or too few rows for folds: the others are played on
            left_out.append(f"{name}: {error}")
    return sets, left_out


def _makers(
    folder: str | os.PathLike[str] | None, fixed: bool, options: Mapping[str, Any]
) -> dict[str, Callable[[], LeagueSet]]:
    """How each set is made, by name."""
    makers: dict[str, Callable[[], LeagueSet]] = {}
    where = data_folder() if folder is None else Path(folder)
    if where is not None:
        listed = dict(listed_sets(where))
        if options.get("label_column") is not None:
            listed |= other_tables(where, listed)
        makers |= {name: _reader(name, files, fixed, options) for name, files in listed.items()}
        for name, table in KNOWN.items():
            path = where / "raw" / f"{name}.csv"
            if path.is_file():
                makers[name] = _table_reader(path, name, table)
    if folder is None:
        makers |= {name: _made_reader(name) for name in MADE}
    return makers


def _no_set(name: str, folder: object, there: Iterable[str]) -> str:
    if looks_like_path(name):
        return f"there is no file {name!r}."
    said = f"the league has no set {name!r}; there are {', '.join(there)}"
    if folder is None and data_folder() is None:
        return f"{said}. The environment variable {FOLDER}, which names the folder of other sets, is not set."
    return f"{said}."


def _reader(name: str, files: Files, fixed: bool, options: Mapping[str, Any]) -> Callable[[], LeagueSet]:
    def read() -> LeagueSet:
        chosen = (parts_beside(files[0][1]) if fixed and len(files) == 1 else None) or files
        table = own_table(name, chosen, options)
        if table is not None:
            data, what = table
        elif len(chosen) == 1:
            data, what = _loaded(chosen[0][1], options), ""
        else:
            data, what = join_parts([(part or 0, _loaded(path, options)) for part, path in chosen]), ""
        data = replace(data, name=name)
        kind: Kind = "raw table" if isinstance(data.X, pd.DataFrame) else _kind(data)
        return _described(data, kind, FixedSplit() if fixed and data.split is not None else None, what)

    return read


def _loaded(path: Path, options: Mapping[str, Any]) -> Dataset:
    """A file as a matrix, with those of the options that its format has."""
    taken = inspect.signature(find_format(path, None).read).parameters
    return load_dataset(path, **{key: value for key, value in options.items() if key in taken})


def _shuffled(one: LeagueSet, seed: int) -> LeagueSet:
    """The set on folds of another shuffle."""
    if seed == 0 or not isinstance(one.protocol, KFolds | RandomSplits):
        return one
    protocol = replace(one.protocol, seed=seed)
    return replace(one, protocol=protocol, warnings=tuple(_warnings(one.data, protocol)))


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


def _table_reader(path: Path, name: str, table: KnownTable) -> Callable[[], LeagueSet]:
    def read() -> LeagueSet:
        data, groups, what = table.read(path, name)
        return _described(data, "raw table", KFolds(5, stratified=True, groups=groups), what)

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
