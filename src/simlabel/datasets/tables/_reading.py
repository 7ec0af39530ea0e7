"""What a reader of tables is asked for, and what it finds out on its way through the file."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from simlabel._utils.files import memory_limit, too_large
from simlabel.datasets._errors import DatasetError, quote

Cell = str | int | float | bool | list[str] | None
Record = tuple[int, list[Cell]]  # the line of a row, and its cells
POINTER, _OBJECT = 8, 56  # bytes of a cell in a column, and of the text or number that it points to
_PROBLEM = 256  # bytes of a problem that is kept
_NAME = 160  # bytes of a name of a column, with its places in tables


class TableProblem(NamedTuple):
    """A row that was left out: its line (of a sheet its row, of a JSON array its item), and what is wrong."""

    line: int
    what: str


@dataclass
class TableReading:
    """One way through a file, `rows` rows at a time or (None) all at once.

    The other fields are the parameters and attributes of `read_table`.
    """

    path: Path
    rows: int | None = None
    delimiter: str | None = None
    encoding: str | None = None
    sheet: str | None = None
    max_gib: float | None = None
    strict: bool = False
    notes: list[str] = field(default_factory=list)
    problems: list[TableProblem] = field(default_factory=list)
    lines: array[int] = field(default_factory=lambda: array("q"))

    @cached_property
    def _limit(self) -> int:
        return memory_limit(self.path, self.max_gib, text=True)

    def leave_out(self, line: int, what: str) -> None:
        """Keep in mind that a row was left out, or refuse the file for it."""
        if self.strict:
            raise DatasetError(what, self.path, line)
        self.problems.append(TableProblem(line, what))
        self.check(_PROBLEM * len(self.problems))

    def frames(self, names: Sequence[str], records: Iterable[Record]) -> Iterator[pd.DataFrame]:
        """Frames of objects, at least one, of rows that have a line and a cell for each name."""
        block: list[list[Cell]] = []
        start = taken = 0
        for line, record in records:
            block.append(record)
            self.lines.append(line)
            # cells that are not there take room too: a few bytes can be a row of many columns
            texts = [cell for cell in record if isinstance(cell, str)]
            held = len(record) - record.count(None)
            taken += POINTER * len(record) + _OBJECT * held + sum(map(len, texts))
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
        """Names of columns, all different and none empty; what had to be changed is noted."""
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
            told = quote(", ".join(changed), 200)
            self.notes.append(f"columns without a name, or with one that came before, are called {told}")
        return list(names)

    def check(self, size: int) -> None:
        """Refuse the file if it asks for more than so many bytes."""
        if size <= self._limit:
            return
        message = too_large(size, self.path, self.max_gib, text=True)
        raise DatasetError(f"as a table it {message}", self.path)


def _frame(block: list[list[Cell]], names: Sequence[str], start: int) -> pd.DataFrame:
    index = pd.RangeIndex(start, start + len(block))
    return pd.DataFrame(block, index=index, columns=list(names), dtype=object)


def filled(text: str) -> str | None:
    """A text as it is; None where nothing stands in it."""
    return text if text and not text.isspace() else None
