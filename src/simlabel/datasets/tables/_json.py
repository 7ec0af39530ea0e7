"""JSON as a table: an object per line, or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets.tables._encoding import find_encoding, text_lines
from simlabel.datasets.tables._reading import Cell, Record, TableReading
from simlabel.datasets.tables._values import as_cell

_ESCAPED_HALF = re.compile(r"\\u[dD][89a-fA-F]")
# an object's cells by name, or what is wrong with it; with its number
Entry = tuple[int, dict[str, Cell] | str]


def read_lines(reading: TableReading) -> Iterator[pd.DataFrame]:
    """Frames of a file with an object on each line."""
    encoding = find_encoding(reading.path, reading.encoding, reading.max_gib)
    reading.notes.append(encoding.note)

    def entries() -> Iterator[Entry]:
        for number, line in enumerate(text_lines(reading.path, encoding, reading.max_gib), start=1):
            if line.strip():
                yield number, _entry(partial(_parse, line))

    return _table(reading, entries)


def read_array(reading: TableReading) -> Iterator[pd.DataFrame]:
    """Frames of a file that is one array of objects."""
    encoding = find_encoding(reading.path, reading.encoding, reading.max_gib)
    reading.notes.append(encoding.note)
    text = "".join(text_lines(reading.path, encoding, reading.max_gib))
    try:
        items = _parse(text)
    except json.JSONDecodeError as error:
        what = f"expected a JSON array of objects; {error.msg}"
        raise DatasetError(what, reading.path, error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"expected a JSON array of objects; {_reason(error)}", reading.path) from None
    if not isinstance(items, list):
        what = f"expected a JSON array of objects, found {quote(text.strip())}"
        raise DatasetError(what, reading.path, 1)

    def entries() -> Iterator[Entry]:
        for number, item in enumerate(items, start=1):
            yield number, _entry(partial(_itself, item))

    return _table(reading, entries)


def _table(reading: TableReading, entries: Callable[[], Iterator[Entry]]) -> Iterator[pd.DataFrame]:
    """Go through twice: a name that first comes in the last object is a column of all frames."""
    found: dict[str, None] = {}
    for _, entry in entries():
        if isinstance(entry, dict):
            found.update(dict.fromkeys(entry))
    if not found:
        first = next(entries(), None)
        if first is None:  # no rows, as a table of which only the names are there
            yield pd.DataFrame()
            return
        what = (
            first[1]
            if isinstance(first[1], str)
            else "expected JSON objects with names and values, found none"
        )
        raise DatasetError(what, reading.path, first[0])
    names = reading.named(found)

    def rows() -> Iterator[Record]:
        for number, entry in entries():
            if isinstance(entry, str):
                reading.leave_out(number, entry)
            else:
                yield number, [entry.get(name) for name in found]

    yield from reading.frames(names, rows())


def _entry(value: Callable[[], Any]) -> dict[str, Cell] | str:
    try:
        item = value()
        if isinstance(item, dict):
            return {name: as_cell(cell) for name, cell in item.items()}
    except (ValueError, RecursionError) as error:
        return f"expected a JSON object; {_reason(error)}"
    return f"expected a JSON object, found {quote(repr(item))}"


def _itself(item: Any) -> Any:
    return item


def _reason(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _parse(text: str) -> Any:
    value = json.loads(text, parse_constant=_constant)
    if _ESCAPED_HALF.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is no character") from None
    return value


def _constant(word: str) -> float | None:
    """NaN is how some programs write that there is nothing."""
    return None if word == "NaN" else float(word)
