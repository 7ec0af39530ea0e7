"""One file or part of a file as rows: a shape, a dtype, slices and positions.

Each is pickled as the place where it lies, so that other processes read it there themselves.
"""

from __future__ import annotations

import mmap
import zipfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.files import too_large
from simlabel._utils.forks import cached_property
from simlabel._utils.rows._containers import Index
from simlabel._utils.validation import FloatArray, Rows

_NPZ_KEY = "X"


def _check(size: int, path: Path, max_gib: float | None) -> None:
    message = too_large(size, path, max_gib)
    if message is not None:
        raise ValueError(f"{path}: a part of it {message}.")


class MappedArray:
    """Rows of a file that is mapped into memory.

    Parameters
    ----------
    path : str
        The file.
    dtype : dtype
        Of a number in it.
    shape : tuple of int
        (n_rows, n_columns).
    offset : int
        Bytes before the first row.
    """

    def __init__(self, path: str, dtype: npt.DTypeLike, shape: tuple[int, ...], offset: int) -> None:
        self.path, self.dtype, self.shape, self.offset = path, np.dtype(dtype), shape, offset

    @classmethod
    def npy(cls, path: Path) -> MappedArray:
        """A file that ``numpy.save`` wrote."""
        return cls.of(np.load(path, mmap_mode="r"), str(path))

    @classmethod
    def of(cls, array: np.memmap[Any, Any], path: str | None = None) -> MappedArray:
        """A mapped array, or part of one."""
        root: Any = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not array.flags.c_contiguous or not isinstance(root.base, mmap.mmap):
            raise ValueError(
                "A mapped array is read from its file row after row: give one whose rows lie one after the "
                "other (C order), not a transposed or strided view."
            )
        before = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return cls(path or str(array.filename), array.dtype, array.shape, int(root.offset) + before)

    @cached_property
    def _array(self) -> np.memmap[Any, Any]:
        return np.memmap(self.path, mode="r", dtype=self.dtype, shape=self.shape, offset=self.offset)

    def __getitem__(self, index: Index) -> Rows:
        return self._array[index]

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.dtype, self.shape, self.offset)


class NpzFile:
    """The array "X" of an npz file, or its only one; the whole file is read at a time."""

    def __init__(self, path: str, max_gib: float | None = None) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            _check(max(info.file_size for info in archive.infolist()), Path(path), max_gib)
        with np.load(path) as file:
            names = file.files
            if _NPZ_KEY not in names and len(names) != 1:
                raise ValueError(
                    f"{path} holds the arrays {', '.join(names)}; it should hold one, or one named 'X'."
                )
            self.key = _NPZ_KEY if _NPZ_KEY in names else names[0]
            array = file[self.key]
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, index: Index) -> Rows:
        return _read_npz(self.path, self.key)[index]


@lru_cache(maxsize=2)
def _read_npz(path: str, key: str) -> npt.NDArray[Any]:
    with np.load(path) as file:
        return file[key]


class ParquetGroup:
    """A row group of a Parquet file, which is read at a time."""

    def __init__(
        self, path: str, group: int, columns: tuple[str, ...], n_rows: int, dtype: npt.DTypeLike
    ) -> None:
        self.path, self.group, self.columns = path, group, columns
        self.shape, self.dtype = (n_rows, len(columns)), np.dtype(dtype)

    def __getitem__(self, index: Index) -> Rows:
        return _read_group(self.path, self.group, self.columns, self.dtype)[index]


@lru_cache(maxsize=2)
def _read_group(path: str, group: int, columns: tuple[str, ...], dtype: npt.DTypeLike) -> FloatArray:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        table = file.read_row_group(group, columns=list(columns))
    rows: FloatArray = np.empty((table.num_rows, len(columns)), dtype=dtype)
    for k, name in enumerate(columns):
        rows[:, k] = table.column(name).to_numpy()  # a missing value becomes NaN, which is refused by name
    return rows


def parquet_groups(
    path: Path, columns: tuple[str, ...] | None, max_gib: float | None = None
) -> list[ParquetGroup]:
    """The row groups of a file; every column must be a number."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        names = tuple(schema.names) if columns is None else columns
        absent = [name for name in names if name not in schema.names]
        if absent:
            raise ValueError(f"{path} has no column {absent[0]!r}; it has {', '.join(schema.names)}.")
        types = [schema.field(name).type for name in names]
        for name, kind in zip(names, types, strict=True):
            if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
                raise ValueError(f"{path}: column {name!r} holds {kind}, not numbers; name columns=[...].")
        dtype = np.float32 if all(kind == pa.float32() for kind in types) else np.float64
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        counts = [group.num_rows for group in groups]
    cells = max(counts, default=0) * len(names) * np.dtype(dtype).itemsize
    _check(max([cells, *(group.total_byte_size for group in groups)]), path, max_gib)
    return [ParquetGroup(str(path), g, names, n, dtype) for g, n in enumerate(counts)]


class ZarrRows:
    """A two-dimensional Zarr array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype = tuple(map(int, array.shape)), np.dtype(array.dtype)

    @classmethod
    def open(cls, path: Path) -> ZarrRows:
        """The array in a folder."""
        try:
            import zarr
        except ImportError as error:
            raise ImportError(
                f"{path} is a Zarr store: install it with pip install 'simlabel[zarr]'."
            ) from error
        return cls(zarr.open_array(str(path), mode="r"))

    def __getitem__(self, index: Index) -> Rows:
        return self.array[index] if isinstance(index, slice) else self.array.oindex[np.asarray(index), :]
