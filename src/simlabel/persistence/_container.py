"""One file of named arrays and JSON: the safetensors layout, with checksums of every byte.

The header is 8 bytes of length and then JSON in one canonical spelling, so that a byte of it cannot
change unseen: it carries the checksum of itself and of every block of every array.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._replacing import replacing

FORMAT = 1
_MAGIC = "simlabel model"
_BLOCK = 1 << 22  # bytes of an array under one checksum
_ALIGN = 64
_DTYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "|u1",
    "BOOL": "|b1",
}
_NAMES = {np.dtype(code): name for name, code in _DTYPES.items()}


class ModelFileError(ValueError):
    """A file is not a whole, unaltered model that this version can read."""


def is_storable(array: npt.NDArray[Any]) -> bool:
    """Whether an array's numbers have a place in a file."""
    return array.dtype.newbyteorder("<") in _NAMES


def write_file(path: str | os.PathLike[str], state: dict[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write state and arrays so that the old file or the new one is there, whole, at any moment."""
    little = {name: _little(array) for name, array in arrays.items()}
    # larger numbers first: then every array starts where its numbers are aligned
    order = sorted(little, key=lambda name: (-little[name].dtype.itemsize, name))
    header = _header(state, {name: little[name] for name in order})
    with replacing(Path(path)) as file:
        file.write(header)
        for name in order:
            for block in _blocks(little[name]):
                file.write(block)


def _little(array: Any) -> npt.NDArray[Any]:
    array = np.asarray(array)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def _blocks(array: npt.NDArray[Any]) -> Iterator[memoryview]:
    data: Any = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    return (data[start : start + _BLOCK] for start in range(0, len(data), _BLOCK))


def _digest(block: Any) -> str:
    return hashlib.blake2b(block, digest_size=16).hexdigest()


def _header(state: dict[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    entries: dict[str, Any] = {}
    digests, at = {}, 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        digests[name] = [_digest(block) for block in _blocks(array)]
        at += array.nbytes
    metadata = {
        "format": _MAGIC,
        "version": str(FORMAT),
        "blocks": json.dumps(digests),
        "state": json.dumps(state),
    }
    return _canonical(entries, metadata)


def _canonical(entries: dict[str, Any], metadata: dict[str, str]) -> bytes:
    """The one spelling of a header, its checksum included."""

    def spelled(checksum: str) -> bytes:
        whole = {**entries, "__metadata__": {**metadata, "checksum": checksum}}
        return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode("ascii")

    text = spelled(_digest(spelled("")))
    text += b" " * (-(8 + len(text)) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


class Arrays:
    """The arrays of a file, each verified when it is read."""

    def __init__(
        self, path: Path, data: npt.NDArray[np.uint8], entries: dict[str, Any], digests: dict[str, list[str]]
    ) -> None:
        self._path, self._data, self._entries, self._digests = path, data, entries, digests

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def rows(self, name: str) -> MappedRows:
        """An array that is verified block by block as its rows are touched."""
        if name not in self._entries:
            raise ModelFileError(f"{self._path} has no array {name!r}.")
        entry = self._entries[name]
        start, stop = entry["data_offsets"]
        return MappedRows(
            self._data[start:stop], _DTYPES[entry["dtype"]], entry["shape"], self._digests[name], self._path
        )

    def whole(self, name: str) -> npt.NDArray[Any]:
        """An array, verified."""
        return self.rows(name)[:]


class MappedRows:
    """Rows that stay in the file: a block is verified when it is first touched."""

    def __init__(
        self, data: npt.NDArray[np.uint8], dtype: str, shape: list[int], digests: list[str], path: Path
    ) -> None:
        self._bytes, self._path = data, path
        self._array = data.view(dtype).reshape(shape)
        self._waiting = dict(enumerate(digests))
        self.shape = tuple(shape)
        self.dtype = self._array.dtype.newbyteorder("=")

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: Any) -> npt.NDArray[Any]:
        width = self._array[:1].nbytes if len(self) else 0
        if isinstance(index, slice):
            start, stop, _ = index.indices(len(self))
            self._verify(range(start * width // _BLOCK, -(-stop * width // _BLOCK)))
        else:
            rows = np.asarray(index)
            first, last = rows * width // _BLOCK, -(-(rows + 1) * width // _BLOCK)
            for low, high in np.unique(np.stack([first, last], axis=1), axis=0).tolist():
                self._verify(range(low, high))
        found = self._array[index]
        return found if sys.byteorder == "little" else found.astype(self.dtype)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)

    def __reduce__(self) -> Any:
        return np.array, (self[:],)

    def _verify(self, blocks: range) -> None:
        for i in blocks:
            wanted = self._waiting.get(i)
            if wanted is None:
                continue
            if _digest(self._bytes[i * _BLOCK : (i + 1) * _BLOCK]) != wanted:
                raise ModelFileError(f"{self._path} is damaged: a block of an array has changed.")
            self._waiting.pop(i, None)


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Arrays]:
    """Verify the header of a file; return the state, and the arrays to be verified as they are read."""
    target = Path(path)
    size = target.stat().st_size
    with target.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= size - 8:
            raise ModelFileError(f"{target} is not a model file of simlabel, or it is cut short.")
        text = file.read(length)
    entries, metadata = _parse(target, text)
    version = metadata.get("version", "")
    if not version.isdigit() or int(version) > FORMAT:
        raise ModelFileError(
            f"{target} has format {version}; this simlabel reads formats up to {FORMAT}. Update simlabel."
        )
    claimed = {name: value for name, value in metadata.items() if name != "checksum"}
    if _canonical(entries, claimed)[8:] != text:
        raise ModelFileError(f"{target} is damaged: its header has changed.")
    stop = max((entry["data_offsets"][1] for entry in entries.values()), default=0)
    expected = 8 + length + stop
    if size != expected:
        raise ModelFileError(f"{target} has {size} bytes, but should have {expected}: it is cut or altered.")
    data: Any = np.empty(0, dtype=np.uint8)
    if stop:
        data = np.memmap(target, mode="r", dtype=np.uint8, offset=8 + length)
    return json.loads(metadata["state"]), Arrays(target, data, entries, json.loads(metadata["blocks"]))


def _parse(target: Path, text: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    try:
        entries = json.loads(text)
        metadata = entries.pop("__metadata__")
        ours = metadata["format"] == _MAGIC
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        ours = False
    if not ours:
        raise ModelFileError(f"{target} is not a model file of simlabel, or it is damaged.")
    return entries, metadata
