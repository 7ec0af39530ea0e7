"""Files: limits to the memory that reading one may take, and atomic writing."""

from __future__ import annotations

import contextlib
import math
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

if sys.platform != "win32":  # Windows does not remove open files, so that it needs no locks
    import fcntl

_GIB = 1 << 30

# A file may take a generous multiple of its own size: tables that are mostly zeros shrink to a fiftieth.
# Numbers are fast to read, and booleans take 64 times their packed size, so they may grow more than text.
_TEXT_RATIO, _TEXT_ALWAYS = 50, 16 << 20
_RATIO, _ALWAYS = 100, 64 << 20

_SUFFIX = ".simlabel.tmp"
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")  # not /dev/shm, which holds files

_KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def memory_limit(path: Path, max_gib: float | None = None, *, text: bool = False) -> int:
    """Return how many bytes reading a file may take; if `max_gib` is given, it is the only limit."""
    if max_gib is not None:
        return int(min(max_gib, 2.0**33) * _GIB)  # at most what an address can name
    ratio, always = (_TEXT_RATIO, _TEXT_ALWAYS) if text else (_RATIO, _ALWAYS)
    return max(always, ratio * path.stat().st_size)


def too_large(size: int, path: Path, max_gib: float | None = None, *, text: bool = False) -> str | None:
    """Return an error message if reading a file takes `size` bytes and may not, else None.

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
    """Return an error message if a path is no regular file, else None: opening a pipe may block for ever."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return "there is no such file"
    if stat.S_ISREG(mode):
        return None
    return f"expected a regular file, found {_KINDS.get(stat.S_IFMT(mode), 'a device')}"


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `target` if the block succeeds, and is removed otherwise.

    A killed process leaves its temporary file; the next one that writes to `target` removes it. If `target`
    is a link, the file that it points to is replaced; permissions, and if possible the owner, are kept.
    Pipes, terminals and other special files are written to directly.
    """
    if _is_special(target):
        with target.open("ab") as file:
            yield file
        return
    with replacing_path(target) as path, path.open("r+b") as file:
        yield file


@contextlib.contextmanager
def replacing_path(target: Path) -> Iterator[Path]:
    """Yield the path of an empty file that replaces `target`, as in `replacing`."""
    target = Path(os.path.realpath(target))
    _remove_stale(target)
    lock, temporary = _temporary(target)
    try:
        yield Path(temporary)
        _sync(temporary, os.O_RDWR)
        _copy_access(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    with contextlib.suppress(OSError):  # not every system can sync folders
        _sync(target.parent, os.O_RDONLY)


def _temporary(target: Path) -> tuple[int | None, str]:
    """Create a file next to the target; its descriptor holds a lock until this process closes it."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=target.parent)
        if sys.platform != "win32" and _lock(handle, name):
            return handle, name
        os.close(handle)
        if sys.platform == "win32":
            return None, name


def _lock(handle: int, name: str) -> bool:
    """Lock an open file; return whether it is locked, and was not removed before."""
    with contextlib.suppress(OSError):
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.exists(name)
    return False


def _remove_stale(target: Path) -> None:
    """Remove the temporary files of killed processes: those that no process has locked."""
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with contextlib.suppress(OSError):
        for stale in [entry.path for entry in os.scandir(target.parent) if pattern.fullmatch(entry.name)]:
            with contextlib.suppress(OSError):
                handle = None if sys.platform == "win32" else os.open(stale, os.O_RDWR)
                if handle is None or _lock(handle, stale):
                    os.unlink(stale)
                if handle is not None:
                    os.close(handle)


def _is_special(target: Path) -> bool:
    """Whether the target is no regular file, or a stream of a process, as /dev/stdout may be."""
    if os.path.abspath(target).startswith(_STREAMS):
        return True
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return False


def _copy_access(target: Path, temporary: str) -> None:
    """Copy the permissions and the owner of the file to replace; without one, use those of new files."""
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, old.st_mode & 0o777)


def _sync(path: str | Path, flags: int) -> None:
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
