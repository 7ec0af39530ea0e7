"""Files as rows: npy, npz, Parquet and Zarr.

Each source of rows is pickled as the path of its file, so that other processes read the file themselves.
"""

from __future__ import annotations

import mmap
import os
import zipfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.files import not_regular, too_large
from simlabel._utils.limits import limits
from simlabel._utils.rows._containers import Index, stacked
from simlabel._utils.rows._lazy import DiskRows, LazyRows, Source
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, Rows

_NPZ_KEY = "X"
_ENDINGS = (".npy", ".npz", ".parquet")
_ZARR_FILES = ("zarr.json", ".zarray")


def open_rows(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    *,
    max_gib: float | None = None,
) -> LazyRows:
    """Open rows that stay on the disk, as X for `fit`, `partial_fit` and `predict`.

    Parameters
    ----------
    path : path or list of paths
        An ``.npy``, ``.npz`` or ``.parquet`` file, a Zarr store, a folder of such files (read in the order
        of their names), or a list of files. In an npz file the rows are the array ``X``, or the only
        one.
    columns : list of str, optional
        Of Parquet files, the columns that are features; all by default.
    max_gib : float, optional
        How many GiB of memory an npz file or a row group of a Parquet file may need; by default that
        depends on the size of the file.

    Returns
    -------
    LazyRows
        With a shape and a dtype; ``rows[10:20]`` reads.

    Notes
    -----
    Arrays in npy files are mapped, and Zarr stores are read by their chunks; npz files and the row
    groups of Parquet files are read as a whole, two at a time, so they should be small: 65,536 rows work
    well.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> np.save(folder / "part-0.npy", np.eye(3)), np.save(folder / "part-1.npy", np.ones((2, 3)))
    (None, None)
    >>> rows = open_rows(folder)
    >>> rows.shape, rows[2:4].tolist()
    ((5, 3), [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
    """
    names = tuple(columns) if columns is not None else None
    paths = [Path(each) for each in ([path] if isinstance(path, str | os.PathLike) else path)]
    pieces = [piece for each in paths for piece in _pieces(each, names, max_gib)]
    if not pieces:
        raise ValueError(f"There are no rows in {', '.join(map(str, paths))}.")
    first = pieces[0]
    for piece in pieces:
        if len(piece.shape) != 2 or piece.shape[1] != first.shape[1] or piece.dtype != first.dtype:
            name, other = (getattr(each, "path", "a Zarr store") for each in (piece, first))
            raise ValueError(
                f"{name} has {piece.dtype} of shape {piece.shape}, but {other} has "
                f"{first.dtype} of shape {first.shape}: all must have two dimensions, and the same columns."
            )
    return DiskRows(stacked(pieces))


def _pieces(path: Path, columns: tuple[str, ...] | None, max_gib: float | None) -> Sequence[Source]:
    if path.is_dir() and any((path / name).exists() for name in _ZARR_FILES):
        return [ZarrRows.open(path)]
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS)
        if not files:
            raise ValueError(f"{path} holds no {', '.join(_ENDINGS)} files, and is not a Zarr store.")
        return [piece for each in files for piece in _pieces(each, columns, max_gib)]
    problem = not_regular(path)
    if problem is not None:
        raise FileNotFoundError(f"{path}: {problem}.")
    if path.suffix == ".npy":
        return [MappedArray.of(np.load(path, mmap_mode="r"))]
    if path.suffix == ".npz":
        return [NpzFile(str(path), max_gib)]
    if path.suffix == ".parquet":
        return _parquet_groups(path, columns, max_gib)
    raise ValueError(
        f"{path}: rows are read from {', '.join(_ENDINGS)} files, Zarr stores and folders of them."
    )


def as_rows(X: Any) -> Rows:
    """Return X as lazy rows if it is large and on a disk; anything else is unchanged.

    That is a memory map of 256 MiB or more whose rows are contiguous, and a Zarr array.
    """
    if isinstance(X, np.memmap):
        rows = X.ndim == 2 and X.flags.c_contiguous and X.dtype in (np.float32, np.float64)
        return DiskRows(MappedArray.of(X)) if rows and X.nbytes >= limits().mapped_bytes else X
    if type(X).__module__.partition(".")[0] == "zarr" and len(getattr(X, "shape", ())) == 2:
        return DiskRows(ZarrRows(X))
    return X


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
    def of(cls, array: np.memmap[Any, Any]) -> MappedArray:
        """Return the rows of a mapped array, or of a part of one."""
        root: Any = array
        while isinstance(root.base, np.ndarray):
            root = root.base
        if not array.flags.c_contiguous or not isinstance(root.base, mmap.mmap):
            raise ValueError(
                "A mapped array is read from its file row by row: pass one whose rows are contiguous "
                "(C order), not a transposed or strided view."
            )
        before = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        return cls(str(array.filename), array.dtype, array.shape, int(root.offset) + before)

    @cached_property
    def _array(self) -> np.memmap[Any, Any]:
        return np.memmap(self.path, mode="r", dtype=self.dtype, shape=self.shape, offset=self.offset)

    def __getitem__(self, index: Index) -> Rows:
        return self._array[index]

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.path, self.dtype, self.shape, self.offset)


class NpzFile:
    """The array "X" of an npz file, or its only one; it is read as a whole."""

    def __init__(self, path: str, max_gib: float | None = None) -> None:
        self.path = path
        with zipfile.ZipFile(path) as archive:
            _check(max(info.file_size for info in archive.infolist()), Path(path), max_gib)
        with np.load(path) as file:
            names = file.files
            if _NPZ_KEY not in names and len(names) != 1:
                raise ValueError(
                    f"{path} holds the arrays {', '.join(names)}; it must hold one, or one named 'X'."
                )
            self.key = _NPZ_KEY if _NPZ_KEY in names else names[0]
            array = file[self.key]
        self.shape, self.dtype = array.shape, array.dtype

    def __getitem__(self, index: Index) -> Rows:
        return _read_npz(self.path, self.key)[index]


@lru_cache(maxsize=2)
def _read_npz(path: str, key: str) -> AnyArray:
    with np.load(path) as file:
        return file[key]


class ParquetGroup:
    """A row group of a Parquet file, which is read as a whole."""

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
        rows[:, k] = table.column(name).to_numpy()  # NaN if missing, which is an error later
    return rows


def _parquet_groups(
    path: Path, columns: tuple[str, ...] | None, max_gib: float | None = None
) -> list[ParquetGroup]:
    """Return the row groups of a file; every column must be numeric."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, metadata = file.schema_arrow, file.metadata
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        counts = [group.num_rows for group in groups]
        largest = max((group.total_byte_size for group in groups), default=0)
    names = tuple(schema.names) if columns is None else columns
    for name in names:
        if name not in schema.names:
            raise ValueError(f"{path} has no column {name!r}; it has {', '.join(schema.names)}.")
        kind = schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise ValueError(f"{path}: column {name!r} holds {kind}, not numbers; name columns=[...].")
    dtype = np.float32 if all(schema.field(name).type == pa.float32() for name in names) else np.float64
    cells = max(counts, default=0) * len(names) * np.dtype(dtype).itemsize
    _check(max(cells, largest), path, max_gib)
    return [ParquetGroup(str(path), g, names, n, dtype) for g, n in enumerate(counts)]


class ZarrRows:
    """A two-dimensional Zarr array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape, self.dtype = tuple(map(int, array.shape)), np.dtype(array.dtype)

    @classmethod
    def open(cls, path: Path) -> ZarrRows:
        """Open the array in a folder."""
        try:
            import zarr
        except ImportError as error:
            raise ImportError(
                f"{path} is a Zarr store: install zarr with pip install 'simlabel[zarr]'."
            ) from error
        return cls(zarr.open_array(str(path), mode="r"))

    def __getitem__(self, index: Index) -> Rows:
        return self.array[index] if isinstance(index, slice) else self.array.oindex[np.asarray(index), :]
