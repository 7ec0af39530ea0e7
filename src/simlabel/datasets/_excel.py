"""Excel workbooks (xlsx): a sheet as a raw table, and a sheet that is written."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from importlib.util import find_spec
from typing import IO, Any

import pandas as pd

from simlabel.datasets._errors import DatasetError, check_memory, quote
from simlabel.datasets._reading import POINTER, NumberedCells, RawCell, TableChunks, as_cell

# bounds of the format; a damaged sheet may claim any number of rows
_MAX_ROWS, _MAX_COLUMNS, _LONGEST = 1 << 20, 1 << 14, 32_767
_EXACT = 1 << 53  # numbers of a sheet are floats: larger integers are written as texts
# the value of a cell whose formula failed
_FAILED = frozenset(["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"])


def read_excel_frames(reading: TableChunks) -> Iterator[pd.DataFrame]:
    """Yield frames of texts, numbers and booleans; dates as ISO texts; None for empty cells.

    Formulas have the values that the workbook stores; a failed one is None.
    """
    if find_spec("openpyxl") is None:
        what = "expected openpyxl, which reads Excel workbooks: pip install simlabel[excel]"
        raise DatasetError(what, reading.path)
    from openpyxl import load_workbook

    try:
        with zipfile.ZipFile(reading.path) as archive:
            check_memory(sum(info.file_size for info in archive.infolist()), reading.path, reading.max_gib)
        # an open file: openpyxl refuses a path that does not end with .xlsx
        with reading.path.open("rb") as opened:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about styles and filters, which are not read
                workbook = load_workbook(opened, read_only=True, data_only=True)
            with closing(workbook):
                yield from _frames(workbook, reading)
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # openpyxl raises any exception for a damaged workbook
        what = f"expected an Excel workbook, and it is damaged: {type(error).__name__}: {error}"
        raise DatasetError(what.partition("\n")[0], reading.path) from None


def _frames(workbook: Any, reading: TableChunks) -> Iterator[pd.DataFrame]:
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    title = next(iter(sheets), None) if reading.sheet is None else reading.sheet
    if title is None or title not in sheets:
        requested = "a sheet" if title is None else f"a sheet {quote(title)}"
        what = f"expected {requested}, found {quote(', '.join(sheets) or 'none', 300)}"
        raise DatasetError(what, reading.path)
    others = f" of {len(sheets)}" if len(sheets) > 1 else ""
    reading.notes.append(f"sheet {quote(title)}{others}")
    sheets[title].reset_dimensions()  # the stored dimensions are often wrong
    records = _records(sheets[title], reading)
    header = next(records, None)
    if header is None:
        what = f"expected a row with the names of the columns in sheet {quote(title)}, found none"
        raise DatasetError(what, reading.path)
    names = reading.named(None if cell is None else str(cell) for cell in header[1])
    yield from reading.frames(names, records)


def _records(sheet: Any, reading: TableChunks) -> Iterator[NumberedCells]:
    """Yield the rows that are not empty, without the empty cells at their ends."""
    padding = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MAX_ROWS:
            raise DatasetError(f"expected at most {_MAX_ROWS:,} rows in a sheet", reading.path)
        cells: list[RawCell] = [None if cell in _FAILED else as_cell(cell) for cell in row]
        while cells and cells[-1] is None:
            cells.pop()
        padding += len(row) - len(cells)
        reading.check(POINTER * padding)
        if cells:
            yield number, cells


class Sheet:
    """An Excel workbook (xlsx) with one sheet, written row by row; it requires openpyxl.

    Examples
    --------
    >>> import io
    >>> sheet, file = Sheet(), io.BytesIO()
    >>> sheet.append(["title", "year"])
    >>> sheet.append(["=1+1", 1975])  # a text, not a formula
    >>> sheet.save(file)
    >>> file.getvalue()[:2]
    b'PK'
    """

    def __init__(self) -> None:
        try:
            from openpyxl import Workbook
        except ImportError:
            raise ImportError(
                "xlsx needs openpyxl: pip install 'simlabel[excel]'; or write CSV, JSON lines or Parquet."
            ) from None
        self._book = Workbook(write_only=True)
        self._sheet = self._book.create_sheet("items")
        self._rows = 0

    def append(self, row: Sequence[Any]) -> None:
        """Add a row of texts, numbers, booleans and None."""
        self._rows += 1
        if self._rows > _MAX_ROWS or len(row) > _MAX_COLUMNS:
            found = f"{self._rows:,} rows" if self._rows > _MAX_ROWS else f"{len(row):,} columns"
            raise ValueError(
                f"a sheet of an xlsx file holds at most {_MAX_ROWS:,} rows, including the line of names, "
                f"and {_MAX_COLUMNS:,} columns, got {found}; write CSV, JSON lines or Parquet."
            )
        self._sheet.append([self._converted(cell, column) for column, cell in enumerate(row, start=1)])

    def _converted(self, cell: Any, column: int) -> Any:
        if isinstance(cell, int) and abs(cell) > _EXACT:
            cell = str(cell)
        if not isinstance(cell, str):
            return cell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
        from openpyxl.cell.cell import WriteOnlyCell
        from openpyxl.utils import get_column_letter

        if len(cell) > _LONGEST:
            raise ValueError(
                f"the text for cell {get_column_letter(column)}{self._rows} has {len(cell):,} characters, "
                f"and a cell of an xlsx file holds {_LONGEST:,}; write CSV, JSON lines or Parquet."
            )
        text = WriteOnlyCell(self._sheet, ILLEGAL.sub("", cell))
        text.data_type = "s"  # also if it begins with "=" or is "#N/A"
        return text

    def save(self, file: IO[bytes]) -> None:
        """Write the workbook."""
        self._book.save(file)
