"""Where compiled loops are kept: in files if there is a place for them, and else in memory alone.

numba's own cache refuses to import without a writable folder, raises when a disk is full or a file is
damaged, and does not see that a kernel has changed which another one calls.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import logging
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

_LOG = logging.getLogger("simlabel")  # a log line: a warning is an exception under `-W error`
_SAID: list[str] = []
_DIGEST = hashlib.sha256().digest_size


class KernelCache(NullCache):
    """A dispatcher's cache that never raises; files are looked for at the first call, not by an import."""

    def __init__(self, function: Any) -> None:
        self._function = function
        # now, and not when it is first needed: by then the files may be newer than what was imported
        self._stamp = _room_stamp(Path(inspect.getfile(function)).parent)
        self._files: Any = None

    @property
    def cache_path(self) -> str | None:
        """The folder, or None where there is none."""
        path: str | None = self._open().cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """What was compiled before for these types, or None: then it is compiled."""
        try:
            return self._open().load_overload(sig, target_context)
        except Exception as error:  # whatever a damaged file makes of itself
            _LOG.debug("compiled code of %s cannot be read: %r", self._function.__qualname__, error)
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, if that is possible."""
        try:
            self._open().save_overload(sig, data)
        except Exception as error:  # a full disk, a quota, a folder that has gone
            _say_once(str(error))

    def flush(self) -> None:
        """Forget what is in files."""
        self._open().flush()

    def _open(self) -> Any:
        if self._files is None:
            try:
                self._files = _Files(self._function, self._stamp)
            except Exception as error:
                _say_once(str(error))
                self._files = NullCache()
        return self._files


class _Files(FunctionCache):
    """numba's files, in the folder that numba chooses, valid for one state of the whole room."""

    def __init__(self, function: Any, stamp: str | None) -> None:
        if stamp is None:
            raise OSError(f"the sources beside {inspect.getfile(function)} cannot be read")
        super().__init__(function)
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)


class _CheckedFiles(IndexDataCacheFile):
    """Compiled code with a digest, so that nothing runs that was altered, cut, or made of other sources."""

    def save(self, key: Any, data: Any) -> None:
        """Write an entry."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Read an entry, or give None."""
        name = self._load_index().get(key)
        if name is None:
            return None
        content = Path(self._data_path(name)).read_bytes()
        whole = content[-_DIGEST:] == self._digest(key, content[:-_DIGEST])
        return self._load_data(name) if whole else None

    def _save_data(self, name: str, data: Any) -> None:
        """Append the digest, where numba stops reading."""
        key, code = data
        content = self._dump(code)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(content + self._digest(key, content))

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except Exception:  # an index that cannot be read is an empty one: the next entry writes it anew
            return {}

    def _digest(self, key: Any, content: bytes) -> bytes:
        """Of the sources and the types too: index and code are two files, and may be of different writers."""
        return hashlib.sha256(repr((self._source_stamp, key)).encode() + content).digest()


@functools.cache
def _room_stamp(folder: Path) -> str | None:
    """A digest of all sources beside a kernel, since any of them may be called by it, and of the compilers.

    None where they cannot be read, as in an archive.
    """
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__}".encode())
    try:
        sources = {path.name: path.read_bytes() for path in sorted(folder.glob("*.py*"))}
    except OSError:
        return None
    for name, content in sources.items():
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest() if sources else None


def _say_once(reason: str) -> None:
    """One line for the process, with the way out."""
    if not _SAID:
        _SAID.append(reason)
        _LOG.warning(
            "simlabel compiles its loops anew in every process, since they cannot be kept in files: %s. Set "
            "the environment variable NUMBA_CACHE_DIR to a folder that can be written to, with space left.",
            reason,
        )
