"""Text files as numbered lines: gzip or plain, any line end, UTF-8 with Latin-1 where it is not."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from simlabel._utils.files import too_large
from simlabel.datasets._dataset import PARTS
from simlabel.datasets._errors import DatasetError

GZIP = b"\x1f\x8b"


def _latin_1(error: UnicodeError) -> tuple[str, int]:
    """Read what is not UTF-8 as Latin-1, in which older collections are written."""
    bad = cast("UnicodeDecodeError", error)
    return bad.object[bad.start : bad.end].decode("latin-1"), bad.end


codecs.register_error("simlabel-latin-1", _latin_1)


class _Bounded(io.RawIOBase):
    """An unpacked stream that refuses to go on beyond a limit."""

    def __init__(self, stream: IO[bytes], path: Path, max_gib: float | None) -> None:
        self._stream = stream
        self._path = path
        self._unpacked, self._max_gib = 0, max_gib

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            chunk = self._stream.read(len(buffer))
        except (OSError, EOFError, zlib.error) as error:
            raise DatasetError(f"expected a gzip file, and it is damaged: {error}", self._path) from None
        self._unpacked += len(chunk)
        message = too_large(self._unpacked, self._path, self._max_gib, text=True)
        if message is not None:
            raise DatasetError(f"unpacked, it {message} or more", self._path)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._stream.close()
        super().close()


def open_bytes(path: Path, max_gib: float | None = None) -> IO[bytes]:
    """Open for reading, unpacked if it is gzip."""
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == GZIP
    if not is_gzip:
        return path.open("rb")
    return io.BufferedReader(_Bounded(cast("IO[bytes]", gzip.open(path)), path, max_gib))


def open_text(path: Path, max_gib: float | None = None) -> IO[str]:
    """Open as text; a byte order mark is dropped, every line end is a newline."""
    stream = cast("io.BufferedReader", open_bytes(path, max_gib))
    return io.TextIOWrapper(stream, "utf-8-sig", "simlabel-latin-1")


def numbered_lines(path: Path, max_gib: float | None = None) -> Iterator[tuple[int, str]]:
    """Lines without their ends, counted from 1."""
    with open_text(path, max_gib) as stream:
        for number, line in enumerate(stream, start=1):
            yield number, line.rstrip("\n")


_PART = re.compile(rf"[-_.]({'|'.join(PARTS)})(?=(?:-sparse)?$)", re.IGNORECASE)  # as Mulan names files


def stem(path: Path) -> str:
    """Name of a file without its endings.

    Examples
    --------
    >>> stem(Path("data/scene-train.arff.gz"))
    'scene-train'
    """
    name = path.name.removesuffix(".gz")
    return name.rpartition(".")[0] or name


def set_name(path: Path) -> str:
    """Name of the set that a file belongs to.

    Examples
    --------
    >>> set_name(Path("data/scene-train.arff"))
    'scene'
    """
    return _PART.sub("", stem(path))


def part_number(path: Path) -> int | None:
    """Return the number in the split of a file's part, or None for a whole set.

    Examples
    --------
    >>> part_number(Path("data/Corel5k-test-sparse.arff")), part_number(Path("data/scene.arff"))
    (2, None)
    """
    found = _PART.search(stem(path))
    return None if found is None else PARTS[found[1].lower()]
