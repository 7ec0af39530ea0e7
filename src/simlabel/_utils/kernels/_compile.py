"""How the loops are compiled: flags, the types of their arguments, and the cache of compiled code.

numba's own cache fails to import without a writable folder, raises when a disk is full or a file is damaged,
and does not notice that a kernel has changed which another one calls. `KernelCache` handles all of these.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numba.extending
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache
from numba.core.compiler_lock import global_compiler_lock

Floats = npt.NDArray[np.floating[Any]]
Ints = npt.NDArray[np.integer[Any]]
Kernel = Callable[..., None]
KernelSide = tuple[Floats, Floats]  # rows, plain or in panels, and their squared lengths or sizes
LabelEntries = tuple[
    Ints, Ints, Ints, Ints, Floats
]  # firsts, labels, begins, rows, factors: see `sort_by_label`
InfluenceArrays = tuple[Floats, LabelEntries]
ExcludedEntries = tuple[Ints, Floats]
Back = tuple[Floats, Floats, bool]
Values = list[ir.Value]

_LOG = logging.getLogger("simlabel")  # a log line: a warning is an exception under `-W error`
_REPORTED: list[str] = []
_DIGEST = hashlib.sha256().digest_size


class KernelCache(NullCache):
    """A dispatcher's cache that never raises; files are opened at the first call, not at import."""

    def __init__(self, function: Any) -> None:
        self._function = function
        # read now, since the sources may be newer than the imported code when it is first needed
        self._stamp = _source_stamp(Path(inspect.getfile(function)).parent)
        self._files: Any = None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code compiled for these types, or None if it must be compiled."""
        try:
            return self._open().load_overload(sig, target_context)
        except Exception as error:  # a damaged file may raise anything
            _LOG.debug("compiled code of %s cannot be read: %r", self._function.__qualname__, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save compiled code, if possible."""
        try:
            self._open().save_overload(sig, data)
        except Exception as error:  # a full disk, a quota, a folder that has gone
            _report_once(str(error))

    def _open(self) -> Any:
        if self._files is None:
            try:
                self._files = _Files(self._function, self._stamp)
            except Exception as error:
                _report_once(str(error))
                self._files = NullCache()
        return self._files


class _Files(FunctionCache):
    """numba's cache files, valid for one state of all sources in the kernel's folder."""

    def __init__(self, function: Any, stamp: str | None) -> None:
        if stamp is None:
            raise OSError(f"the sources next to {inspect.getfile(function)} cannot be read")
        super().__init__(function)
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)


class _CheckedFiles(IndexDataCacheFile):
    """Compiled code with a digest: altered, truncated or outdated code is never run."""

    def save(self, key: Any, data: Any) -> None:
        """Write an entry."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Read an entry, or return None."""
        name = self._load_index().get(key)
        if name is None:
            return None
        content = Path(self._data_path(name)).read_bytes()
        valid = content[-_DIGEST:] == self._digest(key, content[:-_DIGEST])
        return self._load_data(name) if valid else None

    def _save_data(self, name: str, data: Any) -> None:
        """Append the digest; numba stops reading before it."""
        key, code = data
        content = self._dump(code)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(content + self._digest(key, content))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # an unreadable index counts as empty: the next entry rewrites it
            return {}

    def _digest(self, key: Any, content: bytes) -> bytes:
        """Hash sources and types too: index and code are two files, possibly of different writers."""
        return hashlib.sha256(repr((self._source_stamp, key)).encode() + content).digest()


@functools.cache
def _source_stamp(folder: Path) -> str | None:
    """Hash all sources in a kernel's folder, any of which it may call, and the compilers' versions.

    None if they cannot be read, as in an archive.
    """
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    try:
        sources = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py*"))}
    except OSError:
        return None
    for name, content in sources.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest() if sources else None


def _report_once(reason: str) -> None:
    """Log one line per process, with what to do."""
    if not _REPORTED:
        _REPORTED.append(reason)
        _LOG.warning(
            "simlabel recompiles its loops in every process, since compiled code cannot be saved: %s. Set "
            "the environment variable NUMBA_CACHE_DIR to a writable folder with free space.",
            reason,
        )


def _compiled(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that compiles with these flags at the first call, and caches the code."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, **flags)(function)
        dispatcher._cache = KernelCache(function)  # what cache=True does with numba's own
        return dispatcher

    return compiled


# NaN and infinity keep their meaning everywhere: a non-finite score must reach the check that reports it.
kernel: Any = _compiled(fastmath={"contract", "reassoc", "nsz", "arcp"})
# Where the order of operations matters, sums may be fused but not rearranged.
ordered_kernel: Any = _compiled(fastmath={"contract"})
# Functions that emit vector instructions; see `_lanes`.
intrinsic: Any = numba.extending.intrinsic
inlined: Any = numba.njit(inline="always")

if hasattr(os, "register_at_fork"):
    # A fork waits for a compilation to end: in the child nothing would end it and release LLVM's locks.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
