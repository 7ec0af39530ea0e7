"""Reading a raw table: the options, the notes and problems on the way, and the cells of typed formats."""

from __future__ import annotations

import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from simlabel._utils.files import memory_limit, too_large
from simlabel._utils.validation import is_missing
from simlabel.datasets._errors import DatasetError, quote

RawCell = str | int | float | bool | list[str] | None
NumberedCells = tuple[int, list[RawCell]]  # the line of a row, and its cells
POINTER, _OBJECT = 8, 56  # bytes of a cell in a column, and of its text or number
_PROBLEM = 256  # bytes of a problem
_NAME = 160  # bytes of the name of a column in all tables that hold it


class TableProblem(NamedTuple):
    """A row that was skipped: its line (of a sheet its row, of a JSON array its item), and what is wrong."""

    line: int
    what: str


@dataclass
class TableChunks:
    """An iterator over the frames of a file, `rows` rows at a time or (None) all at once.

    Attributes
    ----------
    path, rows, delimiter, encoding, sheet, max_gib, strict
        The parameters of `table_chunks`.
    format : str
        The name of the format of the file.
    notes : list of str
    problems : list of TableProblem
    lines : sequence of int
        As in `TableFile`, for the part of the file that has been read.
    """

    path: Path
    rows: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    max_gib: float | None = None
    strict: bool = False
    format: str = ""
    source: Iterator[pd.DataFrame] = field(default_factory=lambda: iter(()), repr=False)
    notes: list[str] = field(default_factory=list)
    problems: list[TableProblem] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pd.DataFrame:
        return next(self.source)

    @cached_property
    def _limit(self) -> int:
        return memory_limit(self.path, self.max_gib, text=True)

    def skip(self, line: int, what: str) -> None:
        """Record that a row is skipped; if `strict`, raise an error instead."""
        if self.strict:
            raise DatasetError(what, self.path, line)
        self.problems.append(TableProblem(line, what))
        self.check(_PROBLEM * len(self.problems))

    def frames(self, names: Sequence[str], records: Iterable[NumberedCells]) -> Iterator[pd.DataFrame]:
        """Yield frames of objects, at least one; short rows are filled up, and long ones are skipped."""
        block: list[list[RawCell]] = []
        start = taken = skipped = 0
        for line, found in records:
            if len(found) == 1 < len(names) and found[0] is None:
                continue  # a line of spaces
            if any(cell is not None for cell in found[len(names) :]):
                skipped += POINTER * len(found)  # a few bytes can be a row of 16,384 cells
                self.check(skipped)
                self.skip(line, f"expected {len(names)} cells, found {len(found)}")
                continue
            record = found[: len(names)] + [None] * (len(names) - len(found))
            block.append(record)
            self.lines.append(line)
            # missing cells need memory too: a few bytes can be a row of many columns
            texts = [cell for cell in record if isinstance(cell, str)]
            n_present = len(record) - record.count(None)
            taken += POINTER * len(record) + _OBJECT * n_present + sum(map(len, texts))
            self.check(taken)
            if len(block) == self.rows:
                yield _frame(block, names, start)
                start, taken, block = start + len(block), 0, []
        if not start and not block and self.problems:
            first = self.problems[0]
            what = f"expected a table, and no row of it can be read; the first: {first.what}"
            raise DatasetError(what, self.path, first.line)
        if block or not start:
            yield _frame(block, names, start)

    def named(self, found: Iterable[str | None]) -> list[str]:
        """Return unique, non-empty names of columns; changes are noted."""
        given = [(name or "").strip() for name in found]
        if not given:
            raise DatasetError("expected at least one column, found none", self.path)
        self.check(_NAME * len(given))
        reserved, numbers = set(given), Counter[str]()
        names: dict[str, None] = {}
        for place, own in enumerate(given, start=1):
            name = unique = own or f"column {place}"
            while unique in names or (unique != own and unique in reserved):
                numbers[name] += 1
                unique = f"{name} ({numbers[name] + 1})"
            names[unique] = None
        changed = [name for name, own in zip(names, given, strict=True) if name != own]
        if changed:
            listed = quote(", ".join(changed), 200)
            self.notes.append(f"columns without a name, or with a repeated one, are called {listed}")
        return list(names)

    def check(self, size: int) -> None:
        """Raise an error if the table needs more memory than the file is allowed."""
        if size <= self._limit:
            return
        message = too_large(size, self.path, self.max_gib, text=True)
        raise DatasetError(f"as a table it {message}", self.path)


def _frame(block: list[list[RawCell]], names: Sequence[str], start: int) -> pd.DataFrame:
    index = pd.RangeIndex(start, start + len(block))
    return pd.DataFrame(block, index=index, columns=list(names), dtype=object)


def filled(text: str) -> str | None:
    """Return a text unchanged; None if it is blank."""
    return text if text and not text.isspace() else None


def as_cell(value: Any) -> RawCell:
    """Convert a typed value: dates become ISO texts, nested values JSON; others are unchanged.

    Examples
    --------
    >>> as_cell(["sea", "sunset"]), as_cell({"width": 3, "dates": [date(2024, 1, 5)]}), as_cell(" ")
    (['sea', 'sunset'], '{"width":3,"dates":["2024-01-05"]}', None)
    >>> as_cell(datetime(2024, 1, 5)), as_cell(datetime(2024, 1, 5, 12, 30))
    ('2024-01-05', '2024-01-05T12:30:00')
    """
    if isinstance(value, str):
        return filled(value)
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_text)
    return _text(value)


def plain_cell(value: Any) -> RawCell:
    """Return a cell of a frame as JSON can hold it; None if it is missing or not finite.

    Examples
    --------
    >>> plain_cell(np.int64(3)), plain_cell(float("inf")), plain_cell(["sea"])
    (3, None, ['sea'])
    """
    value = value.item() if isinstance(value, np.generic) else value
    if is_missing(value) or (isinstance(value, float) and math.isinf(value)):
        return None
    cell: RawCell = value
    return cell


def _text(value: Any) -> str:
    if isinstance(value, datetime) and value.time() == time() and value.tzinfo is None:
        value = value.date()  # a spreadsheet stores dates as midnights
    return value.isoformat() if isinstance(value, date | time) else str(value)
