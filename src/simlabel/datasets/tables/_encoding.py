"""Which characters the bytes of a text file mean."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from simlabel.datasets._errors import DatasetError
from simlabel.datasets._lines import open_bytes

_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_MARK = "\ufeff"
_HEAD, _BLOCK = 1 << 12, 1 << 20
_HALVES = re.compile("[\ud800-\udfff]")  # of surrogate pairs
_ESCAPED = 0xDC00  # "surrogateescape" gives a byte that is not UTF-8 as the half with this number more


def _windows(byte: int) -> str:
    """The character of a byte in Windows' western code page; in Latin-1 the few that it lacks."""
    try:
        return bytes([byte]).decode("cp1252")
    except UnicodeDecodeError:
        return chr(byte)


_MENDED = {_ESCAPED + byte: _windows(byte) for byte in range(0x80, 0x100)}
_HALVES_OF_WINDOWS = "".join(chr(half) for half, mended in _MENDED.items() if mended > chr(0xFF))
_ONLY_WINDOWS = re.compile(f"[{_HALVES_OF_WINDOWS}]")


@dataclass(frozen=True)
class Encoding:
    """An encoding as Python calls it, whether bytes that do not fit are mended, and a note for people."""

    name: str
    errors: str
    note: str


def find_encoding(path: Path, told: str | None = None, max_gib: float | None = None) -> Encoding:
    """Find the encoding of a text file, having looked at all of it; `told` is what the user says it is.

    What is not marked is UTF-8, and single bytes that are not are Windows' western code page or Latin-1.
    So a table with one foreign byte keeps its other letters.
    """
    if told is not None:
        _check_known(told)
        _survey(path, told, "strict", max_gib)
        return Encoding(told, "strict", f"encoding: {told}, as told")
    name, how = guess_encoding(_head(path, max_gib))
    errors = "surrogateescape" if name == "utf-8" else "strict"
    bad, is_windows = _survey(path, name, errors, max_gib)
    if bad is None:
        return Encoding(name, "strict", f"encoding: {name.upper()}{how}")
    as_what = "Windows-1252" if is_windows else "Latin-1"
    byte, line = bad
    return Encoding(name, errors, f"read as {as_what}: byte 0x{byte:02x} on line {line} is not UTF-8")


def _head(path: Path, max_gib: float | None) -> bytes:
    with open_bytes(path, max_gib) as stream:
        return stream.read(_HEAD)


def guess_encoding(head: bytes) -> tuple[str, str]:
    """What the beginning of a file shows, and how.

    Examples
    --------
    >>> guess_encoding("title,tags".encode("utf-16-be"))
    ('utf-16-be', ' by its zero bytes')
    """
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name, " with a byte order mark"
    first, second = head[0::2].count(0), head[1::2].count(0)
    if bool(first) != bool(second) and 8 * max(first, second) >= len(head):
        return ("utf-16-be" if first else "utf-16-le"), " by its zero bytes"
    return "utf-8", ""


def _check_known(name: str) -> None:
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, UnicodeError, ValueError):
        raise ValueError(f"encoding must be one that Python knows, such as 'cp1252'; got {name!r}.") from None


def _survey(path: Path, name: str, errors: str, max_gib: float | None) -> tuple[tuple[int, int] | None, bool]:
    """The first byte that is not UTF-8 and its line, and whether some are characters of Windows alone.

    Refuses what is no text: before the first row is read, so that nothing is done with half a file.
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
            _check_text(text, path, line)
            half = None if text.isascii() else _HALVES.search(text)
            if half is not None and errors == "strict":
                what = f"expected text in {name}, found half of a surrogate pair"
                raise DatasetError(what, path, line + text.count("\n", 0, half.start()))
            if half is not None:
                bad = bad or (ord(half.group()) - _ESCAPED, line + text.count("\n", 0, half.start()))
                is_windows = is_windows or _ONLY_WINDOWS.search(text) is not None
            line += text.count("\n")
    return bad, is_windows


def _check_text(text: str, path: Path, line: int) -> None:
    place = text.find("\0")
    if place >= 0:
        raise DatasetError(
            "expected text, found a zero byte; if it is UTF-16, say so with encoding='utf-16-le' or "
            "'utf-16-be', else it is damaged or no text file",
            path,
            line + text.count("\n", 0, place),
        )


def text_lines(path: Path, encoding: Encoding, max_gib: float | None = None) -> Generator[str, None, None]:
    r"""Lines with their ends, which are ``\n``, ``\r`` or both, without the mark before the first."""
    raw = cast("io.BufferedReader", open_bytes(path, max_gib))
    with io.TextIOWrapper(raw, encoding.name, encoding.errors, newline="") as stream:
        for number, line in enumerate(stream):
            text = line.removeprefix(_MARK) if number == 0 else line
            yield text if encoding.errors == "strict" or text.isascii() else text.translate(_MENDED)
