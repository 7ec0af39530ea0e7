"""numpy archives, in two layouts: dense (X, Y) and sparse (the parts of CSR matrices).

Dense: ``X``, ``Y``. Sparse: ``X_data``, ``X_indices``, ``X_indptr``, ``X_shape`` and ``Y_*`` likewise.
Both may have ``split``, ``label_names`` and ``feature_names``. Nothing is ever unpickled.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import TEST, Dataset, Numbered, Split
from simlabel.datasets._errors import DatasetError, check_columns, check_memory
from simlabel.datasets._format import Format, Wanted
from simlabel.datasets._gather import LARGEST_INDEX
from simlabel.datasets._lines import set_name

Array = npt.NDArray[Any]  # of a type that the archive tells

_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_DAMAGED = (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, TypeError, SyntaxError)
_REFUSED = (NotImplementedError, RuntimeError, OverflowError)  # exotic or encrypted archives


def read_npz(path: Path, *, max_gib: float | None = None) -> Dataset:
    """Read a numpy archive.

    Parameters
    ----------
    path : path
        The file.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    with _opened(path, max_gib) as members:
        return _assemble(members, path)


@contextmanager
def _opened(path: Path, max_gib: float | None) -> Iterator[_Members]:
    """Open an archive, and word what is wrong with it."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield _Members(archive, path, max_gib)
    except DatasetError:
        raise
    except (*_DAMAGED, *_REFUSED) as error:
        raise DatasetError(f"expected a numpy archive, and it is damaged: {error}", path) from None


def read_labels(path: Path, max_gib: float | None = None) -> tuple[sp.csr_array, Sequence[str]]:
    """Y and the names of its columns, of an archive that needs no X."""
    with _opened(path, max_gib) as members:
        Y = members.matrix("Y")
        return check_labels(Y, path), members.names("label_names", Y.shape[1])


def _assemble(members: _Members, path: Path) -> Dataset:
    X, feature_names = members.features()
    Y = members.matrix("Y")
    if X.shape[0] != Y.shape[0]:
        raise DatasetError(f"expected as many rows in Y as in X ({X.shape[0]}), found {Y.shape[0]}", path)
    return Dataset(
        name=set_name(path),
        X=X,
        Y=check_labels(Y, path),
        label_names=members.names("label_names", Y.shape[1]),
        feature_names=feature_names,
        split=members.split(X.shape[0]),
        source=str(path),
    )


class _Members:
    """Arrays in an archive, each read when it is asked for."""

    def __init__(self, archive: zipfile.ZipFile, path: Path, max_gib: float | None) -> None:
        self._archive = archive
        self._path = path
        self._size, self._max_gib = 0, max_gib
        self.keys = {name.removesuffix(".npy") for name in archive.namelist()}

    def array(self, key: str, kinds: str, ndim: int) -> Array:
        """An array of one of the `kinds` of dtype, with `ndim` axes."""
        if key not in self.keys:
            found = ", ".join(sorted(self.keys))
            raise self._error(f"the array {key} (layouts: X, Y; or X_data, X_indices, ...), found {found}")
        info = self._archive.getinfo(f"{key}.npy")
        with self._archive.open(info) as stream:
            version = np.lib.format.read_magic(stream)
            if version not in _HEADERS:
                raise self._error(f"{key} in version 1 or 2 of the format, found {version}")
            shape, _, dtype = _HEADERS[version](stream)
            wanted = int(np.prod([int(side) for side in shape], dtype=object)) * dtype.itemsize
            if dtype.kind not in kinds or dtype.hasobject or len(shape) != ndim:
                found = f"{dtype} of shape {shape}"
                raise self._error(f"{key} with {ndim} axes, of kind {kinds!r}, found {found}")
            if wanted != info.file_size - stream.tell() or dtype.itemsize == 0:
                raise self._error(f"{wanted} bytes in {key}, found {info.file_size - stream.tell()}")
        self._size += wanted
        check_memory(self._size, self._path, self._max_gib)
        with self._archive.open(info) as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def matrix(self, key: str) -> Rows:
        """A matrix in either layout, checked."""
        if key in self.keys or f"{key}_data" not in self.keys:
            matrix = self.array(key, "biuf", 2)
            if 0 in matrix.shape:  # the other side may be any number, at no cost in bytes
                raise self._error(f"at least one row and column in {key}, found shape {matrix.shape}")
            self._check_finite(matrix, key)
            return matrix
        data = self.array(f"{key}_data", "biuf", 1)
        indices = self.array(f"{key}_indices", "iu", 1)
        indptr = self.array(f"{key}_indptr", "iu", 1)
        shape = self.array(f"{key}_shape", "iu", 1)
        self._check_finite(data, key)
        self._check_csr(key, data, indices, indptr, shape)
        matrix = sp.csr_array((data, indices, indptr), shape=(int(shape[0]), int(shape[1])))
        matrix.sum_duplicates()
        return matrix

    def features(self) -> tuple[Rows, Sequence[str]]:
        """X and the names of its columns."""
        X = self.matrix("X")
        X = X if X.dtype == np.float32 else X.astype(np.float64, copy=False)
        return X, self.names("feature_names", X.shape[1])

    def _check_finite(self, values: Array, key: str) -> None:
        if not np.isfinite(values).all():
            raise self._error(f"finite numbers in {key}, found NaN or infinity")

    def _check_csr(self, key: str, data: Array, indices: Array, indptr: Array, shape: Array) -> None:
        if len(shape) != 2 or not 0 <= int(shape[1]) <= LARGEST_INDEX + 1:
            raise self._error(f"numbers of rows and columns in {key}_shape, found {shape.tolist()[:4]}")
        sizes = (int(shape[1]), 0) if key == "X" else (0, int(shape[1]))
        check_columns(*sizes, self._path, self._max_gib)
        if len(indptr) != int(shape[0]) + 1 or indptr[0] != 0 or int(indptr[-1]) != len(data):
            raise self._error(f"{key}_indptr from 0 to {len(data)} with one entry more than rows")
        if (indptr[1:] < indptr[:-1]).any():
            raise self._error(f"{key}_indptr that never falls")
        if len(indices) != len(data):
            raise self._error(f"{len(data)} indices in {key}_indices, found {len(indices)}")
        if len(indices) and not (int(indices.min()) >= 0 and int(indices.max()) < int(shape[1])):
            raise self._error(f"{key}_indices from 0 to {int(shape[1]) - 1}")

    def names(self, key: str, count: int) -> Sequence[str]:
        """Names of columns; their numbers if the archive has none."""
        if key not in self.keys:
            return Numbered(count)
        names = self.array(key, "U", 1)
        if len(names) != count:
            raise self._error(f"{count} {key}, found {len(names)}")
        return tuple(names.tolist())

    def split(self, n_rows: int) -> Split | None:
        """The parts of the rows, if the archive has them."""
        if "split" not in self.keys:
            return None
        split = self.array("split", "iu", 1)
        if len(split) != n_rows or (n_rows and not (int(split.min()) >= 0 and int(split.max()) <= TEST)):
            raise self._error(f"{n_rows} entries of 0 (train), 1 (development) or 2 (test) in split")
        return split.astype(np.int8)

    def _error(self, expected: str) -> DatasetError:
        return DatasetError(f"expected {expected}", self._path)


def check_labels(Y: Rows, path: Path) -> sp.csr_array:
    """Labels that are 0 and 1, as CSR; refuse others."""
    is_sparse = sp.issparse(Y)
    values = Y.data if is_sparse else Y
    wrong = values[(values != 0) & (values != 1)]
    if len(wrong):
        raise DatasetError(f"expected 0 and 1 in Y, found {wrong[0]}", path)
    labels = sp.csr_array(Y.astype(np.int8))
    labels.eliminate_zeros()
    return labels


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    path, width = wanted.path, wanted.width
    with _opened(path, wanted.max_gib) as members:
        X, names = members.features()
    if not isinstance(wanted.features, int) and tuple(names) != tuple(wanted.features):
        raise DatasetError("expected the features that the model was fitted on, in their order", path)
    if X.shape[1] != width:
        raise DatasetError(f"expected {width} features, as the model has, found {X.shape[1]}", path)
    for start in range(0, X.shape[0], wanted.rows):
        yield X[start : start + wanted.rows]


NPZ = Format(
    name="npz",
    title="numpy archives with X and Y, dense or as CSR",
    endings=(".npz",),
    sniff=lambda head: head.raw.startswith(b"PK\x03\x04"),
    read=read_npz,
    chunks=_chunks,
    count_rows=lambda path: 0,
)
