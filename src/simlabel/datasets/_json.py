"""JSON as a raw table: an object per line, or an array of objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pandas as pd

from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._reading import NumberedCells, RawCell, TableChunks, as_cell
from simlabel.datasets._text import find_encoding, text_lines

_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# the number of an object, and its cells by name, or what is wrong with it
Entry = tuple[int, dict[str, RawCell] | str]


def read_lines(reading: TableChunks) -> Iterator[pd.DataFrame]:
    """Yield frames of a file with an object on each line."""
    lines = _text(reading)

    def entries() -> Iterator[Entry]:
        for number, line in enumerate(lines(), start=1):
            if line.strip():
                try:
                    yield number, _cells(_parse(line))
                except (ValueError, RecursionError) as error:
                    yield number, f"expected a JSON object; {_reason(error)}"

    return _frames(reading, entries)


def read_array(reading: TableChunks) -> Iterator[pd.DataFrame]:
    """Yield frames of a file that is one array of objects."""
    text = "".join(_text(reading)())
    try:
        items = _parse(text)
        if not isinstance(items, list):
            what = f"expected a JSON array of objects, found {quote(text.strip())}"
            raise DatasetError(what, reading.path, 1)
        found = [(number, _cells(item)) for number, item in enumerate(items, start=1)]
    except DatasetError:
        raise
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        what = f"expected a JSON array of objects; {_reason(error)}"
        raise DatasetError(what, reading.path, line) from None
    return _frames(reading, lambda: iter(found))


def _text(reading: TableChunks) -> Callable[[], Iterator[str]]:
    """Find the encoding and note it; return a function that yields the lines."""
    encoding = find_encoding(reading.path, reading.encoding, reading.max_gib)
    reading.notes.append(encoding.note)
    return partial(text_lines, reading.path, encoding, reading.max_gib)


def _frames(reading: TableChunks, entries: Callable[[], Iterator[Entry]]) -> Iterator[pd.DataFrame]:
    """Read twice: a name that first occurs in the last object is a column of all frames."""
    found: dict[str, None] = {}
    first: Entry | None = None
    for entry in entries():
        first = first or entry
        if isinstance(entry[1], dict):
            found.update(dict.fromkeys(entry[1]))
    if first is None:  # no rows
        yield pd.DataFrame()
        return
    if not found:
        what = "expected JSON objects with names and values, found none"
        raise DatasetError(first[1] if isinstance(first[1], str) else what, reading.path, first[0])
    names = reading.named(found)

    def rows() -> Iterator[NumberedCells]:
        for number, entry in entries():
            if isinstance(entry, str):
                reading.skip(number, entry)
            else:
                yield number, [entry.get(name) for name in found]

    yield from reading.frames(names, rows())


def _cells(item: Any) -> dict[str, RawCell] | str:
    """Return the cells of an object by name, or what is wrong with it."""
    if isinstance(item, dict):
        return {name: as_cell(cell) for name, cell in item.items()}
    return f"expected a JSON object, found {quote(repr(item))}"


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return error.msg if isinstance(error, json.JSONDecodeError) else str(error)


def _parse(text: str) -> Any:
    """Parse JSON; NaN, which some programs write for a missing value, becomes None."""
    value = json.loads(text, parse_constant=lambda word: None if word == "NaN" else float(word))
    if _ESCAPED_SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("half of a surrogate pair is not a character") from None
    return value
