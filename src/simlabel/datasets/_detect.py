"""Which format a file has, by what is in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from simlabel.datasets._arff import read_arff
from simlabel.datasets._csv import read_csv
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._lines import open_bytes
from simlabel.datasets._npz import read_npz
from simlabel.datasets._parquet import read_parquet
from simlabel.datasets._svmlight import read_svmlight
from simlabel.datasets._xmc import HEADER, read_xmc

READERS: dict[str, Callable[..., Dataset]] = {
    "arff": read_arff,
    "svmlight": read_svmlight,
    "xmc": read_xmc,
    "csv": read_csv,
    "parquet": read_parquet,
    "npz": read_npz,
}

_HEAD = 1 << 16  # bytes that are looked at
_NUMBERS = frozenset("0123456789+-., \t")


def format_of(path: Path, format: str | None) -> str:
    """The format that the user names, if there is such a one, else the one that the content shows."""
    if format is not None and format not in READERS:
        raise ValueError(f"format must be one of {', '.join(map(repr, READERS))}, got {format!r}.")
    return format or detect_format(path)


def detect_format(path: Path) -> str:
    """Name of the format of a file."""
    with open_bytes(path) as stream:
        head = stream.read(_HEAD)
    if head.startswith(b"PK\x03\x04"):
        return "npz"
    if head.startswith(b"PAR1"):
        return "parquet"
    text = head.decode("utf-8-sig", "simlabel-latin-1")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines or "\x00" in text:
        raise DatasetError(f"expected a data set ({', '.join(READERS)}), found {quote(text[:40])}", path)
    return _text_format(lines, path)


def _text_format(lines: list[str], path: Path) -> str:
    first = lines[0].lstrip()
    if first.startswith("<"):
        raise DatasetError("expected a data set, found XML; load the ARFF file that it belongs to", path)
    if first.startswith(("@", "%")):
        return "arff"
    rows = [line for line in lines if not line.lstrip().startswith("#")]
    if rows and HEADER.fullmatch(rows[0]):
        return "xmc"
    if rows and _is_sparse_row(rows[0]):
        return "svmlight"
    return "csv"


def _is_sparse_row(line: str) -> bool:
    """Whether there are only numbers before the first colon, and a number behind it."""
    before, colon, after = line.partition(":")
    return bool(colon) and _NUMBERS.issuperset(before.removesuffix("qid")) and after[:1] in _NUMBERS
