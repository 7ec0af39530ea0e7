"""numpy files: archives of X and Y, an array of rows, and folders of arrays with a file of labels.

The layouts of archives are dense, ``X`` and ``Y``, and sparse, ``X_data``, ``X_indices``, ``X_indptr``,
``X_shape`` and ``Y_*`` likewise. Both may have ``split``, ``label_names`` and ``feature_names``. Nothing is
unpickled.
"""

from __future__ import annotations

import os
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import blocks, open_rows
from simlabel._utils.validation import AnyArray, Rows, check_sparse
from simlabel.datasets._columns import LARGEST_INDEX, encode
from simlabel.datasets._dataset import (
    TEST,
    Dataset,
    LabelColumns,
    NumberedNames,
    PartCodes,
    label_matrix,
    set_name,
)
from simlabel.datasets._errors import DatasetError, check_columns, check_memory, check_regular
from simlabel.datasets._format import FeatureChunks, Format
from simlabel.datasets._source_table import SourceTable
from simlabel.datasets._table import read_table
from simlabel.datasets._text import numbered_lines
from simlabel.tables import split

NamedLabels = tuple[sp.csr_array, Sequence[str]]

_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, TypeError, SyntaxError, KeyError)
_UNSUPPORTED = (MemoryError, NotImplementedError, RuntimeError, OverflowError)
_MATRIX = "Y.npy"
_LABELS = ("labels.txt", "labels.csv", "labels.jsonl", _MATRIX, "Y.npz")


def read_npz(path: Path, *, max_gib: float | None = None) -> Dataset:
    """Read a numpy archive.

    Parameters
    ----------
    path : path
        The file.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    with _opened(path, max_gib) as archive:
        X, feature_names = archive.features()
        Y, label_names = archive.labels()
        if X.shape[0] != Y.shape[0]:
            raise DatasetError(f"expected as many rows in Y as in X ({X.shape[0]}), found {Y.shape[0]}", path)
        split = archive.split(X.shape[0])
        return Dataset(set_name(path), X, Y, label_names, feature_names, split, source=str(path))


@contextmanager
def _opened(path: Path, max_gib: float | None) -> Iterator[_Archive]:
    """Open an archive; errors of damaged, unusual and encrypted ones become `DatasetError`."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_memory(sum(info.file_size for info in archive.infolist()), path, max_gib)
        with np.load(path, allow_pickle=False) as file:
            yield _Archive(file, path, max_gib)
    except DatasetError:
        raise
    except (*_DAMAGED, *_UNSUPPORTED) as error:
        raise DatasetError(f"expected a numpy archive, and it is damaged: {error}", path) from None


class _Archive:
    """The arrays of an archive, each read on demand."""

    def __init__(self, file: Any, path: Path, max_gib: float | None) -> None:
        self._file, self._path, self._max_gib = file, path, max_gib

    def _array(self, key: str, kinds: str, ndim: int) -> AnyArray:
        """Read an array of one of the `kinds` of dtype, with `ndim` axes."""
        if key not in self._file:
            found = ", ".join(sorted(self._file))
            raise self._error(f"the array {key} (layouts: X, Y; or X_data, X_indices, ...), found {found}")
        array = self._file[key]
        if not isinstance(array, np.ndarray):
            raise ValueError(f"{key} is not an array")
        if array.dtype.kind not in kinds or array.ndim != ndim:
            found = f"{array.dtype} of shape {array.shape}"
            raise self._error(f"{key} with {ndim} axes, of kind {kinds!r}, found {found}")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise self._error(f"finite numbers in {key}, found NaN or infinity")
        return array

    def _matrix(self, key: str) -> Rows:
        """Read a matrix in either layout."""
        if key in self._file or f"{key}_data" not in self._file:
            matrix = self._array(key, "biuf", 2)
            if 0 in matrix.shape:  # the other side may be any number, at no cost in bytes
                raise self._error(f"at least one row and column in {key}, found shape {matrix.shape}")
            return matrix
        data = self._array(f"{key}_data", "biuf", 1)
        indices, indptr = (self._array(f"{key}_{part}", "iu", 1) for part in ("indices", "indptr"))
        shape = self._array(f"{key}_shape", "iu", 1).tolist()
        if len(shape) != 2 or not 0 <= shape[1] <= LARGEST_INDEX + 1:
            raise self._error(f"numbers of rows and columns in {key}_shape, found {shape[:4]}")
        check_columns(shape[1] * (key == "X"), shape[1] * (key == "Y"), self._path, self._max_gib)
        try:
            matrix = check_sparse(sp.csr_array((data, indices, indptr), shape=tuple(shape)), key)
        except ValueError as error:
            parts = f"{key}_data, {key}_indices, {key}_indptr and {key}_shape"
            raise self._error(f"the parts of a CSR matrix in {parts}; {error}") from None
        return matrix

    def features(self) -> tuple[Rows, Sequence[str]]:
        """Read X and the names of its columns."""
        X = self._matrix("X")
        X = X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
        return X, self._names("feature_names", X.shape[1])

    def labels(self) -> NamedLabels:
        """Read Y and the names of its columns."""
        Y = self._matrix("Y")
        return _check_labels(Y, self._path), self._names("label_names", Y.shape[1])

    def _names(self, key: str, count: int) -> Sequence[str]:
        """Read names of columns; their numbers if the archive has none."""
        if key not in self._file:
            return NumberedNames(count)
        names = self._array(key, "U", 1)
        if len(names) != count:
            raise self._error(f"{count} {key}, found {len(names)}")
        return tuple(names.tolist())

    def split(self, n_rows: int) -> PartCodes | None:
        """Read the parts of the rows, if the archive has them."""
        if "split" not in self._file:
            return None
        split = self._array("split", "iu", 1)
        if len(split) != n_rows or not np.isin(split, range(TEST + 1)).all():
            raise self._error(f"{n_rows} entries of 0 (train), 1 (development) or 2 (test) in split")
        return split.astype(np.int8)

    def _error(self, expected: str) -> DatasetError:
        return DatasetError(f"expected {expected}", self._path)


def _check_labels(Y: Rows, path: Path) -> sp.csr_array:
    """Return labels that are 0 and 1 as CSR."""
    values = Y.data if sp.issparse(Y) else Y
    wrong = values[(values != 0) & (values != 1)]
    if len(wrong):
        raise DatasetError(f"expected 0 and 1 in Y, found {wrong[0]}", path)
    labels = sp.csr_array(Y.astype(np.int8))
    labels.eliminate_zeros()
    return labels


def _npz_chunks(chunks: FeatureChunks) -> Iterator[Rows]:
    with _opened(chunks.path, chunks.max_gib) as archive:
        X, names = archive.features()
    if not isinstance(chunks.features, int) and tuple(names) != tuple(chunks.features):
        raise DatasetError("expected the features that the model was fitted on, in their order", chunks.path)
    chunks.check_width(X.shape[1])
    for part in blocks(X.shape[0], chunks.rows):
        yield X[part]


def is_folder_of_arrays(path: str) -> bool:
    """Return whether a path is a folder with arrays of rows."""
    return os.path.isdir(path) and bool(_parts(Path(path)))


def read_folder(path: Path, *, separator: str = ";", max_gib: float | None = None) -> Dataset:
    """Read a folder of ``.npy`` files and the labels of their rows.

    Parameters
    ----------
    path : path
        The folder.
    separator : str, default=";"
        Separator between the labels of a row, if they are a text.
    max_gib : float, optional
        How many GiB of memory the file of labels may need; by default that depends on its size.
    """
    X = _check_rows(_open_arrays(_parts(path), path), path)
    return _labeled(path.resolve().name, X, _find_labels(path), path, separator, max_gib)


def read_npy(
    path: Path,
    *,
    labels: str | os.PathLike[str] | None = None,
    separator: str = ";",
    max_gib: float | None = None,
) -> Dataset:
    """Read an ``.npy`` file and the labels of its rows.

    Parameters
    ----------
    path : path
        The file, a matrix of numbers.
    labels : path, optional
        The file of labels: npy or npz with 0 and 1, a text file with the labels of a row on each line, CSV or
        JSON lines. By default one of ``labels.txt``, ``labels.csv``, ``labels.jsonl``, ``Y.npy`` and
        ``Y.npz`` in the same folder.
    separator : str, default=";"
        Separator between the labels of a row, if they are a text.
    max_gib : float, optional
        How many GiB of memory the file of labels may need; by default that depends on its size.
    """
    X = _check_rows(_open_arrays(path, path), path)
    file = _find_labels(path.parent, path) if labels is None else Path(labels)
    check_regular(file)
    return _labeled(set_name(path), X, file, path, separator, max_gib)


def _labeled(
    name: str, X: AnyArray, file: Path, path: Path, separator: str, max_gib: float | None
) -> Dataset:
    """Return rows with the labels of a file."""
    Y, label_names = _read_labels(file, separator, max_gib)
    if Y.shape[0] != X.shape[0]:
        raise DatasetError(f"expected labels for {X.shape[0]} rows, found {Y.shape[0]}", file)
    return Dataset(name, X, Y, label_names, NumberedNames(X.shape[1]), source=str(path))


def _open_arrays(files: Path | list[Path], path: Path) -> Rows:
    """Open one or several arrays without reading them."""
    try:
        return open_rows(files)
    except (ValueError, OSError, EOFError) as error:
        what = f"expected matrices of numbers of the same width and type, as numpy saves them; {error}"
        raise DatasetError(what, path) from None


def _check_rows(rows: Any, path: Path) -> AnyArray:
    """Read rows as finite numbers, float32 or float64."""
    X = np.asarray(rows)
    if X.dtype.kind not in "biuf":
        raise DatasetError(f"expected numbers in the arrays, found {X.dtype}", path)
    if not np.isfinite(X).all():
        raise DatasetError("expected finite numbers in the arrays, found NaN or infinity", path)
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def _parts(path: Path) -> list[Path]:
    """Return the files with rows, sorted by the numbers in their names: x2.npy comes before x10.npy."""
    files = [each for each in path.iterdir() if each.suffix == ".npy" and each.name != _MATRIX]

    def key(file: Path) -> list[str | int]:
        pieces = re.split("([0-9]+)", file.name)
        return [int(piece) if k % 2 else piece for k, piece in enumerate(pieces)]

    return sorted(files, key=key)


def _find_labels(folder: Path, array: Path | None = None) -> Path:
    """Return the file of labels in a folder; `array` is the file of rows, if there is only one."""
    found = [folder / name for name in _LABELS if (folder / name).is_file() and folder / name != array]
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        other = "" if array is None else "; name another file with labels="
        raise DatasetError(
            f"expected the labels in one of {', '.join(_LABELS)}, found {names}{other}", array or folder
        )
    return found[0]


def _read_labels(file: Path, separator: str, max_gib: float | None) -> NamedLabels:
    """Read the labels of rows from a matrix, a text file with a row on each line, or a table."""
    if file.suffix == ".npz":
        with _opened(file, max_gib) as archive:
            return archive.labels()
    if file.suffix == ".npy":
        try:
            Y = np.load(file, mmap_mode="r")
        except (ValueError, OSError, EOFError) as error:
            raise DatasetError(f"expected an array of 0 and 1, as numpy saves it; {error}", file) from None
        if Y.ndim != 2 or Y.dtype.kind not in "biuf":
            raise DatasetError(f"expected a matrix of 0 and 1, found {Y.dtype} of shape {Y.shape}", file)
        return _check_labels(np.asarray(Y), file), NumberedNames(Y.shape[1])
    if file.suffix == ".txt":
        return label_matrix(split(line, separator) for _, line in numbered_lines(file, max_gib))
    # skipped rows would shift the labels of the others
    format = file.suffix[1:] if file.suffix in (".csv", ".jsonl") else None
    read = read_table(file, format=format, max_gib=max_gib, strict=True)
    table = SourceTable.of_frame(read.frame, file, read.lines)
    first, *others = table.names
    column = LabelColumns(label_column=first, separator=separator)
    return encode(table, range(len(table.names)) if others else column)[2:]


def _npy_chunks(chunks: FeatureChunks) -> Iterator[Rows]:
    rows = _open_arrays(chunks.path, chunks.path)
    if not isinstance(chunks.features, int):
        raise DatasetError(
            "expected the names of the columns that the model was fitted on, found an array without names",
            chunks.path,
        )
    chunks.check_width(rows.shape[1])
    for part in blocks(rows.shape[0], chunks.rows):
        yield _check_rows(rows[part], chunks.path)


NPZ = Format(
    name="npz",
    title="numpy archives with X and Y, dense or as CSR",
    endings=(".npz",),
    sniff=lambda head: head.raw.startswith(b"PK\x03\x04"),
    read=read_npz,
    chunks=_npz_chunks,
    count_rows=lambda path: 0,
)
NPY = Format(
    name="npy",
    title="a numpy array of rows, with a file of labels",
    endings=(".npy",),
    sniff=lambda head: head.raw.startswith(b"\x93NUMPY"),
    read=read_npy,
    chunks=_npy_chunks,
    labels="the file of labels (npy, npz, txt, CSV, JSON lines)",
    parse_labels=str,
    count_rows=lambda path: 0,
)
