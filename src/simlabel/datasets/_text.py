"""Text files: gzip or plain, any line end, UTF-8, UTF-16, Windows-1252 or Latin-1."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from simlabel._utils.files import too_large
from simlabel.datasets._errors import DatasetError

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_HEAD, _BLOCK = 1 << 12, 1 << 20
_SURROGATES = re.compile("[\ud800-\udfff]")
_ESCAPED = 0xDC00  # "surrogateescape" decodes a byte that is not UTF-8 as this surrogate plus the byte


def _windows(byte: int) -> str:
    """Decode a byte as Windows-1252, or as Latin-1 if Windows-1252 does not define it."""
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_REPLACED = {_ESCAPED + byte: _windows(byte) for byte in range(0x80, 0x100)}
_WINDOWS_ONLY = {surrogate for surrogate, text in _REPLACED.items() if text > chr(0xFF)}


class _Bounded(io.RawIOBase):
    """An unpacked stream that raises an error beyond the memory limit of its file."""

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
    """Open a file for reading, unpacked if it is gzip."""
    with path.open("rb") as stream:
        is_gzip = stream.read(2) == _GZIP
    if not is_gzip:
        return path.open("rb")
    return io.BufferedReader(_Bounded(cast("IO[bytes]", gzip.open(path)), path, max_gib))


@dataclass(frozen=True)
class Encoding:
    """An encoding by its Python name, the error handler, and a note about how it was found."""

    name: str
    errors: str
    note: str


def find_encoding(path: Path, given: str | None = None, max_gib: float | None = None) -> Encoding:
    """Find the encoding of a text file by reading all of it; `given` is the one that the user names.

    Text without a byte order mark is UTF-8. Single bytes that are not valid UTF-8 are read as Windows-1252 or
    Latin-1, so that a table with one foreign byte keeps its other letters.
    """
    if given is not None:
        try:
            "".encode(given)
            codecs.getincrementaldecoder(given)
        except (LookupError, UnicodeError, ValueError):
            what = f"encoding must be one that Python knows, such as 'cp1252'; got {given!r}."
            raise ValueError(what) from None
        _survey(path, given, "strict", max_gib)
        return Encoding(given, "strict", f"encoding: {given}, as given")
    with open_bytes(path, max_gib) as stream:
        name, how = guess_encoding(stream.read(_HEAD))
    errors = "surrogateescape" if name == "utf-8" else "strict"
    bad, is_windows = _survey(path, name, errors, max_gib)
    if bad is None:
        return Encoding(name, "strict", f"encoding: {name.upper()}{how}")
    byte, line = bad
    read_as = "Windows-1252" if is_windows else "Latin-1"
    return Encoding(name, errors, f"read as {read_as}: byte 0x{byte:02x} on line {line} is not UTF-8")


def guess_encoding(head: bytes) -> tuple[str, str]:
    """Guess the encoding from the beginning of a file; also return how it was recognized.

    Examples
    --------
    >>> guess_encoding("title,tags".encode("utf-16-be"))
    ('utf-16-be', ' by its zero bytes')
    """
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return name, " with a byte order mark"
    first, second = head[0::2].count(0), head[1::2].count(0)
    if bool(first) != bool(second) and 8 * max(first, second) >= len(head):
        return ("utf-16-be" if first else "utf-16-le"), " by its zero bytes"
    return "utf-8", ""


def _survey(path: Path, name: str, errors: str, max_gib: float | None) -> tuple[tuple[int, int] | None, bool]:
    """Return the first byte that is not UTF-8 with its line, and whether only Windows-1252 has such a byte.

    Files that are not text raise an error here, before the first row is processed.
    """
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(name)(errors), translate=True)
    bad, is_windows, line = None, False, 1
    with open_bytes(path, max_gib) as stream:
        more = True
        while more:
            block = stream.read(_BLOCK)
            more = bool(block)
            try:
                text = decoder.decode(block, final=not more)
            except UnicodeDecodeError as error:
                line += error.object[: error.start].decode(name, "ignore").count("\n")
                found = error.object[error.start : error.start + 1].hex()
                what = f"expected text in {name}, found byte 0x{found} ({error.reason})"
                raise DatasetError(what, path, line) from None
            except UnicodeError as error:
                raise DatasetError(f"expected text in {name}; {error}", path, line) from None
            surrogate = _check_text(text, name, errors, path, line)
            if surrogate is not None:
                found_at = line + text.count("\n", 0, surrogate.start())
                bad = bad or (ord(surrogate.group()) - _ESCAPED, found_at)
                is_windows = is_windows or not _WINDOWS_ONLY.isdisjoint(map(ord, text))
            line += text.count("\n")
    return bad, is_windows


def _check_text(text: str, name: str, errors: str, path: Path, line: int) -> re.Match[str] | None:
    """Return the first byte that was escaped; raise an error for zero bytes and halves of surrogate pairs."""
    zero = text.find("\0")
    if zero >= 0:
        raise DatasetError(
            "expected text, found a zero byte; if it is UTF-16, set encoding='utf-16-le' or "
            "'utf-16-be', else it is damaged or not a text file",
            path,
            line + text.count("\n", 0, zero),
        )
    surrogate = None if text.isascii() else _SURROGATES.search(text)
    if surrogate is not None and errors == "strict":
        what = f"expected text in {name}, found half of a surrogate pair"
        raise DatasetError(what, path, line + text.count("\n", 0, surrogate.start()))
    return surrogate


def text_lines(path: Path, encoding: Encoding, max_gib: float | None = None) -> Generator[str, None, None]:
    r"""Yield lines with their ends (``\n``, ``\r`` or both), without the byte order mark."""
    raw = cast("io.BufferedReader", open_bytes(path, max_gib))
    with io.TextIOWrapper(raw, encoding.name, encoding.errors, newline="") as stream:
        for number, line in enumerate(stream):
            text = line.removeprefix("\ufeff") if number == 0 else line
            yield text if encoding.errors == "strict" or text.isascii() else text.translate(_REPLACED)


def numbered_lines(path: Path, max_gib: float | None = None) -> Iterator[tuple[int, str]]:
    """Yield lines without their ends, counted from 1."""
    encoding = find_encoding(path, None, max_gib)
    with closing(text_lines(path, encoding, max_gib)) as lines:
        for number, line in enumerate(lines, start=1):
            yield number, line.rstrip("\r\n")
