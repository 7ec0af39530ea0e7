"""The formats, and which of them a file has, by what is in it."""

from __future__ import annotations

from pathlib import Path

from simlabel.datasets._arff import ARFF
from simlabel.datasets._csv import CSV
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._format import Format, Head
from simlabel.datasets._lines import open_bytes
from simlabel.datasets._npy import NPY
from simlabel.datasets._npz import NPZ
from simlabel.datasets._parquet import PARQUET
from simlabel.datasets._svmlight import SVMLIGHT
from simlabel.datasets._xmc import XMC

#: by name, in the order in which they are tried: any text that is nothing else is CSV
FORMATS: dict[str, Format] = {one.name: one for one in (ARFF, SVMLIGHT, XMC, PARQUET, NPZ, NPY, CSV)}

_HEAD = 1 << 16  # bytes that are looked at


def find_format(path: Path, name: str | None = None) -> Format:
    """The format that the user names, if there is such a one, else the one that the content shows."""
    if name is None:
        return detect_format(path)
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(map(repr, FORMATS))}, got {name!r}.")
    return FORMATS[name]


def detect_format(path: Path) -> Format:
    """The format that the content of a file shows."""
    with open_bytes(path) as stream:
        head = Head(stream.read(_HEAD))
    for one in FORMATS.values():
        if one.sniff(head):
            return one
    if head.begins("<"):
        raise DatasetError("expected a data set, found XML; load the ARFF file that it belongs to", path)
    raise DatasetError(f"expected a data set ({', '.join(FORMATS)}), found {quote(head.text[:40])}", path)


def is_taken_for_csv(path: Path) -> bool:
    """Whether a file is CSV only because it is text, such as a note, and its name does not say so."""
    return detect_format(path) is CSV and not CSV.has_ending(path.name)
