"""What a path or an array means as rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simlabel._utils.files import not_regular
from simlabel._utils.limits import limits
from simlabel._utils.rows._containers import Source
from simlabel._utils.rows._files import MappedArray, NpzFile, ZarrRows, parquet_groups
from simlabel._utils.rows._lazy import DiskRows, LazyRows
from simlabel._utils.rows._stack import stacked
from simlabel._utils.validation import Rows

_ENDINGS = (".npy", ".npz", ".parquet")
_ZARR_SIGNS = ("zarr.json", ".zarray")


def open_rows(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    *,
    max_gib: float | None = None,
) -> LazyRows:
    """Rows that stay on the disk, as X for `fit`, `partial_fit` and `predict`.

    Parameters
    ----------
    path : path or list of paths
        An ``.npy``, ``.npz`` or ``.parquet`` file, a Zarr store, a folder of such files (read in the order
        of their names), or a list of files. In an npz file the rows are the array ``X``, or the only
        one.
    columns : list of str, optional
        Of Parquet files, the columns that are features; all by default.
    max_gib : float, optional
        How many GiB of memory an npz file or a row group of a Parquet file may ask for; by default that
        depends on the size of the file.

    Returns
    -------
    LazyRows
        With a shape and a dtype; ``rows[10:20]`` reads.

    Notes
    -----
    Arrays in npy files are mapped, and Zarr stores are read by their chunks; npz files and the row
    groups of Parquet files are read as a whole, two at a time, so write small ones: 65,536 rows are
    good.

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
            raise ValueError(
                f"{_where(piece)} has {piece.dtype} of shape {piece.shape}, but {_where(first)} has "
                f"{first.dtype} of shape {first.shape}: all must be two-dimensional and alike in columns."
            )
    return DiskRows(stacked(pieces))


def _pieces(path: Path, columns: tuple[str, ...] | None, max_gib: float | None) -> list[Source]:
    if path.is_dir() and any((path / sign).exists() for sign in _ZARR_SIGNS):
        return [ZarrRows.open(path)]
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS)
        if not files:
            raise ValueError(f"{path} holds no {', '.join(_ENDINGS)} files, and is no Zarr store.")
        return [piece for each in files for piece in _pieces(each, columns, max_gib)]
    problem = not_regular(path)
    if problem is not None:
        raise FileNotFoundError(f"{path}: {problem}.")
    if path.suffix == ".npy":
        return [MappedArray.npy(path)]
    if path.suffix == ".npz":
        return [NpzFile(str(path), max_gib)]
    if path.suffix == ".parquet":
        return list(parquet_groups(path, columns, max_gib))
    raise ValueError(
        f"{path}: rows are read from {', '.join(_ENDINGS)} files, Zarr stores and folders of them."
    )


def _where(piece: Source) -> str:
    return str(getattr(piece, "path", "a Zarr store"))


def as_rows(X: Any) -> Rows:
    """X, where it is large and lies on a disk, as rows that are read when needed; anything else as it is.

    That is a memory map of 256 MiB or more whose rows lie one after the other, and a Zarr array.
    """
    if isinstance(X, np.memmap):
        rows = X.ndim == 2 and X.flags.c_contiguous and X.dtype in (np.float32, np.float64)
        return DiskRows(MappedArray.of(X)) if rows and X.nbytes >= limits().mapped_bytes else X
    if type(X).__module__.partition(".")[0] == "zarr" and len(getattr(X, "shape", ())) == 2:
        return DiskRows(ZarrRows(X))
    return X
