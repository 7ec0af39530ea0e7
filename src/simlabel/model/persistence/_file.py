"""A model file: arrays as safetensors, the rest as JSON in its metadata, checksums of both.

A file is written as a whole. Arrays are read into memory, or stay in the file and are verified when they are
first used.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open

from simlabel._utils.files import replacing
from simlabel._utils.limits import limits
from simlabel._utils.validation import AnyArray, Rows, check_finite

ModelState = dict[str, Any]
FORMAT = 1  # the version that is written, and the only one that is read
_MAGIC = "simlabel model"
_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype(np.float64),
    "F32": np.dtype(np.float32),
    "I64": np.dtype(np.int64),
    "I32": np.dtype(np.int32),
    "I16": np.dtype(np.int16),
    "I8": np.dtype(np.int8),
    "U64": np.dtype(np.uint64),
    "U32": np.dtype(np.uint32),
    "U16": np.dtype(np.uint16),
    "U8": np.dtype(np.uint8),
    "BOOL": np.dtype(np.bool_),
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
#: times the bytes of all arrays that `load` may allocate: a short file must not fill the memory
MAX_COPIES = 100


class ModelFileError(ValueError):
    """A file is not a whole, unaltered model that this version can read."""


_LIES = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError)


@contextlib.contextmanager
def error_context(where: object) -> Iterator[None]:
    """Raise ModelFileError, with the place in the file, for any error that its content causes."""
    try:
        yield
    except (*_LIES, SafetensorError) as error:
        if isinstance(error, ModelFileError) and str(error).startswith(str(where)):
            raise
        what = f"{error} is missing." if type(error) is KeyError else str(error)
        raise ModelFileError(f"{where}: {what}") from error


def is_storable(array: AnyArray) -> bool:
    """Return whether a file can hold an array of this dtype."""
    return array.dtype.newbyteorder("=") in _CODES


def write_file(path: str | os.PathLike[str], state: ModelState, arrays: Mapping[str, Any]) -> None:
    """Write state and arrays, so that the old file or the new one is there, whole, at any moment.

    Not by `safetensors.numpy`: its `save` needs the memory of all arrays once more, and its `save_file` puts
    another file in place of the one that `replacing` has locked.
    """
    order = sorted(arrays, key=lambda name: -arrays[name].dtype.itemsize)
    little = {name: np.ascontiguousarray(arrays[name], _little(arrays[name].dtype)) for name in order}
    entries, start = {}, 0
    for name, array in little.items():
        offsets = [start, start := start + array.nbytes]
        code = _CODES[array.dtype.newbyteorder("=")]
        entries[name] = {"dtype": code, "shape": list(array.shape), "data_offsets": offsets}
    metadata = {
        "format": _MAGIC,
        "version": str(FORMAT),
        "state": json.dumps(state),
        "blocks": json.dumps({name: list(map(_digest, _blocks(array))) for name, array in little.items()}),
    }
    metadata["checksum"] = header_checksum(metadata, entries)
    header = {"__metadata__": metadata, **entries}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replacing(Path(path)) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in little.values():
            file.write(_bytes(array))


def _little(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype.newbyteorder("<")


def _bytes(array: AnyArray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def header_checksum(metadata: Mapping[str, str], entries: Mapping[str, Any]) -> str:
    """Return the checksum of a header: of its metadata and of the dtype and the shape of each array."""
    described = {name: (entry["dtype"], entry["shape"]) for name, entry in entries.items()}
    texts = [metadata[name] for name in ("format", "version", "state", "blocks")]
    return _digest(np.frombuffer(json.dumps([texts, described], sort_keys=True).encode(), dtype=np.uint8))


def _blocks(array: AnyArray) -> Iterator[AnyArray]:
    """Yield the rows of an array in blocks, each under one checksum."""
    size = rows_per_block(array.shape, array.dtype)
    return (array[start : start + size] for start in range(0, len(array), size))


def rows_per_block(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    """Return how many rows of an array are under one checksum."""
    return max(1, limits().checksum_bytes // max(1, int(np.prod(shape[1:])) * dtype.itemsize))


def _digest(block: AnyArray) -> str:
    return hashlib.blake2b(_bytes(block.astype(_little(block.dtype), copy=False)), digest_size=16).hexdigest()


def read_file(path: str | os.PathLike[str], *, mapped: bool = False) -> tuple[ModelState, Arrays]:
    """Open a file, verify its header, and return the state and the arrays.

    Parameters
    ----------
    mapped : bool
        Whether rows stay in the file. Otherwise it may change or go as soon as the arrays are read.
    """
    path = Path(path)
    while True:
        _refuse_special(path, os.stat(path))
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # it may have become a pipe
        try:
            _refuse_special(path, os.fstat(handle))
            file = safe_open(path, framework="numpy", backend="mmap" if mapped else "pread")
            if os.path.samestat(os.fstat(handle), os.stat(path)):
                break  # both have opened the same file
        except SafetensorError as error:
            os.close(handle)
            raise ModelFileError(
                f"{path} is not a model file of simlabel, or it is cut or damaged: {error}."
            ) from error
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
    arrays = Arrays(path, file, handle, mapped=mapped)
    with error_context(path):
        return arrays.verified_state(), arrays


def _refuse_special(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path} is no regular file, and so no model that `save` wrote.")


def _identity(handle: int) -> tuple[int, ...]:
    status = os.fstat(handle)
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Arrays:
    """The arrays of an open file.

    Parameters
    ----------
    path : Path
        The file.
    file : safe_open
        The same, opened.
    handle : int
        A descriptor of the same, which is closed with this object.
    mapped : bool
        Whether rows stay in the file.
    """

    def __init__(self, path: Path, file: Any, handle: int, *, mapped: bool) -> None:
        self.path, self.file, self.mapped = path, file, mapped
        self._handle, self._identity = handle, _identity(handle)
        weakref.finalize(self, os.close, handle)
        self.entries: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        self.digests: dict[str, list[str]] = {}
        self._n_claimed = 0

    def verified_state(self) -> ModelState:
        """Verify the header, and return the state that is in it."""
        metadata = self.file.metadata() or {}
        if metadata.get("format") != _MAGIC or "version" not in metadata:
            raise ModelFileError("it is not a model file of simlabel, or it is damaged.")
        if metadata["version"] != str(FORMAT):
            raise ModelFileError(
                f"it has format {metadata['version']}, and this simlabel reads format {FORMAT}: update "
                f"simlabel."
            )
        slices = {name: self.file.get_slice(name) for name in self.file.offset_keys()}
        entries = {name: {"dtype": s.get_dtype(), "shape": s.get_shape()} for name, s in slices.items()}
        self.digests = json.loads(metadata["blocks"])
        if header_checksum(metadata, entries) != metadata["checksum"] or set(self.digests) != set(entries):
            raise ModelFileError("it is damaged: its header has changed.")
        for name, entry in entries.items():
            if entry["dtype"] not in _DTYPES or not 1 <= len(entry["shape"]) <= 2:
                raise ModelFileError(f"its header describes no array by {name!r}: {entry}.")
            self.entries[name] = (_DTYPES[entry["dtype"]], tuple(entry["shape"]))
        return json.loads(metadata["state"])

    @property
    def n_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(np.prod(shape)) * dtype.itemsize for dtype, shape in self.entries.values())

    def entry(self, name: Any) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Return the dtype and the shape of an array."""
        if not isinstance(name, str) or name not in self.entries:
            raise ModelFileError(f"{self.path} has no array {name!r}.")
        return self.entries[name]

    def rows(self, name: Any) -> Rows:
        """Return a matrix of finite numbers; in a mapped file its rows are verified as they are read."""
        dtype, shape = self.entry(name)
        if len(shape) != 2 or dtype.kind != "f":
            raise ModelFileError(f"{self.path}: {name!r} has {dtype} of shape {shape}, not rows.")
        if self.mapped:
            return MappedRows(self, name)
        rows = self.whole(name)
        check_finite(rows, name)
        return rows

    def claim(self, n_bytes: int, what: str) -> None:
        """Count memory that the file asks for; refuse what is out of proportion to its size."""
        self._n_claimed += n_bytes
        if self._n_claimed > MAX_COPIES * self.n_bytes:
            raise ModelFileError(
                f"{self.path} asks for {self._n_claimed:,} bytes ({what}), but has {self.n_bytes:,}: at most "
                f"{MAX_COPIES} times as many are allocated."
            )

    def whole(self, name: Any) -> AnyArray:
        """Return a copy of an array, verified."""
        dtype, shape = self.entry(name)
        self.claim(int(np.prod(shape)) * dtype.itemsize, f"one more copy of {name!r}")
        self.check_unchanged()
        array: AnyArray = self.file.get_tensor(name)
        for i, block in enumerate(_blocks(array)):
            self.verify(name, i, block)
        if dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
            raise ModelFileError(f"{self.path}: {name!r} holds bytes that are neither True nor False.")
        return array

    def verify(self, name: str, i: int, block: AnyArray) -> None:
        """Compare a block of an array with its checksum."""
        if _digest(block) != self.digests[name][i]:
            raise ModelFileError(f"{self.path} is damaged: a block of an array has changed.")

    def check_unchanged(self) -> None:
        """Refuse a mapped file that was written to; a file that took its name since is another one."""
        if self.mapped and _identity(self._handle) != self._identity:
            raise ModelFileError(
                f"{self.path} was written to after it was loaded with mmap=True, so the model in it is gone. "
                f"Load it again; replace a mapped file by a new one, as `save` does."
            )


class MappedRows:
    """Rows that stay in the file: a block is verified when it is first used; what is read is a copy."""

    def __init__(self, arrays: Arrays, name: str) -> None:
        self._arrays, self._name = arrays, name
        self.dtype, self.shape = arrays.entry(name)
        self._slices = arrays.file.get_slice(name)
        self._per_block = rows_per_block(self.shape, self.dtype)
        self.unverified = set(range(len(arrays.digests[name])))

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: slice | npt.NDArray[np.integer[Any]]) -> AnyArray:
        self._arrays.check_unchanged()
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            self._verify(range(start // self._per_block, -(-stop // self._per_block)))
            return self._read(start, stop)[::step]
        rows = np.asarray(index, dtype=np.int64)
        self._verify(np.unique(rows // self._per_block).tolist())
        runs = np.split(rows, np.flatnonzero(np.diff(rows) != 1) + 1)
        parts = [self._read(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
        return np.concatenate(parts) if parts else self._read(0, 0)

    def _read(self, start: int, stop: int) -> AnyArray:
        return self._slices[start:stop] if start < stop else np.empty((0, self.shape[1]), self.dtype)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(self[:], dtype=dtype)

    def __reduce__(self) -> tuple[Callable[..., AnyArray], tuple[AnyArray]]:
        return np.array, (self[:],)

    def _verify(self, blocks: Iterable[int]) -> None:
        for i in self.unverified.intersection(blocks):
            block = self._read(i * self._per_block, min(len(self), (i + 1) * self._per_block))
            self._arrays.verify(self._name, i, block)
            if not np.isfinite(block).all():
                raise ModelFileError(f"{self._arrays.path} holds features that are no finite numbers.")
            self.unverified.discard(i)
