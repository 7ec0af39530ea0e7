"""A sheet of an Excel workbook (xlsx) as a table."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from typing import IO, Any

import pandas as pd

from simlabel.datasets._errors import DatasetError, check_memory, quote
from simlabel.datasets.tables._reading import POINTER, Cell, Record, TableReading
from simlabel.datasets.tables._values import as_cell

_ROWS = 1 << 20  # of a sheet, by the format; a damaged one may claim any number
# what stands in a cell whose formula failed
_FAILED = frozenset(["#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A", "#GETTING_DATA"])


def read(reading: TableReading) -> Iterator[pd.DataFrame]:
    """Frames of a sheet: texts, numbers, truths; dates as ISO texts; None where nothing is.

    Formulas are what they were worth when the workbook was saved; one that failed is nothing.
    """
    if find_spec("openpyxl") is None:
        what = "expected openpyxl, which reads Excel workbooks: pip install simlabel[excel]"
        raise DatasetError(what, reading.path)
    try:
        with zipfile.ZipFile(reading.path) as archive:
            check_memory(sum(info.file_size for info in archive.infolist()), reading.path, reading.max_gib)
        # opened here: by its path openpyxl would refuse a file that is not called *.xlsx
        with reading.path.open("rb") as opened, closing(_workbook(opened)) as workbook:
            yield from _frames(workbook, reading)
    except (DatasetError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook fails anywhere in openpyxl, with any exception
        what = f"expected an Excel workbook, and it is damaged: {type(error).__name__}: {error}"
        raise DatasetError(what.partition("\n")[0], reading.path) from None


def _workbook(opened: IO[bytes]) -> Any:
    from openpyxl import load_workbook

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and filters, which are not read
        return load_workbook(opened, read_only=True, data_only=True)


def _frames(workbook: Any, reading: TableReading) -> Iterator[pd.DataFrame]:
    sheets = {sheet.title: sheet for sheet in workbook.worksheets}
    title = next(iter(sheets), None) if reading.sheet is None else reading.sheet
    if title is None or title not in sheets:
        wanted = "a sheet" if title is None else f"a sheet {quote(title)}"
        what = f"expected {wanted}, found {quote(', '.join(sheets) or 'none', 300)}"
        raise DatasetError(what, reading.path)
    others = f" of {len(sheets)}" if len(sheets) > 1 else ""
    reading.notes.append(f"sheet {quote(title)}{others}")
    sheets[title].reset_dimensions()  # what a writer claims is often wrong
    records = _records(sheets[title], reading)
    header = next(records, None)
    if header is None:
        what = f"expected a row with the names of the columns in sheet {quote(title)}, found none"
        raise DatasetError(what, reading.path)
    names = reading.named(None if cell is None else str(cell) for cell in header[1])
    yield from reading.frames(names, _rows(records, len(names), reading))


def _records(sheet: Any, reading: TableReading) -> Iterator[Record]:
    """Rows in which something stands, without the empty cells at their ends."""
    padding = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _ROWS:
            raise DatasetError(f"expected at most {_ROWS:,} rows in a sheet", reading.path)
        cells: list[Cell] = [None if cell in _FAILED else as_cell(cell) for cell in row]
        while cells and cells[-1] is None:
            cells.pop()
        padding += len(row) - len(cells)
        reading.check(POINTER * padding)
        if cells:
            yield number, cells


def _rows(records: Iterator[Record], width: int, reading: TableReading) -> Iterator[Record]:
    left_out = 0
    for number, cells in records:
        if len(cells) > width:
            # a row is as wide as its last cell: a few bytes can be 16,384 cells
            left_out += len(cells)
            reading.check(POINTER * left_out)
            reading.leave_out(number, f"expected {width} cells, found {len(cells)}")
        else:
            yield number, cells + [None] * (width - len(cells))
