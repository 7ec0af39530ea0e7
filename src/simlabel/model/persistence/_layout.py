"""The layout of a model file: safetensors, with checksums of every byte.

The header is 8 bytes of length and then JSON in one canonical spelling, so that a byte of it cannot
change unseen: it carries the checksum of itself and of every block of every array.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits

State = dict[str, Any]
MAGIC = "simlabel model"
FORMAT = 1  # the version that is written, and the only one that is read
_ALIGN = 64
DTYPES = {
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
NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
_METADATA = {"format", "version", "blocks", "state", "checksum"}


class ModelFileError(ValueError):
    """A file is not a whole, unaltered model that this version can read."""


@dataclass(frozen=True)
class Entry:
    """What the header says of one array: its numbers, where they lie, and a checksum for each block."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int
    stop: int
    digests: tuple[str, ...]


def digest(block: Any) -> str:
    """The checksum of some bytes."""
    return hashlib.blake2b(block, digest_size=16).hexdigest()


def byte_blocks(array: npt.NDArray[Any]) -> Iterator[memoryview]:
    """The bytes of an array, as they are put under checksums."""
    data = memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
    size = limits().checksum_bytes
    return (data[start : start + size] for start in range(0, len(data), size))


def header(state: State, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """The header of a file with these arrays one after the other."""
    entries: State = {}
    digests, at = {}, 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, at + array.nbytes],
        }
        digests[name] = [digest(block) for block in byte_blocks(array)]
        at += array.nbytes
    metadata = {
        "format": MAGIC,
        "version": str(FORMAT),
        "blocks": json.dumps(digests),
        "state": json.dumps(state),
    }
    return canonical(entries, metadata)


def canonical(entries: State, metadata: dict[str, str]) -> bytes:
    """The one spelling of a header, its checksum included."""

    def spelled(checksum: str) -> bytes:
        whole = {**entries, "__metadata__": {**metadata, "checksum": checksum}}
        return json.dumps(whole, sort_keys=True, separators=(",", ":")).encode("ascii")

    text = spelled(digest(spelled("")))
    text += b" " * (-(8 + len(text)) % _ALIGN)
    return len(text).to_bytes(8, "little") + text


def parsed(text: bytes, n_bytes: int) -> tuple[State, dict[str, Entry]]:
    """The state, and what the header says of each array, checked; `n_bytes` are there behind the header."""
    try:
        entries = json.loads(text)
        metadata = entries.pop("__metadata__")
        ours = metadata["format"] == MAGIC and all(isinstance(value, str) for value in metadata.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        ours = False
    if not ours:
        raise ModelFileError("it is not a model file of simlabel, or it is damaged.")
    version = metadata.get("version", "")
    if version != str(FORMAT):
        raise ModelFileError(
            f"it has format {version}, and this simlabel reads format {FORMAT}: update simlabel."
        )
    claimed = {name: value for name, value in metadata.items() if name != "checksum"}
    try:
        whole = set(metadata) == _METADATA and canonical(entries, claimed)[8:] == text
        digests, state = json.loads(metadata["blocks"]), json.loads(metadata["state"])
    except (ValueError, KeyError, RecursionError):
        whole = False
    if not whole:
        raise ModelFileError("it is damaged: its header has changed.")
    if not isinstance(digests, dict) or set(digests) != set(entries):
        raise ModelFileError("its header has checksums of other arrays than it names.")
    described = {name: _entry(name, entries[name], digests[name]) for name in entries}
    _check_cover(described, n_bytes)
    return state, described


def _entry(name: str, entry: Any, digests: Any) -> Entry:
    """One array as the header describes it: numbers of a known kind, as many as its bytes can hold."""
    try:
        dtype, shape = np.dtype(DTYPES[entry["dtype"]]), entry["shape"]
        start, stop = entry["data_offsets"]
        sizes = [*shape, start, stop]
        n_bytes = stop - start
        good = (
            isinstance(shape, list)
            and all(type(size) is int and 0 <= size < 2**63 for size in sizes)
            and math.prod(shape) * dtype.itemsize == n_bytes
            and start % dtype.itemsize == 0
            and len(shape) <= 2
            and len(digests) == -(-n_bytes // limits().checksum_bytes)
            and all(isinstance(each, str) for each in digests)
        )
    except (KeyError, TypeError, ValueError):
        good = False
    if not good:
        raise ModelFileError(f"its header describes no array by {name!r}: {str(entry)[:200]}.")
    return Entry(dtype, tuple(shape), start, stop, tuple(digests))


def _check_cover(entries: Mapping[str, Entry], n_bytes: int) -> None:
    """Arrays lie one after the other, without a gap, and end where the file ends."""
    at = 0
    for name, entry in sorted(entries.items(), key=lambda item: (item[1].start, item[1].stop)):
        if entry.start != at:
            raise ModelFileError(f"its array {name!r} begins at byte {entry.start} of the data, not at {at}.")
        at = entry.stop
    if at != n_bytes:
        raise ModelFileError(f"it has {n_bytes} bytes of data, but should have {at}: it is cut or altered.")


_LIES = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError, OverflowError)


@contextlib.contextmanager
def told(where: object) -> Iterator[None]:
    """Say of whatever goes wrong with what a file holds that it is the file, and where in it."""
    try:
        yield
    except _LIES as error:
        if isinstance(error, ModelFileError) and str(error).startswith(str(where)):
            raise
        what = f"{error} is missing." if type(error) is KeyError else str(error)
        raise ModelFileError(f"{where}: {what}") from error
