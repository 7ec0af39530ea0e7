"""A folder of numpy arrays, parts of X, with a file of labels."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.rows import open_rows
from simlabel.datasets._dataset import Dataset, Numbered
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._frame import indicator, label_lists
from simlabel.datasets._label_columns import LabelColumns, LabelLists
from simlabel.datasets._lines import numbered_lines
from simlabel.datasets._npz import check_labels, read_labels
from simlabel.datasets.tables import read_table

_MATRIX = "Y.npy"
_LABELS = ("labels.txt", "labels.csv", "labels.jsonl", _MATRIX, "Y.npz")
Labels = tuple[sp.csr_array, Sequence[str]]


def is_folder_of_arrays(path: str) -> bool:
    """Whether there is a folder of that name with rows in it."""
    return os.path.isdir(path) and bool(_parts(Path(path)))


def read_folder(path: Path, *, separator: str = ";", max_gib: float | None = None) -> Dataset:
    """Read a folder of ``.npy`` files and the labels of their rows.

    Parameters
    ----------
    path : path
        The folder.
    separator : str, default=";"
        What stands between the labels of a row, where they are a text.
    max_gib : float, optional
        How many GiB of memory the file of labels may ask for; by default that depends on its size.
    """
    try:
        X = check_rows(open_rows(_parts(path)), path)
    except DatasetError:
        raise
    except (ValueError, OSError, EOFError) as error:
        what = f"expected arrays of the same width and type, as numpy saves them; {error}"
        raise DatasetError(what, path) from None
    Y, label_names = read_label_file(find_labels(path), separator, max_gib)
    if Y.shape[0] != X.shape[0]:
        raise DatasetError(f"expected labels for {X.shape[0]} rows, found {Y.shape[0]}", path)
    return Dataset(
        name=path.resolve().name,
        X=X,
        Y=Y,
        label_names=label_names,
        feature_names=Numbered(X.shape[1]),
        source=str(path),
    )


def check_rows(rows: Any, path: Path) -> npt.NDArray[Any]:
    """Rows in memory as finite numbers, float32 or float64."""
    X = np.asarray(rows)
    if X.dtype.kind not in "biuf":
        raise DatasetError(f"expected numbers in the arrays, found {X.dtype}", path)
    if not np.isfinite(X).all():
        raise DatasetError("expected finite numbers in the arrays, found NaN or infinity", path)
    return X if X.dtype == np.float32 else X.astype(np.float64, copy=False)


def _parts(path: Path) -> list[Path]:
    """The files with rows; numbers in their names count as numbers: x2.npy comes before x10.npy."""
    files = [each for each in path.iterdir() if each.suffix == ".npy" and each.name != _MATRIX]
    return sorted(files, key=lambda file: _natural(file.name))


def _natural(name: str) -> list[str | int]:
    """A name as texts and, in every second place, numbers."""
    pieces = re.split("([0-9]+)", name)
    return [int(piece) if place % 2 else piece for place, piece in enumerate(pieces)]


def find_labels(folder: Path, array: Path | None = None) -> Path:
    """The file of labels in a folder; `array` is the file of rows, where it is a single one."""
    found = [folder / name for name in _LABELS if (folder / name).is_file() and folder / name != array]
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        other = "" if array is None else "; name another file with labels="
        raise DatasetError(
            f"expected the labels in one of {', '.join(_LABELS)}, found {names}{other}", array or folder
        )
    return found[0]


def read_label_file(file: Path, separator: str, max_gib: float | None) -> Labels:
    """The labels of rows, from a file of one of the forms of labels."""
    if file.suffix == ".npz":
        return read_labels(file, max_gib)
    if file.suffix == ".npy":
        return _matrix(file)
    if file.suffix == ".txt":
        lists = LabelLists(separator)
        for _, line in numbered_lines(file, max_gib):
            lists.add(line)
        return lists.finish()
    # rows that are left out would give the others the wrong labels
    format = file.suffix[1:] if file.suffix in (".csv", ".jsonl") else None
    frame = read_table(file, format=format, max_gib=max_gib, strict=True).frame
    if frame.shape[1] == 1:
        name = str(frame.columns[0])
        return label_lists(frame[name], LabelColumns(label_column=name, separator=separator), file)
    return indicator(frame, list(range(frame.shape[1])), file), tuple(map(str, frame.columns))


def _matrix(file: Path) -> Labels:
    try:
        Y = np.load(file, mmap_mode="r")
    except (ValueError, OSError, EOFError) as error:
        raise DatasetError(f"expected an array of 0 and 1, as numpy saves it; {error}", file) from None
    if Y.ndim != 2 or Y.dtype.kind not in "biuf":
        raise DatasetError(f"expected a matrix of 0 and 1, found {Y.dtype} of shape {Y.shape}", file)
    return check_labels(np.asarray(Y), file), Numbered(Y.shape[1])
