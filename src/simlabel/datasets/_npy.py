"""A numpy array of rows in a .npy file, with the labels of its rows in another file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from simlabel._utils.rows import open_rows
from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset, Numbered
from simlabel.datasets._errors import DatasetError, check_regular
from simlabel.datasets._folder import check_rows, find_labels, read_label_file
from simlabel.datasets._format import Format, Wanted
from simlabel.datasets._lines import set_name


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
        The file: a matrix of numbers, a row for each.
    labels : path, optional
        The file of labels: npy or npz with 0 and 1, a text file with the labels of a row on each line, CSV or
        JSON lines. By default one of ``labels.txt``, ``labels.csv``, ``labels.jsonl``, ``Y.npy`` and
        ``Y.npz`` in the same folder.
    separator : str, default=";"
        What stands between the labels of a row, where they are a text.
    max_gib : float, optional
        How many GiB of memory the file of labels may ask for; by default that depends on its size.
    """
    X = check_rows(_opened(path), path)
    file = find_labels(path.parent, path) if labels is None else Path(labels)
    check_regular(file)
    Y, label_names = read_label_file(file, separator, max_gib)
    if Y.shape[0] != X.shape[0]:
        raise DatasetError(
            f"expected labels for the {X.shape[0]} rows of {path.name}, found {Y.shape[0]}", file
        )
    return Dataset(
        name=set_name(path),
        X=X,
        Y=Y,
        label_names=label_names,
        feature_names=Numbered(X.shape[1]),
        source=str(path),
    )


def _opened(path: Path) -> Rows:
    """The array, mapped; rows of one number are refused with the reason."""
    try:
        rows: Rows = open_rows(path)
    except (ValueError, OSError, EOFError) as error:
        what = f"expected a matrix of numbers, as numpy saves it; {error}"
        raise DatasetError(what, path) from None
    return rows


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    path, rows = wanted.path, _opened(wanted.path)
    if not isinstance(wanted.features, int):
        raise DatasetError(
            "expected the names of the columns that the model was fitted on, found an array without names",
            path,
        )
    if rows.shape[1] != wanted.width:
        raise DatasetError(f"expected {wanted.width} features, as the model has, found {rows.shape[1]}", path)
    for start in range(0, rows.shape[0], wanted.rows):
        yield check_rows(rows[start : start + wanted.rows], path)


NPY = Format(
    name="npy",
    title="a numpy array of rows, with a file of labels",
    endings=(".npy",),
    sniff=lambda head: head.raw.startswith(b"\x93NUMPY"),
    read=read_npy,
    chunks=_chunks,
    labels="the file of labels (npy, npz, txt, CSV, JSON lines)",
    parse_labels=str,
    count_rows=lambda path: 0,
)
