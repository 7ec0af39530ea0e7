"""The formats of tables, and which of them a file has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from simlabel.datasets._errors import DatasetError
from simlabel.datasets._lines import open_bytes
from simlabel.datasets.tables import _csv, _excel, _json, _parquet
from simlabel.datasets.tables._encoding import guess_encoding
from simlabel.datasets.tables._reading import TableReading

_HEAD = 1 << 12  # bytes that are looked at


@dataclass(frozen=True)
class TableFormat:
    """A format of tables.

    Attributes
    ----------
    name : str
        As it is asked for.
    title : str
        What it is.
    read : callable
        From a `TableReading` to frames, at least one.
    magic : bytes
        With which such a file begins; empty where it is text.
    shape : str
        A pattern with which the text of such a file begins.
    options : tuple of str
        The parameters of `read_table` that mean something for it.
    """

    name: str
    title: str
    read: Callable[[TableReading], Iterator[pd.DataFrame]]
    magic: bytes = b""
    shape: str = ""
    options: tuple[str, ...] = ()

    def sniff(self, head: bytes, text: str) -> bool:
        """Whether the beginning of a file, as bytes and as text, shows it."""
        return head.startswith(self.magic) if self.magic else re.match(self.shape, text) is not None


_PARQUET = TableFormat("parquet", "Parquet", _parquet.read, magic=b"PAR1")
_EXCEL = TableFormat(
    "excel", "an Excel workbook (xlsx)", _excel.read, magic=b"PK\x03\x04", options=("sheet",)
)
_JSON_LINES = TableFormat(
    "jsonl",
    "JSON with an object on each line",
    _json.read_lines,
    shape=r'\s*\{\s*["}]',
    options=("encoding",),
)
_JSON_ARRAY = TableFormat(
    "json", "a JSON array of objects", _json.read_array, shape=r"\s*\[\s*[\]{]", options=("encoding",)
)
_CSV = TableFormat("csv", "CSV with a line of names", _csv.read, options=("delimiter", "encoding"))

#: by name, in the order in which they are tried: any text that is nothing else is CSV
TABLE_FORMATS: dict[str, TableFormat] = {
    one.name: one for one in (_PARQUET, _EXCEL, _JSON_LINES, _JSON_ARRAY, _CSV)
}

# what people take for a table, and what to do with it
_OTHERS = {
    rb"\xd0\xcf\x11\xe0": "an Excel workbook of before 2007 (xls), or with a password; save it as plain xlsx",
    rb"(\xef\xbb\xbf)?\s*<": "XML or HTML; open it in a spreadsheet, and save it as xlsx or CSV",
    rb"(?i)\s*(%[^\n]*\n\s*)*@relation\b": "ARFF, which load_dataset reads",
    rb"\x93NUMPY": "a numpy array, which is no table; models of matrices read it",
    rb"%PDF": "a PDF",
}


def find_table_format(path: Path, name: str | None, max_gib: float | None) -> TableFormat:
    """The format that the user names, if there is such a one, else the one that the content shows."""
    if name is not None:
        if name not in TABLE_FORMATS:
            raise ValueError(f"format must be one of {', '.join(map(repr, TABLE_FORMATS))}, got {name!r}.")
        return TABLE_FORMATS[name]
    with open_bytes(path, max_gib) as stream:
        head = stream.read(_HEAD)
    for pattern, what in _OTHERS.items():
        if re.match(pattern, head):
            raise DatasetError(f"expected a table ({', '.join(TABLE_FORMATS)}), found {what}", path)
    text = head.decode(guess_encoding(head)[0], "replace").removeprefix("\ufeff")
    return next(one for one in TABLE_FORMATS.values() if one.sniff(head, text))
