"""Raw tables of the league: files with texts, lists or empty cells, and a column that holds the labels."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel.datasets import TABLE_FORMATS, Dataset, DatasetError, read_table, table_chunks
from simlabel.datasets._catalogue import Files, sets_in
from simlabel.datasets._features import finite_number
from simlabel.datasets._formats import detect_format
from simlabel.datasets._lines import set_name
from simlabel.datasets.tables._formats import find_table_format
from simlabel.tables import Cell, separator_for, split, table_cells

_ENDINGS = (".csv", ".tsv", ".xlsx", ".json", ".jsonl", ".ndjson", ".parquet")
_ROWS = 1000  # that are looked at in one go
_BETWEEN = "|"  # items of a list, in a cell of text: the separator that is looked for first


@dataclass(frozen=True)
class KnownTable:
    """A raw table that is known: where its labels are, what is no feature, which rows belong together."""

    labels: str
    separator: str
    dropped: tuple[str, ...]
    groups: str | None = None
    most: int | None = None

    def read(self, path: Path, name: str) -> tuple[Dataset, list[str] | None, str]:
        """The set, the group of each row, and what is special about it; of many rows, some whole groups."""
        frame = read_table(path).frame.fillna("").astype(str)
        groups = None
        if self.groups is not None:
            own = frame[self.groups]
            groups = own.where(own != "", frame.iloc[:, 0])
            if self.most is not None:
                order = np.random.default_rng(0).permutation(groups.unique())
                before = groups.value_counts().loc[order].cumsum()
                frame = frame[groups.isin(before.index[before <= self.most])]
                groups = groups[frame.index]
        lists = [[one for one in cell.split(self.separator) if one] for cell in frame[self.labels]]
        gone = [self.labels, *self.dropped, *([self.groups] if self.groups else [])]
        X = frame.drop(columns=gone).reset_index(drop=True)
        kept = "" if groups is None else f", rows of one {self.groups} stay together"
        part = f"; {len(frame):,} rows of whole groups" if self.most is not None else ""
        found = None if groups is None else groups.tolist()
        return (
            _dataset(name, X, lists, str(path), tuple(X.columns)),
            found,
            f"text and lists in cells{kept}{part}",
        )


#: raw tables that are known by name
KNOWN = {
    "tv": KnownTable("genres", ", ", ("id",)),
    "debtags": KnownTable("tags", ";", (), "source", 3000),
}


def other_tables(folder: Path, listed: Collection[str]) -> dict[str, Files]:
    """Tables of a folder by name, beside the sets that are listed already."""
    sets = sets_in(folder, _has_ending)
    names = {name: set_name(files[0][1]) for name, files in sets.items()}
    return {
        name: files
        for name, files in sets.items()
        if not {name, names[name]} & set(listed) and (name == names[name] or names[name] not in sets)
    }


def _has_ending(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith(_ENDINGS)


def own_table(name: str, files: Files, options: Mapping[str, Any]) -> tuple[Dataset, str] | None:
    """A user's table with a column of labels, and what is special about it; None for what is no such table.

    Parameters
    ----------
    name : str
    files : sequence of (int or None, Path)
        The parts of the set, or the one file.
    options : dict
        ``label_column``, without which nothing is a table; ``separator`` between labels, by default found
        out; ``delimiter`` of CSV files.

    Returns
    -------
    (Dataset, str) or None
        `X` is a frame of texts. Where all cells are numbers it is a matrix, and of a file that `load_dataset`
        reads too it is left to that.

    Raises
    ------
    DatasetError
        If the column of labels is not there or empty, or a file cannot be read.
    """
    column = options.get("label_column")
    if column is None or not all(_is_table(path) for _, path in files):
        return None
    raw = any(_holds_more_than_numbers(path, column, options) for _, path in files)
    if not raw and all(_load_reads(path) for _, path in files):
        return None
    tables = [read_table(path, **_reading(path, options)) for _, path in files]
    frame = pd.concat([table.frame for table in tables], ignore_index=True)
    source = ", ".join(str(path) for _, path in files)
    lists = _labels(frame.pop(column), options.get("separator") or "auto")
    if not any(lists):
        raise DatasetError(f"no row has a label in column {column!r}", source)
    X = _texts(frame) if raw else frame.astype(float).to_numpy()
    data = _dataset(name, X, lists, source, tuple(frame.columns))
    if len(files) > 1:
        sizes = [len(table.frame) for table in tables]
        data = replace(data, split=np.repeat(np.array([part for part, _ in files], dtype=np.int8), sizes))
    lost = sum(len(table.problems) for table in tables)
    said = ["cells of a raw table as they stand"] * raw
    said += [f"{lost:,} row{'s' * (lost != 1)} could not be read"] * bool(lost)
    return data, "; ".join(said)


def _is_table(path: Path) -> bool:
    """Whether `read_table` reads a file, and it is no matrix in a format of its own."""
    try:
        found = detect_format(path).name
    except DatasetError:
        return _has_ending(path.name)  # text in an encoding that only tables may have
    return found in TABLE_FORMATS or (found == "npz" and _is_workbook(path))


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def _load_reads(path: Path) -> bool:
    """Whether `load_dataset` reads what is in the file as a matrix: CSV in its encodings, and Parquet."""
    try:
        return detect_format(path).name == find_table_format(path, None, None).name
    except DatasetError:
        return False


def _reading(path: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `read_table` that mean something for a file."""
    taken = find_table_format(path, None, None).options
    return {key: options[key] for key in ("delimiter",) if key in options and key in taken}


def _holds_more_than_numbers(path: Path, labels: str, options: Mapping[str, Any]) -> bool:
    """Whether there is a text or an empty cell beside the labels; read piece by piece, as it may be large."""
    for frame in table_chunks(path, _ROWS, **_reading(path, options)):
        if labels not in frame.columns:
            names = ", ".join(map(repr, frame.columns))
            raise DatasetError(f"there is no column {labels!r} of labels; there are {names}", path)
        cells = frame.drop(columns=labels)
        if cells.shape[1] == 0:
            raise DatasetError(f"there is nothing to learn from beside the column {labels!r} of labels", path)
        if not all(_is_number(cell) for name in cells.columns for cell in cells[name].tolist()):
            return True
    return False


def _is_number(cell: object) -> bool:
    try:
        finite_number(str(cell) if isinstance(cell, int | float | str) else "")
    except ValueError:
        return isinstance(cell, bool)
    return True


def _labels(column: pd.Series, wanted: str) -> list[list[str]]:
    """The labels of each row, as `Tagger` would read them; a number is a label's name."""
    cells = table_cells({"labels": column}).column("labels")
    named = [str(cell) if isinstance(cell, int | float) else cell for cell in cells]
    separator = separator_for([cell for cell in named if isinstance(cell, str)], wanted)
    return [list(dict.fromkeys(split(cell, separator or ""))) for cell in named]


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    """All cells as texts, as a CSV file has them: such rows can be told apart, and kept folds found again."""
    cells = table_cells(frame)
    return pd.DataFrame({name: [_text(cell) for cell in cells.column(name)] for name in cells.names})


def _text(cell: Cell) -> str:
    if isinstance(cell, tuple):
        return _BETWEEN.join(cell)
    return "" if cell is None else str(cell)


def _dataset(
    name: str,
    X: Any,
    lists: Sequence[Sequence[str]],
    source: str,
    columns: Sequence[str],
) -> Dataset:
    labels = sorted({one for row in lists for one in row})
    place = {one: k for k, one in enumerate(labels)}
    pairs = [(i, place[one]) for i, row in enumerate(lists) for one in row]
    Y = sp.csr_array(
        (np.ones(len(pairs), dtype=np.int8), tuple(zip(*pairs, strict=True))),
        shape=(len(lists), len(labels)),
    )
    return Dataset(name, X, Y, tuple(labels), tuple(map(str, columns)), source=source)
