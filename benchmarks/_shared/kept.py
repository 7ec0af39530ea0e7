"""Finished folds in one file, so that a table can be gone on with in another place and at another time."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator
from pathlib import Path

from simlabel.support.replacing import replacing


def pack(paths: Iterable[Path], folder: Path, file: Path) -> None:
    """Write finished folds of a folder to a file, which keeps those of rivals that are not here."""
    found = {str(path.relative_to(folder)): path.read_text() for path in paths}
    played = {Path(name).parent for name in found}
    found |= {name: text for name, text in _read(file) if Path(name).parent not in played}
    lines = [json.dumps(each) for each in sorted(found.items())]
    with replacing(file) as out:
        out.write(lzma.compress("\n".join(lines).encode(), preset=9))


def unpack(file: Path, folder: Path) -> int:
    """Write the folds of a file to a folder, but for those that are there; how many were written."""
    written = 0
    for name, text in _read(file):
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ValueError(f"{file} would write outside of {folder}: {name}")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            written += 1
    return written


def _read(file: Path) -> Iterator[tuple[str, str]]:
    if file.exists():
        yield from map(json.loads, lzma.decompress(file.read_bytes()).decode().splitlines())
