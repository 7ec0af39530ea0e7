"""Finished folds in one file, so that a table can be gone on with in another place and at another time."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable
from pathlib import Path


def pack(paths: Iterable[Path], folder: Path, file: Path) -> None:
    """Write finished folds of a folder to a file, in an order that does not depend on when they ended."""
    lines = [json.dumps([str(path.relative_to(folder)), path.read_text()]) for path in sorted(paths)]
    file.write_bytes(lzma.compress("\n".join(lines).encode(), preset=9))


def unpack(file: Path, folder: Path) -> int:
    """Write the folds of a file to a folder, but for those that are there; how many were written."""
    written = 0
    if not file.exists():
        return 0
    for line in lzma.decompress(file.read_bytes()).decode().splitlines():
        name, text = json.loads(line)
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise ValueError(f"{file} would write outside of {folder}: {name}")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            written += 1
    return written
