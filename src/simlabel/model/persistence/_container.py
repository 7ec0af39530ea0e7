"""One file of named arrays and JSON, written as a whole and read through one opening."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.replacing import replacing
from simlabel.model.persistence._arrays import Arrays, MappedFile
from simlabel.model.persistence._layout import NAMES, ModelFileError, State, byte_blocks, header, parsed, told


def is_storable(array: npt.NDArray[Any]) -> bool:
    """Whether an array's numbers have a place in a file."""
    return array.dtype.newbyteorder("<") in NAMES


def write_file(path: str | os.PathLike[str], state: State, arrays: Mapping[str, Any]) -> None:
    """Write state and arrays so that the old file or the new one is there, whole, at any moment."""
    little = {name: _little(array) for name, array in arrays.items()}
    # larger numbers first: then every array starts where its numbers are aligned
    order = sorted(little, key=lambda name: (-little[name].dtype.itemsize, name))
    text = header(state, {name: little[name] for name in order})
    with replacing(Path(path)) as file:
        file.write(text)
        for name in order:
            for block in byte_blocks(little[name]):
                file.write(block)


def _little(array: Any) -> npt.NDArray[Any]:
    array = np.asarray(array)
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))


def read_file(path: str | os.PathLike[str], *, mapped: bool = False) -> tuple[State, Arrays]:
    """Verify a file; return the state and the arrays.

    The file is opened once, so that one that takes its name meanwhile is another file. Arrays are read
    and verified now, or if they are mapped, when they are touched.
    """
    target = Path(path)
    with _opened(target) as file:
        size = os.fstat(file.fileno()).st_size
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= size - 8:
            raise ModelFileError(f"{target} is not a model file of simlabel, or it is cut short.")
        with told(target):
            state, entries = parsed(file.read(length), size - 8 - length)
        arrays = Arrays(target, entries, MappedFile(target, file, 8 + length) if mapped else None)
        if not mapped:
            arrays.read(file)
    return state, arrays


def _opened(target: Path) -> IO[bytes]:
    """A regular file, opened; what is none (a pipe, a device, a folder) is not waited for."""
    _refuse_special(target, os.stat(target).st_mode)
    flags = getattr(os, "O_NONBLOCK", 0)  # it may have become a pipe since
    file = open(target, "rb", opener=lambda name, mode: os.open(name, mode | flags))  # noqa: SIM115
    try:
        _refuse_special(target, os.fstat(file.fileno()).st_mode)
    except BaseException:
        file.close()
        raise
    return file


def _refuse_special(target: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise ModelFileError(f"{target} is no regular file, and so no model that `save` wrote.")
