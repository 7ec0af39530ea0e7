"""The rows and labels of a file, read in blocks: a feature matrix or a raw table."""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pandas as pd
import typer

from simlabel._utils.rows import joined
from simlabel._utils.text import format_names
from simlabel._utils.validation import Rows
from simlabel.cli._console import note, say
from simlabel.cli._options import Reading, check_named_columns, split_option
from simlabel.datasets import (
    TABLE_FORMATS,
    DatasetError,
    FeatureChunks,
    TableChunks,
    TableFile,
    detect_format,
    read_table,
    table_chunks,
)
from simlabel.labels import PartialLabels
from simlabel.tables import LISTS, Cell, TableEncoder, parse_bool, table_cells

BLOCK = 256  # rows that are predicted at once, always: results must not depend on how a file is read
_PROBLEMS = 5  # unreadable lines that are listed

LabelCell = Cell | set[str] | PartialLabels


class MatrixRows:
    """The features of a file, in the columns of a model."""

    def __init__(
        self,
        path: Path,
        features: Sequence[str] | int,
        rows: int,
        reading: Reading,
        index_base: int | None = None,
    ) -> None:
        self._chunks = FeatureChunks(path, features, rows, index_base=index_base, **reading.matrix)
        self.total = self._chunks.count_rows()
        self.name_columns: list[str] = []

    def blocks(self, size: int | None = None) -> Iterator[Rows]:
        """Yield blocks of `size` rows, by default `BLOCK`."""
        return _blocks(self._chunks, size)

    def names(self, X: Rows) -> dict[str, list[str]]:
        """Return no names: rows of a matrix have none."""
        return {}

    def report(self) -> None:
        """Print the number of unknown categories."""
        if self._chunks.unknown:
            note(f"{self._chunks.unknown:,} texts that the model does not know were ignored")


class TableRows:
    """The rows of a raw table, as data frames.

    Parameters
    ----------
    path : Path
    encoder : TableEncoder
        That of the model.
    name_columns : dict of str to str or None
        The columns of the "id" and the "title" of rows.
    rows : int
        Number of rows to read at a time.
    reading : Reading
        The label columns that it names are removed from the frames and read into `labels`.
    ignored : sequence of str
        Label columns to drop if they exist and are no features.
    own_labels : sequence of str
        Names of label columns to read if `reading` names none.
    empty : str
        Meaning of an empty label cell, as in `Tagger`.
    """

    total = 0  # not known before the file is read

    def __init__(
        self,
        path: Path,
        encoder: TableEncoder,
        name_columns: Mapping[str, str | None],
        rows: int,
        reading: Reading,
        ignored: Sequence[str] = (),
        own_labels: Sequence[str] = (),
        empty: str = "untagged",
    ) -> None:
        self._chunks = table_chunks(path, rows, **reading.table)
        self._first = next(self._chunks)
        _report_notes(self._chunks)
        if reading.label_column is not None or own_labels:
            check_has_rows(len(self._first), path)
        self.label_source = LabelSource.find(path, [*map(str, self._first)], reading, own_labels, empty)
        self._encoder = encoder
        self._ignored = [name for name in ignored if name not in encoder.names_]
        self._names = {what: name for what, name in name_columns.items() if name in self._first.columns}
        self.name_columns = list(self._names)
        self._unseen = Counter[str]()
        self._rows = 0
        self.labels: list[LabelCell] = []

    @property
    def lines(self) -> Sequence[int]:
        """The line of each row that has been read."""
        return self._chunks.lines

    def blocks(self, size: int | None = None) -> Iterator[pd.DataFrame]:
        """Yield blocks of `size` rows, by default `BLOCK`."""
        for frame in _blocks(self._frames(), size):
            self._rows += len(frame)
            self._unseen.update(self._encoder.unseen(self._encoder.aligned(table_cells(frame))))
            yield frame

    def _frames(self) -> Iterator[pd.DataFrame]:
        for frame in chain([self._first], self._chunks):
            if self.label_source.columns:
                self.labels += self.label_source.pop(frame, self.lines[len(self.labels) :])
            yield frame.drop(columns=self._ignored, errors="ignore")

    def names(self, X: pd.DataFrame) -> dict[str, list[str]]:
        """Return the ids and titles of the rows of a block, if the file has them."""
        cells = {what: column_cells(X[name]) for what, name in self._names.items()}
        return {what: ["" if cell is None else str(cell) for cell in row] for what, row in cells.items()}

    def report(self) -> None:
        """Print which lines were skipped, and how many cells hold nothing that the model knows."""
        _report_problems(self._chunks)
        for name, count in self._unseen.items():
            note(
                f"column {name!r}: in {count:,} of {self._rows:,} rows there is nothing that the model knows"
            )


RowSource = MatrixRows | TableRows


@dataclass(frozen=True)
class LabelSource:
    """The label columns of a table.

    Attributes
    ----------
    path : Path
    column : str or None
        The column that lists the labels of each row.
    several : list of str
        Columns of 0 and 1, named as the labels.
    is_partial : bool
        Whether the table has no column for some labels of the model, so that these are unknown.
    empty_is_zero : bool
        Whether an empty cell means that the label does not apply; otherwise it is unknown.
    """

    path: Path
    column: str | None = None
    several: Sequence[str] = ()
    is_partial: bool = False
    empty_is_zero: bool = False

    @classmethod
    def find(
        cls, path: Path, columns: Sequence[str], reading: Reading, known: Sequence[str] = (), empty: str = ""
    ) -> LabelSource:
        """Find the label columns that the options name, else those that are named as known labels."""
        if reading.label_column is not None:
            check_named_columns(columns, {"--label-column": reading.label_column}, path)
            return cls(path, reading.label_column)
        if reading.labels is not None:
            several = split_option(reading.labels)
            for name in several:
                check_named_columns(columns, {"--labels": name}, path)
        elif reading.label_prefix is not None:
            several = [name for name in columns if name.startswith(reading.label_prefix)]
            if not several:
                raise typer.BadParameter(
                    f"--label-prefix: {path} has no column that begins with {reading.label_prefix!r}; it has "
                    f"{', '.join(map(repr, columns))}."
                )
        else:
            several = [name for name in known if name in columns]
        return cls(path, None, several, not set(known) <= set(several), empty == "none")

    @property
    def columns(self) -> list[str]:
        """All label columns."""
        return list(self.several) if self.column is None else [self.column]

    def pop(self, frame: pd.DataFrame, lines: Sequence[int]) -> list[LabelCell]:
        """Remove the label columns from a frame; return the labels of each row, None if it is untagged."""
        if self.column is not None:
            return [*label_cells(frame.pop(self.column))]
        columns = [self._truths(name, frame.pop(name), lines) for name in self.several]
        return [self._row(cells) for cells in zip(*columns, strict=True)]

    def _truths(self, name: str, column: pd.Series, lines: Sequence[int]) -> list[bool | None]:
        found: list[bool | None] = []
        for cell, line in zip(column_cells(column), lines, strict=True):
            truth = False if cell is None and self.empty_is_zero else parse_bool(cell)
            if truth is None and cell is not None:
                what = f"expected 0 or 1 in the label column {name!r}, or an empty cell if it is unknown"
                raise DatasetError(f"{what}; found {str(cell)[:40]!r}", self.path, line)
            found.append(truth)
        return found

    def _row(self, cells: Sequence[bool | None]) -> LabelCell:
        present = {name for name, cell in zip(self.several, cells, strict=True) if cell}
        absent = {name for name, cell in zip(self.several, cells, strict=True) if cell is False}
        if not present and not absent:
            return None
        is_known = len(present) + len(absent) == len(cells) and not self.is_partial
        return present if is_known else PartialLabels(present, absent)


def column_cells(column: pd.Series) -> list[Cell]:
    """Return the cells of one column."""
    return list(table_cells({"": column}).column(""))


def label_cells(column: pd.Series) -> list[Cell]:
    """Return the cells of a label column: texts, lists of texts, None; a number is the name of a label."""
    return [str(cell) if isinstance(cell, int | float) else cell for cell in column_cells(column)]


def how_separated(separator: str | None) -> str:
    """Describe how the cells of a label column list labels."""
    if separator is None:
        return "one per cell"
    return {LISTS: "as lists", "#": "as hashtags"}.get(separator, f"separated by {separator!r}")


def open_table(path: Path, reading: Reading) -> TableFile:
    """Read a raw table, and print what was detected and which lines were skipped."""
    table = read_table(path, **reading.table)
    _report_notes(table)
    _report_problems(table)
    return table


def is_table(source: str, format: str | None) -> bool:
    """Whether a source is a file that `read_table` reads, and not a named set or a matrix file."""
    path = Path(source)
    if not path.is_file():
        return False
    if format is not None:
        return format in TABLE_FORMATS
    try:
        found = detect_format(path).name
    except DatasetError:
        return True  # an encoding that only tables support; any other problem is reported when it is read
    return found in TABLE_FORMATS or (found == "npz" and _is_workbook(path))


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "[Content_Types].xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def _report_notes(table: TableFile | TableChunks) -> None:
    if table.notes:
        say(f"{table.path}: {'; '.join(table.notes)}")


def _report_problems(table: TableFile | TableChunks) -> None:
    if table.problems:
        note(f"{table.path}: {len(table.problems):,} lines that cannot be read are skipped")
        for problem in table.problems[:_PROBLEMS]:
            note(f"{table.path}, line {problem.line}: {problem.what}")


def _blocks(chunks: Iterable[Rows], size: int | None) -> Iterator[Rows]:
    """Yield rows in blocks of `size`, by default `BLOCK`, whatever the size of the chunks."""
    size = size or BLOCK
    pending: list[Rows] = []
    count = 0
    for chunk in chunks:
        pending.append(chunk)
        count += chunk.shape[0]
        while count >= size:
            whole = stack_rows(pending)
            yield whole[:size]
            pending, count = [whole[size:]], count - size
    if count:
        yield stack_rows(pending)


def stack_rows(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows of one type."""
    frames = len(parts) > 1 and isinstance(parts[0], pd.DataFrame)
    return pd.concat(parts) if frames else joined(parts)


def taken(X: Rows, rows: list[int]) -> Rows:
    """Return some rows by their positions."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


def all_rows(source: RowSource, path: object) -> Rows:
    """Return all rows at once; a file without rows is an error."""
    parts = list(source.blocks())
    check_has_rows(len(parts), path)
    source.report()
    return stack_rows(parts)


def check_has_rows(count: int, path: object) -> None:
    """Check that a file has rows."""
    if not count:
        raise typer.BadParameter(f"{path} has no rows: give a file with rows below the column names.")


def check_unique_ids(cells: Sequence[Cell], lines: Sequence[int], column: str, path: object) -> None:
    """Check that ids are distinct and not empty; an error names the lines of the file."""
    places: dict[Cell, list[int]] = {}
    for cell, line in zip(cells, lines, strict=True):
        places.setdefault(cell, []).append(line)
    if None in places:
        raise ValueError(
            f"{path}, line {places[None][0]}: the cell of {column!r} is empty. Give every row an id, or "
            f"omit --id: the ids are then row numbers."
        )
    duplicates = [
        f"{cell!r} (lines {format_names(list(map(str, found)))})"
        for cell, found in places.items()
        if len(found) > 1
    ]
    if duplicates:
        raise ValueError(
            f"{path}: column {column!r} has duplicate ids: {format_names(duplicates)}. Remove the "
            f"duplicates, or give each row its own id. If rows with the same id belong together, fit with "
            f"--group-column {column!r} instead of --id."
        )
