"""How much memory a file may ask for: a small file can claim, or unpack to, any number of bytes."""

from __future__ import annotations

import math
import os
import stat
from pathlib import Path

_GIB = 1 << 30

# A file may take a multiple of its own size, generously: tables that are mostly zeros shrink to a fiftieth.
# Numbers cost no time to read, and booleans take 64 times their packed size, so they may grow more than text.
_TEXT_RATIO, _TEXT_ALWAYS = 50, 16 << 20
_RATIO, _ALWAYS = 100, 64 << 20

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def memory_limit(path: Path, max_gib: float | None = None, *, text: bool = False) -> int:
    """How many bytes the file at `path` may take; `max_gib`, where it is given, is the only limit."""
    if max_gib is not None:
        return int(min(max_gib, 2.0**33) * _GIB)  # as much as an address can name
    ratio, always = (_TEXT_RATIO, _TEXT_ALWAYS) if text else (_RATIO, _ALWAYS)
    return max(always, ratio * path.stat().st_size)


def too_large(size: int, path: Path, max_gib: float | None = None, *, text: bool = False) -> str | None:
    """What to say of a file that asks for `size` bytes; None where it may.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "small"
    >>> path.write_text("3 9 4")
    5
    >>> print(too_large(16 << 30, path))
    asks for 16 GiB of memory, more than 0.0625 GiB, which is what a file of 5 bytes may; if it is meant to, \
allow it with max_gib=16
    >>> too_large(16 << 30, path, max_gib=16)
    """
    limit = memory_limit(path, max_gib, text=text)
    if size <= limit:
        return None
    own = f"which is what a file of {path.stat().st_size:,} bytes may"
    what = own if max_gib is None else "as max_gib says"
    needed = f"{math.ceil(size / _GIB * 100) / 100:g}"
    return (
        f"asks for {size / _GIB:.3g} GiB of memory, more than {limit / _GIB:.3g} GiB, {what}; if it is meant "
        f"to, allow it with max_gib={needed}"
    )


def not_regular(path: str | os.PathLike[str]) -> str | None:
    """What to say of a path that is no regular file: to open a pipe or a device may never end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return "there is no such file"
    if stat.S_ISREG(mode):
        return None
    return f"expected a regular file, found {_KINDS.get(stat.S_IFMT(mode), 'a device')}"
