"""File formats, their detection, and the features of a file in the columns of a model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from simlabel._utils.text import format_names
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows
from simlabel.datasets._columns import (
    TRUTH,
    WIDE,
    ColumnEntries,
    finite_number,
    joined_columns,
    parsed,
    parsed_numbers,
)
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, check_regular, quote
from simlabel.datasets._source_table import SourceTable
from simlabel.datasets._text import open_bytes

NAMES = "names with commas between"  # how a user gives the labels of a table
_HEAD = 1 << 16  # bytes from which the format is detected
Features = Sequence[str] | int  # names, or only their number if the model has no names


class Head:
    """The beginning of a file.

    Attributes
    ----------
    raw : bytes
    text : str
    lines : list of str
        Those that are not blank; none if the file is not text.
    row : str
        The first of them that is not a comment (``#``), or nothing.
    """

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.text = raw.decode("utf-8-sig", "replace")
        self.lines = [] if "\x00" in self.text else [line for line in self.text.splitlines() if line.strip()]
        self.row = next((line for line in self.lines if not line.lstrip().startswith("#")), "")

    def begins(self, *marks: str) -> bool:
        """Return whether it is text that begins with one of these."""
        return bool(self.lines) and self.lines[0].lstrip().startswith(marks)


def count_lines(path: Path) -> int:
    """Return the number of lines of a text file; 0 if it is packed, where counting takes long."""
    if path.suffix == ".gz":
        return 0
    with path.open("rb") as stream:
        return sum(part.count(b"\n") for part in iter(lambda: stream.read(1 << 20), b""))


def split_names(text: str) -> Any:
    """Split names at commas.

    Examples
    --------
    >>> split_names("sea, sunset")
    ['sea', 'sunset']
    """
    return [name.strip() for name in text.split(",")]


@dataclass(frozen=True)
class Format:
    """A file format; detection, loading, chunks, the catalog and the help are derived from its record.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    title : str
        What it is.
    endings : tuple of str
        Endings of file names, without ``.gz``.
    sniff : callable
        Whether the head of a file shows this format.
    read : callable
        From a path, and options as keywords, to a data set.
    chunks : callable
        From a `FeatureChunks` to arrays or CSR arrays; labels are not read.
    labels : str
        How a user names the label columns; empty if every file contains it.
    parse_labels : callable
        From that, as a text, to the option ``labels`` of `read`.
    count_rows : callable
        The approximate number of rows of a file; 0 if it takes long to find out.
    """

    name: str
    title: str
    endings: tuple[str, ...]
    sniff: Callable[[Head], bool]
    read: Callable[..., Dataset]
    chunks: Callable[[FeatureChunks], Iterator[Rows]]
    labels: str = ""
    parse_labels: Callable[[str], Any] = split_names
    count_rows: Callable[[Path], int] = count_lines

    def has_ending(self, name: str) -> bool:
        """Return whether a file with that name would have this format."""
        return name.lower().removesuffix(".gz").endswith(self.endings)


#: by name, in the order in which they are tried: any other text is CSV
FORMATS: dict[str, Format] = {}


def find_format(path: Path, name: str | None = None) -> Format:
    """Return the format that the user names, or by default the one that the content shows."""
    if name is None:
        return detect_format(path)
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {name!r}.")
    return FORMATS[name]


def detect_format(path: Path) -> Format:
    """Return the format that the content of a file shows."""
    with open_bytes(path) as stream:
        head = Head(stream.read(_HEAD))
    for one in FORMATS.values():
        if one.sniff(head):
            return one
    if head.begins("<"):
        raise DatasetError("expected a data set, found XML; load the ARFF file that it belongs to", path)
    raise DatasetError(f"expected a data set ({', '.join(FORMATS)}), found {quote(head.text[:40])}", path)


class FeatureChunks:
    """The features of a file, `rows` rows at a time, for files larger than memory.

    The meaning of the columns comes from the model, so that chunks do not depend on where they begin; labels
    in the file are not read.

    Parameters
    ----------
    path : path
        In any format that `load_dataset` reads.
    features : sequence of str, or int
        Names of the features that the model was fitted on; their number if it has no names.
    rows : int
        The number of rows at a time.
    format : str, optional
        By default it is detected from the content.
    delimiter : str, optional
        Of a CSV file.
    index_base : {0, 1}, optional
        Number of the first feature of an svmlight file, if the file does not show it.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.

    Attributes
    ----------
    format : str
        The format of the file.
    unknown : int
        The number of texts that the model does not know; they are none of its categories.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("hue,size\\nred,2\\nblue,3\\nred,4\\n")
    >>> [chunk.tolist() for chunk in FeatureChunks(path, ["size", "hue=blue", "hue=red"], 2)]
    [[[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]], [[4.0, 0.0, 1.0]]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Features,
        rows: int,
        *,
        format: str | None = None,
        delimiter: str | None = None,
        index_base: int | None = None,
        max_gib: float | None = None,
    ) -> None:
        check_regular(path)
        self.path, self.features, self.rows = Path(path), features, rows
        self.delimiter, self.index_base, self.max_gib = delimiter, index_base, max_gib
        self._format = find_format(self.path, format)
        self.format = self._format.name
        self.unknown = 0

    def count_rows(self) -> int:
        """Return the approximate number of rows of the file; 0 if it takes long to find out."""
        return self._format.count_rows(self.path)

    def __iter__(self) -> Iterator[Rows]:
        """Yield arrays or CSR arrays, (at most `rows`, n_features)."""
        return self._format.chunks(self)

    @property
    def width(self) -> int:
        """The number of features of the model."""
        return self.features if isinstance(self.features, int) else len(self.features)

    def check_width(self, width: int) -> None:
        """Raise an error if the file has another number of features."""
        if width != self.width:
            message = f"expected {self.width} features, as the model has, found {width}"
            raise DatasetError(message, self.path)

    def table_blocks(self, table: SourceTable) -> Iterator[Rows]:
        """Yield arrays or CSR arrays of the rows of a table.

        A column of the table that has the name of a feature holds numbers or truths. A column ``a``, if the
        model has features ``a=red`` and ``a=blue``, holds one of these texts; an unknown text is none of
        them. Other columns are ignored.
        """
        columns = self._find_columns(table.names)
        dense = not table.sparse and self.width <= WIDE * max(1, len(table.attributes))
        for block in table.blocks(list(columns)):
            entries: list[ColumnEntries] = []
            for j, rows, values in block.columns:
                if j in columns:
                    fail = partial(_cell_error, table, j, block.lines, rows)
                    entries.append(([], rows, *self._place(columns[j], values, fail)))
            yield joined_columns(entries, len(block.lines), self.width, dense)

    def _find_columns(self, names: Sequence[str]) -> dict[int, int | dict[str, int]]:
        """Return for each column of a table that is used its feature, or its features by text."""
        if isinstance(self.features, int):
            raise DatasetError(
                f"has names of columns, but the model knows only that it has {self.features} features; "
                "pass rows in a format without names, as in fit",
                self.path,
            )
        position = {name: k for k, name in enumerate(self.features)}
        categories: dict[str, dict[str, int]] = {}
        for name, k in position.items():
            for at in (i for i, character in enumerate(name) if character == "="):
                categories.setdefault(name[:at], {})[name[at + 1 :]] = k
        found: dict[int, int | dict[str, int]] = {}
        covered: set[int] = set()
        for j, name in enumerate(names):
            if name in position:
                found[j] = position[name]
                covered.add(position[name])
            elif name in categories:
                found[j] = categories[name]
                covered |= set(categories[name].values())
        absent = dict.fromkeys(name.partition("=")[0] for name, k in position.items() if k not in covered)
        if absent:
            listed = format_names(list(map(quote, absent)))
            raise DatasetError(
                f"expected the columns that the model was fitted on; {listed} not found among "
                f"{quote(', '.join(names), 300)}",
                self.path,
            )
        return found

    def _place(
        self, feature: int | dict[str, int], values: AnyArray, fail: Any
    ) -> tuple[AnyArray, FloatArray]:
        """Return the features and the numbers of the cells of a column."""
        if not isinstance(feature, int):
            numbers = parsed(values, lambda value: feature.get(str(value), -1), fail)
        elif values.dtype == object:
            numbers = parsed_numbers(values, _number, fail)
        else:
            numbers = values.astype(np.float64)
        wrong = ~np.isfinite(numbers)
        if wrong.any():
            k = int(np.argmax(wrong))
            raise fail(k, None if np.isnan(numbers[k]) else values[k])
        if isinstance(feature, int):
            return np.array([feature]), numbers
        known = numbers >= 0
        self.unknown += int(np.count_nonzero(~known))
        return np.where(known, numbers, 0).astype(np.int64), known.astype(np.float64)


def _cell_error(
    table: SourceTable, column: int, lines: Sequence[int], rows: IntArray, k: int, value: Any
) -> DatasetError:
    """Return an error about the k-th of the cells of a column in a block of rows."""
    name, line = quote(table.names[column]), lines[rows[k]]
    if value is None:
        return table.error(f"expected a value for {name}, found a missing one; fill it in", line)
    return table.error(f"expected a finite number for {name}, found {quote(str(value))}", line)


def _number(value: Any) -> float:
    """Read a number, or a word for 0 or 1."""
    truth = TRUTH.get(str(value).lower())
    return finite_number(str(value)) if truth is None else float(truth)
