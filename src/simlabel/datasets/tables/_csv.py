"""CSV and its kin as a table of texts: nothing is taken for a number, and nothing stripped."""

from __future__ import annotations

import csv
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from functools import partial
from itertools import chain, islice

import pandas as pd

from simlabel.datasets._errors import DatasetError
from simlabel.datasets.tables._encoding import find_encoding, text_lines
from simlabel.datasets.tables._reading import Cell, Record, TableReading, filled

_NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_ONE_COLUMN = "\0"  # a delimiter that no text holds: zero bytes are refused before
_SAMPLE_RECORDS, _SAMPLE_CHARACTERS = 100, 1 << 20
_LONGEST = 1 << 24  # characters of a cell
_FATAL = ("limit", "end of data")  # words of the csv module where a row cannot just be left out


def read(reading: TableReading) -> Iterator[pd.DataFrame]:
    """Frames of texts, None where a cell is empty."""
    encoding = find_encoding(reading.path, reading.encoding, reading.max_gib)
    with closing(text_lines(reading.path, encoding, reading.max_gib)) as lines:
        sample = _sample(lines)
        delimiter = reading.delimiter or _find_delimiter(sample)
        between = _NAMES.get(delimiter, repr(delimiter))
        reading.notes.append("one column" if delimiter == _ONE_COLUMN else f"cells separated by {between}")
        reading.notes.append(encoding.note)
        records = _records(chain(sample, lines), delimiter, reading)
        header = next(records, None)
        if header is None:
            raise DatasetError("expected a line with the names of the columns, found none", reading.path, 1)
        names = reading.named(header[1])
        yield from reading.frames(names, _rows(records, len(names), reading))


def _sample(lines: Iterator[str]) -> list[str]:
    """The first lines: all, or just more characters than are looked at."""
    sample, size = [], 0
    while size <= _SAMPLE_CHARACTERS and (line := next(lines, "")):
        sample.append(line)
        size += len(line)
    return sample


def _find_delimiter(sample: list[str]) -> str:
    """The delimiter with which most records have as many cells as the line of names.

    One with which the names are one cell is none; nor is one that stands in no record below the names.
    """
    scores = {delimiter: _score(sample, delimiter) for delimiter in _NAMES}
    best = max(scores, key=scores.__getitem__)
    return best if any(scores[best]) else _ONE_COLUMN


def _score(sample: list[str], delimiter: str) -> tuple[float, float, int]:
    """Shares of the records that have the width of the first, and that are wider than one cell; the width."""
    reader = csv.reader(sample, delimiter=delimiter)
    try:
        records = filter(None, iter(partial(_next, reader), None))
        widths = [len(record) for record in islice(records, _SAMPLE_RECORDS)]
    except csv.Error:  # it is told when the file is read
        return 0.0, 0.0, 0
    if not widths or widths[0] == 1:
        return 0.0, 0.0, 0
    if 1 < len(widths) < _SAMPLE_RECORDS and sum(map(len, sample)) > _SAMPLE_CHARACTERS:
        del widths[-1]  # it goes on after the sample
    counts = Counter(widths[1:])
    below = counts.total()
    if not below:
        return 1.0, 1.0, widths[0]
    split = (below - counts[1]) / below
    return counts[widths[0]] / below, split, widths[0] if split else 0


def _records(lines: Iterable[str], delimiter: str, reading: TableReading) -> Iterator[tuple[int, list[str]]]:
    """Records that are not blank, each with the line on which it begins."""
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
            reading.leave_out(line, what)
            continue
        if record is None:
            return
        if record:
            begun = True
            yield line, record


def _rows(records: Iterator[tuple[int, list[str]]], width: int, reading: TableReading) -> Iterator[Record]:
    for line, record in records:
        cells: list[Cell] = [filled(cell) for cell in record]
        if len(record) == 1 < width and cells[0] is None:
            continue  # a line of spaces
        surplus = cells[width:]
        if surplus.count(None) < len(surplus):
            reading.leave_out(line, f"expected {width} cells, found {len(record)}")
            continue
        yield line, cells[:width] + [None] * (width - len(cells))


_lock = threading.Lock()


def _unlock() -> None:
    """A child that was forked while a thread read has no such thread, and would wait for it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def _next(reader: Iterator[list[str]]) -> list[str] | None:
    """The next record, of long cells too: the bound of the csv module is one for all, and is kept."""
    with _lock:
        before = csv.field_size_limit(_LONGEST)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)
