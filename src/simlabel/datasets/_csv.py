"""CSV: a raw table of texts, and a data set with a line of names."""

from __future__ import annotations

import csv
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO

import pandas as pd

from simlabel.datasets._columns import Missing, read_columns
from simlabel.datasets._dataset import Dataset, LabelColumns, set_name
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._format import NAMES, Format
from simlabel.datasets._reading import TableChunks, filled
from simlabel.datasets._source_table import Attribute, SourceTable, cell_blocks
from simlabel.datasets._text import find_encoding, text_lines

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ONE_COLUMN = "\0"  # a delimiter that does not occur: zero bytes raise an error before
_SAMPLE_RECORDS, _SAMPLE_CHARACTERS = 100, 1 << 20
_LONGEST = 1 << 24  # characters of a cell
_FATAL = ("limit", "end of data")  # errors of the csv module after which reading cannot go on
_ABSENT = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"])


def check_delimiter(delimiter: str | None) -> None:
    """Raise an error for a text that cannot separate cells."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise ValueError(
            f"delimiter must be one character, neither a quote nor a line end; got {delimiter!r}."
        )


def read_csv_frames(reading: TableChunks) -> Iterator[pd.DataFrame]:
    """Yield frames of texts, with None for empty cells."""
    records = _records(reading)
    names = reading.named(next(records)[1])
    yield from reading.frames(names, ((line, list(map(filled, record))) for line, record in records))


def _records(reading: TableChunks) -> Iterator[tuple[int, list[str]]]:
    """Yield the records that are not blank, each with the line where it begins; the first holds the names."""
    encoding = find_encoding(reading.path, reading.encoding, reading.max_gib)
    with closing(text_lines(reading.path, encoding, reading.max_gib)) as lines:
        sample = _sample(lines)
        delimiter = reading.delimiter or _find_delimiter(sample)
        between = _DELIMITERS.get(delimiter, repr(delimiter))
        reading.notes.append("one column" if delimiter == _ONE_COLUMN else f"cells separated by {between}")
        reading.notes.append(encoding.note)
        is_first = True
        for record in _parse(chain(sample, lines), delimiter, reading):
            is_first = False
            yield record
        if is_first:
            raise DatasetError("expected a line with the names of the columns, found none", reading.path, 1)


def _sample(lines: Iterator[str]) -> list[str]:
    """Return the first lines, just longer than the sample size unless the file is shorter."""
    sample, size = [], 0
    while size <= _SAMPLE_CHARACTERS and (line := next(lines, "")):
        sample.append(line)
        size += len(line)
    return sample


def _find_delimiter(sample: list[str]) -> str:
    """Return the delimiter for which most records have as many cells as the line of names.

    It must split the names, and at least one record below them.
    """
    scores = {delimiter: _score(sample, delimiter) for delimiter in _DELIMITERS}
    best = max(scores, key=scores.__getitem__)
    return best if any(scores[best]) else _ONE_COLUMN


def _score(sample: list[str], delimiter: str) -> tuple[float, float, int]:
    """Return the shares of records that are as wide as the first, and wider than one cell; and the width."""
    reader = csv.reader(sample, delimiter=delimiter)
    try:
        records = filter(None, iter(partial(_next, reader), None))
        widths = [len(record) for record in islice(records, _SAMPLE_RECORDS)]
    except csv.Error:  # reported when the file is read
        return 0.0, 0.0, 0
    if not widths or widths[0] == 1:
        return 0.0, 0.0, 0
    if 1 < len(widths) < _SAMPLE_RECORDS and sum(map(len, sample)) > _SAMPLE_CHARACTERS:
        del widths[-1]  # it may continue after the sample
    counts = Counter(widths[1:])
    below = counts.total()
    if not below:
        return 1.0, 1.0, widths[0]
    split = (below - counts[1]) / below
    return counts[widths[0]] / below, split, widths[0] if split else 0


def _parse(lines: Iterable[str], delimiter: str, reading: TableChunks) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    begun = False
    while True:
        line = reader.line_num + 1
        try:
            record = _next(reader)
        except csv.Error as error:
            what = f"expected cells as CSV has them, with quotes in pairs; {error}"
            if not begun or any(word in str(error) for word in _FATAL):
                raise DatasetError(what, reading.path, line) from None
            reading.skip(line, what)
            continue
        if record is None:
            return
        if record:
            begun = True
            yield line, record


_lock = threading.Lock()


def _unlock() -> None:
    """Replace the lock in a forked child, where the thread that holds it does not exist."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """Return the next record, also of long cells: the limit of the csv module is global, and is restored."""
    with _lock:
        before = csv.field_size_limit(_LONGEST)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


class CsvRecords:
    r"""A writer of CSV records to a stream of text, each with a line feed at its end.

    Python's `csv` quotes only those line ends that it writes itself: a bare carriage return, which ends a
    record for most readers, would not be quoted. So it writes both; this class removes the carriage return.

    Examples
    --------
    >>> import io
    >>> stream = io.StringIO()
    >>> CsvRecords(stream).append(["sea\r=1", "a;b", None])
    >>> stream.getvalue()
    '"sea\r=1",a;b,\n'
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write(self, record: str) -> None:
        """Take a record from the writer."""
        self._stream.write(record[:-2] + "\n")

    def append(self, cells: Sequence[Any]) -> None:
        """Add a record."""
        self._writer.writerow(cells)


def read_csv(
    path: Path,
    *,
    labels: Sequence[str] | None = None,
    label_prefix: str | None = None,
    label_column: str | None = None,
    separator: str = ";",
    delimiter: str | None = None,
    missing: Missing = "error",
    max_gib: float | None = None,
) -> Dataset:
    """Read a CSV file whose first line names the columns.

    A column of numbers is a feature; a column of texts is a feature per text, or one of 0 and 1 if they
    mean that (``true``, ``false``). A column of texts of which nearly every row has its own is left out.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    labels, label_prefix, label_column, separator
        Which columns are labels: their names, how their names begin, or one column that holds lists of
        labels with a separator between them.
    delimiter : str, optional
        Separator between the cells; by default the one of comma, semicolon, tab and bar that splits the first
        100 rows most evenly.
    missing : {"error", "mean", "median", "most_frequent"}
        How missing features are filled in.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    table = _open(TableChunks(path, None, delimiter, max_gib=max_gib, strict=True), label_column)
    choice = LabelColumns(labels, label_prefix, label_column, separator)
    return read_columns(table, choice, missing, set_name(path))


def _open(reading: TableChunks, label_column: str | None = None) -> SourceTable:
    check_delimiter(reading.delimiter)
    records, path = _records(reading), reading.path
    names = [name.strip() for name in next(records)[1]]
    if "" in names:
        raise DatasetError(f"expected a name for column {names.index('') + 1}, found none", path, 1)
    if len(set(names)) < len(names):
        raise DatasetError("expected different names of columns, found one twice", path, 1)

    lists = names.index(label_column) if label_column in names else None

    def rows() -> Iterator[tuple[int, list[str | None]]]:
        for line, record in records:
            if len(record) != len(names):
                raise DatasetError(f"expected {len(names)} cells, found {len(record)}", path, line)
            cells = [None if cell in _ABSENT else cell for cell in map(str.strip, record)]
            if lists is not None:
                cells[lists] = record[lists]  # where NA is a label
            yield line, cells

    attributes = [Attribute(name) for name in names]
    return SourceTable(path, attributes, lambda _: cell_blocks(rows(), len(names), reading.rows), typed=False)


CSV = Format(
    name="csv",
    title="CSV with a line of names",
    endings=(".csv",),
    sniff=lambda head: bool(head.lines) and not head.begins("<"),
    read=read_csv,
    chunks=lambda chunks: chunks.table_blocks(
        _open(TableChunks(chunks.path, chunks.rows, chunks.delimiter, max_gib=chunks.max_gib, strict=True))
    ),
    labels=NAMES,
)
