"""The rows that a model is asked about, a few at a time: features of a file, or a raw table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd
import scipy.sparse as sp
import typer

from simlabel._utils.validation import Rows
from simlabel.cli._console import note, say
from simlabel.cli._label_cells import LabelCell, LabelSource
from simlabel.cli._options import Reading
from simlabel.datasets import FeatureChunks, TableChunks, TableFile, table_chunks
from simlabel.tables import Cell, TableEncoder, table_cells

BLOCK = 256  # rows that are predicted in one go, always: so that no figure depends on how a file is read
_PROBLEMS = 5  # lines that could not be read, which are shown
_TWICE = 3  # ids that are shown


class RowSource(Protocol):
    """Where rows come from."""

    total: int  # about how many; 0 where that is not known
    called: list[str]  # of "id" and "title" those that `names` gives

    def blocks(self, size: int | None = None) -> Iterator[Rows]:
        """Blocks of `size` rows, else `BLOCK`."""

    def names(self, X: Rows) -> dict[str, list[str]]:
        """What the rows of a block are called."""

    def tell(self) -> None:
        """Say what was met that the model does not know, once all has been read."""


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
        self.called: list[str] = []

    def blocks(self, size: int | None = None) -> Iterator[Rows]:
        """Blocks of features."""
        return blocks(self._chunks, size)

    def names(self, X: Rows) -> dict[str, list[str]]:
        """They have none."""
        return {}

    def tell(self) -> None:
        """Say how many categories were new."""
        if self._chunks.unknown:
            note(f"{self._chunks.unknown:,} texts that the model does not know were taken as none")


class TableRows:
    """The rows of a raw table, as frames.

    Parameters
    ----------
    path : Path
    encoder : TableEncoder
        Of the model.
    carried : dict of str to str or None
        The columns that say what rows are called, by ``id`` and ``title``.
    rows : int
        How many are read at a time.
    reading : Reading
        The label columns that it names are left out of the frames, and read into `labels`.
    own_labels : sequence of str
        Columns that hold labels where `reading` names none, if they are in the table.
    empty : str
        What an empty label cell means, as in `Tagger`.
    unasked : sequence of str
        Columns that are left out if they are there: the labels of rows that are predicted all the same.
    """

    total = 0

    def __init__(
        self,
        path: Path,
        encoder: TableEncoder,
        carried: Mapping[str, str | None],
        rows: int,
        reading: Reading,
        unasked: Sequence[str] = (),
        own_labels: Sequence[str] = (),
        empty: str = "untagged",
    ) -> None:
        self._chunks = table_chunks(path, rows, **reading.table)
        self._first = next(self._chunks)
        tell_notes(self._chunks)
        if reading.label_column is not None or own_labels:
            check_rows(len(self._first), path)
        self.label_source = LabelSource.of(path, [*map(str, self._first)], reading, own_labels, empty)
        self._encoder = encoder
        self._unasked = [name for name in unasked if name not in encoder.names_]
        self._carried = {what: name for what, name in carried.items() if name in self._first.columns}
        self.called = list(self._carried)
        self._unseen = Counter[str]()
        self._rows = 0
        self.labels: list[LabelCell] = []

    @property
    def lines(self) -> Sequence[int]:
        """The lines of the rows that have been read."""
        return self._chunks.lines

    def blocks(self, size: int | None = None) -> Iterator[pd.DataFrame]:
        """Blocks of rows."""
        for frame in blocks(self._frames(), size):
            self._rows += len(frame)
            self._unseen.update(self._encoder.unseen(self._encoder.aligned(table_cells(frame))))
            yield frame

    def _frames(self) -> Iterator[pd.DataFrame]:
        for frame in chain([self._first], self._chunks):
            if self.label_source.columns:
                self.labels += self.label_source.pop(frame, self.lines[len(self.labels) :])
            yield frame.drop(columns=self._unasked, errors="ignore")

    def names(self, X: pd.DataFrame) -> dict[str, list[str]]:
        """The cells of the columns that say what rows are called; of those that the file has."""
        cells = {what: table_cells({"": X[name]}).column("") for what, name in self._carried.items()}
        return {what: ["" if cell is None else str(cell) for cell in row] for what, row in cells.items()}

    def tell(self) -> None:
        """Say which lines were left out, and how many cells hold nothing that is known."""
        tell_problems(self._chunks)
        for name, count in self._unseen.items():
            note(
                f"column {name!r}: in {count:,} of {self._rows:,} rows there is nothing that the model knows"
            )


def tell_notes(table: TableFile | TableChunks) -> None:
    """Say what was found out about a file."""
    if table.notes:
        say(f"{table.path}: {'; '.join(table.notes)}")


def tell_problems(table: TableFile | TableChunks) -> None:
    """Say which lines were left out, the first of them with the reason."""
    if table.problems:
        note(f"{table.path}: {len(table.problems):,} lines that cannot be read are left out")
        for problem in table.problems[:_PROBLEMS]:
            note(f"{table.path}, line {problem.line}: {problem.what}")


def blocks(chunks: Iterable[Rows], size: int | None = None) -> Iterator[Rows]:
    """Rows in blocks of `size`, else `BLOCK`, however they were read."""
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
    if isinstance(parts[0], pd.DataFrame):
        return pd.concat(parts)
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def all_of(source: RowSource, path: object) -> Rows:
    """All rows at once; a file without any is an error."""
    parts = list(source.blocks())
    check_rows(len(parts), path)
    source.tell()
    return stacked(parts)


def check_rows(count: int, path: object) -> None:
    """Refuse a file without rows."""
    if not count:
        raise typer.BadParameter(f"{path} has no rows: give a file with rows below the names of its columns.")


def check_ids(cells: Sequence[Cell], lines: Sequence[int], column: str, path: object) -> None:
    """Refuse ids that are empty or given twice, with their lines as an editor counts them."""
    places: dict[Cell, list[int]] = {}
    for one, line in zip(cells, lines, strict=True):
        places.setdefault(one, []).append(line)
    if None in places:
        raise ValueError(
            f"{path}, line {places[None][0]}: the cell of {column!r} is empty. Give every row an id, or "
            f"leave out --id: rows are then called by their numbers."
        )
    twice = {one: at for one, at in places.items() if len(at) > 1}
    if twice:
        some = [f"{one!r} is on lines {_some_of(at)}" for one, at in [*twice.items()][:_TWICE]]
        more = f"; and {len(twice) - _TWICE:,} more ids" if len(twice) > _TWICE else ""
        raise ValueError(
            f"{path}: ids in column {column!r} are given twice: {'; '.join(some)}{more}. Remove the copies, "
            f"or give each row an id of its own. If rows with the same id belong together, fit with "
            f"--group-column {column!r} in place of --id."
        )


def _some_of(lines: Sequence[int]) -> str:
    some = [f"{line:,}" for line in lines[:_PROBLEMS]]
    more = len(lines) - len(some)
    return f"{', '.join(some)} and {more:,} more" if more else f"{', '.join(some[:-1])} and {some[-1]}"


def taken(X: Rows, rows: list[int]) -> Rows:
    """Some rows by their positions."""
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]
