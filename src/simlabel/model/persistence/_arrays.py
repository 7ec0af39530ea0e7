"""The arrays of a file: read into memory, or left in the file and verified as they are touched."""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.validation import Rows, check_finite
from simlabel.model.persistence._layout import Entry, ModelFileError, digest

Bytes = npt.NDArray[np.uint8]

#: times the bytes of all arrays that `load` may allocate: a short file must not fill the memory
MOST_COPIES = 100


class Arrays:
    """The arrays of a file.

    Parameters
    ----------
    path : Path
        The file, for errors.
    entries : dict of str to Entry
        What its header says of each.
    mapped : MappedFile or None
        None: all of them are in memory, verified, and nothing refers to the file.
    """

    def __init__(self, path: Path, entries: Mapping[str, Entry], mapped: MappedFile | None) -> None:
        self.path, self.entries, self._mapped = path, entries, mapped
        self._read: dict[str, Bytes] = {}
        #: bytes of all arrays
        self.n_bytes = sum(entry.stop - entry.start for entry in entries.values())
        self._given, self._taken = 0, set[str]()

    def read(self, file: IO[bytes]) -> None:
        """Read and verify all arrays, from where their bytes begin; each gets memory of its own."""
        for name, entry in sorted(self.entries.items(), key=lambda item: item[1].start):
            data: Bytes = np.empty(entry.stop - entry.start, dtype=np.uint8)
            if file.readinto(data) != len(data):  # type: ignore[attr-defined]
                raise ModelFileError(f"{self.path} is cut short while it is read.")
            for i in range(len(entry.digests)):
                verify(data, entry, i, self.path)
            self._read[name] = data

    def entry(self, name: Any) -> Entry:
        """What the header says of an array."""
        if not isinstance(name, str) or name not in self.entries:
            raise ModelFileError(f"{self.path} has no array {name!r}.")
        return self.entries[name]

    def rows(self, name: Any) -> Rows:
        """A matrix of finite numbers; one that stays in the file is verified as its rows are touched."""
        entry = self.entry(name)
        if len(entry.shape) != 2 or entry.dtype.kind != "f":
            raise ModelFileError(f"{self.path}: {name!r} has {entry.dtype} of shape {entry.shape}, not rows.")
        if self._mapped is not None:
            return MappedRows(self._mapped, entry)
        rows = self.whole(name)
        check_finite(rows, name)
        return rows

    def claim(self, n_bytes: int, what: str) -> None:
        """Count memory that the file asks for; refuse what is out of proportion to its size."""
        self._given += n_bytes
        if self._given > MOST_COPIES * self.n_bytes:
            raise ModelFileError(
                f"{self.path} asks for {self._given:,} bytes ({what}), but has {self.n_bytes:,}: at most "
                f"{MOST_COPIES} times as many are allocated."
            )

    def whole(self, name: Any) -> npt.NDArray[Any]:
        """An array in memory, verified, which nobody else has: what is done to it in place stays there."""
        entry = self.entry(name)
        self.claim(entry.stop - entry.start, f"one more copy of {name!r}")
        if self._mapped is None:
            data = self._read[name].copy() if name in self._taken else self._read[name]
            self._taken.add(name)
        else:
            data = self._mapped.bytes(entry).copy()
            for i in range(len(entry.digests)):
                verify(data, entry, i, self.path)
        if entry.dtype.kind == "b" and data.max(initial=0) > 1:
            raise ModelFileError(f"{self.path}: {name!r} holds {data.max()} where True or False should be.")
        return _native(data.view(entry.dtype).reshape(entry.shape))


def verify(data: Bytes, entry: Entry, i: int, path: Path) -> Bytes:
    """A block of an array, whose checksum is right."""
    size = limits().checksum_bytes
    block = data[i * size : (i + 1) * size]
    if digest(block) != entry.digests[i]:
        raise ModelFileError(f"{path} is damaged: a block of an array has changed.")
    return block


def _native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return array if sys.byteorder == "little" else array.astype(array.dtype.newbyteorder("="))


class MappedFile:
    """A file that is mapped; whoever touches it looks first whether it is still what was opened.

    Only the opened file counts: another one that has taken its name since, as `save` makes it, is no
    change of this one.
    """

    def __init__(self, path: Path, file: IO[bytes], offset: int) -> None:
        self.path, self._offset = path, offset
        self._handle = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._handle)
        self._identity = _identity(self._handle)
        self._map = mmap.mmap(self._handle, 0, access=mmap.ACCESS_READ)

    def bytes(self, entry: Entry) -> Bytes:
        """The bytes of an array, to be used at once: what is kept must be a copy."""
        if _identity(self._handle) != self._identity:
            raise ModelFileError(
                f"{self.path} was written to after it was loaded with mmap=True, so the model that stayed in "
                f"it is gone. Load it again; put a new file in place of a mapped one, as `save` does."
            )
        whole = np.frombuffer(self._map, dtype=np.uint8)
        return whole[self._offset + entry.start : self._offset + entry.stop]


def _identity(handle: int) -> tuple[int, ...]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class MappedRows:
    """Rows that stay in the file: a block is verified when it is first touched; what is read is a copy."""

    def __init__(self, file: MappedFile, entry: Entry) -> None:
        self._file, self._entry = file, entry
        self._waiting = set(range(len(entry.digests)))
        self.shape = entry.shape
        self.dtype = entry.dtype.newbyteorder("=")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: slice | npt.NDArray[np.integer[Any]]) -> npt.NDArray[Any]:
        data = self._file.bytes(self._entry)
        width, block = self.shape[1] * self.dtype.itemsize, limits().checksum_bytes
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            self._verify(data, range(start * width // block, -(-stop * width // block)))
        else:
            rows = np.asarray(index, dtype=np.int64)
            first, last = rows * width // block, -(-(rows + 1) * width // block)
            for low, high in np.unique(np.stack([first, last], axis=1), axis=0).tolist():
                self._verify(data, range(low, high))
        return _native(np.array(data.view(self._entry.dtype).reshape(self.shape)[index]))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def __reduce__(self) -> tuple[Callable[..., npt.NDArray[Any]], tuple[npt.NDArray[Any]]]:
        return np.array, (self[:],)

    def _verify(self, data: Bytes, blocks: range) -> None:
        for i in self._waiting.intersection(blocks):
            block = verify(data, self._entry, i, self._file.path)
            if not np.isfinite(block.view(self._entry.dtype)).all():
                raise ModelFileError(f"{self._file.path} holds features that are no finite numbers.")
            self._waiting.discard(i)
