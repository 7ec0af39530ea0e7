"""A file that is replaced as a whole: at any moment the old one or the new one is there."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

if sys.platform != "win32":  # there an open file cannot be removed: that is lock enough
    import fcntl

_SUFFIX = ".simlabel.tmp"
_OPEN_ELSEWHERE = ("/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/")  # not /dev/shm: there files live


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of `target` when all went well, and goes otherwise.

    A process that is killed leaves its file behind; the next one that writes to `target` removes it.
    A link stays, and what it leads to is replaced; permissions, and where possible the owner, are kept.
    Pipes, terminals and other things that cannot be replaced are written to as they are.
    """
    if _is_written_through(target):
        with target.open("ab") as file:
            yield file
        return
    with replacing_path(target) as path, path.open("r+b") as file:
        yield file


@contextlib.contextmanager
def replacing_path(target: Path) -> Iterator[Path]:
    """As `replacing`, for what opens a file by its path: that of an empty file next to `target`."""
    target = Path(os.path.realpath(target))
    _remove_stale(target)
    handle, lock, temporary = _temporary(target)
    try:
        os.close(handle)
        yield Path(temporary)
        _sync_file(temporary)
        _keep_access(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    finally:
        if lock is not None:
            os.close(lock)
    _sync_folder(target.parent)


def _temporary(target: Path) -> tuple[int, int | None, str]:
    """A new file beside the target, and a lock on it that ends with this process."""
    while True:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=_SUFFIX, dir=target.parent)
        if sys.platform == "win32":
            return handle, None, name
        lock = _lock(name)
        if lock is not None:
            return handle, lock, name
        os.close(handle)  # taken for a stale one before it was locked


def _lock(name: str) -> int | None:
    """Lock a file that is there, or give None."""
    try:
        lock = os.open(name, os.O_RDWR)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        if sys.platform != "win32":
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.exists(name):  # it may have gone before it was locked
            return lock
    os.close(lock)
    return None


def _remove_stale(target: Path) -> None:
    """Remove what writers of the same target left that are no more: nobody holds a lock on it."""
    ours = re.compile(rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}{re.escape(_SUFFIX)}")
    with contextlib.suppress(OSError):
        for stale in [entry.path for entry in os.scandir(target.parent) if ours.fullmatch(entry.name)]:
            lock = None if sys.platform == "win32" else _lock(stale)
            if lock is not None or sys.platform == "win32":
                with contextlib.suppress(OSError):
                    os.unlink(stale)
            if lock is not None:
                os.close(lock)


def _is_written_through(target: Path) -> bool:
    """Whether it is no file, or one that somebody else has open, as /dev/stdout may be."""
    if os.path.abspath(target).startswith(_OPEN_ELSEWHERE):
        return True
    try:
        return not stat.S_ISREG(target.stat().st_mode)
    except FileNotFoundError:
        return False


def _keep_access(target: Path, temporary: str) -> None:
    """Give a file the permissions and the owner of the one that it replaces, or those of a new one."""
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    if hasattr(os, "chown"):
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.chown(temporary, old.st_uid, old.st_gid)
    os.chmod(temporary, old.st_mode & 0o777)


def _sync_file(name: str) -> None:
    handle = os.open(name, os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the new name last; not every system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
