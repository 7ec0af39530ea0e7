"""The text format of the extreme classification repository: a header "N D L", and sparse rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset, Numbered
from simlabel.datasets._errors import DatasetError, check_columns, quote
from simlabel.datasets._format import Format, Wanted
from simlabel.datasets._gather import LARGEST_INDEX, SparseRows
from simlabel.datasets._lines import numbered_lines, set_name
from simlabel.datasets._sparse_text import places_of, split_row

_HEADER = re.compile(r"\s*([0-9]{1,18})\s+([0-9]{1,18})\s+([0-9]{1,18})\s*", re.ASCII)


def read_xmc(path: Path, *, max_gib: float | None = None) -> Dataset:
    """Read a file whose first line gives the numbers of rows, features and labels.

    Each row is ``label,label index:value ...`` with labels and indices from 0 on; a row that starts with a
    blank has no label. Features and labels have no names but their numbers.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    lines = _lines(path, max_gib)
    n_rows, n_features, n_labels = _header(lines, path)
    check_columns(n_features, n_labels, path, max_gib)
    X_rows, Y_rows = SparseRows(with_values=True), SparseRows(with_values=False)
    blank: list[int] = []  # positions of empty lines: rows without label and feature, or nothing
    line = 1
    for line, text in lines:
        labels, indices, values = split_row(text, path, line)
        _check_range("label", labels, n_labels, path, line)
        _check_range("feature", indices, n_features, path, line)
        if not text.strip():
            blank.append(len(X_rows))
        X_rows.add(indices, values)
        Y_rows.add(labels)
    X, Y = X_rows.finish(n_features), Y_rows.finish(n_labels)
    if blank and X.shape[0] != n_rows:
        keep = sorted(set(range(X.shape[0])) - set(blank))
        X, Y = X[keep], Y[keep]
    if X.shape[0] != n_rows:
        message = f"expected {n_rows} rows, as the first line says, found {X.shape[0]}"
        raise DatasetError(message, path, line)
    return Dataset(
        name=set_name(path),
        X=X,
        Y=Y,
        label_names=Numbered(n_labels),
        feature_names=Numbered(n_features),
        source=str(path),
    )


def _lines(path: Path, max_gib: float | None) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in numbered_lines(path, max_gib) if not text.startswith("#"))


def _header(lines: Iterator[tuple[int, str]], path: Path) -> tuple[int, int, int]:
    line, text = next(lines, (1, ""))
    match = _HEADER.fullmatch(text)
    if match is None:
        raise DatasetError(
            f"expected the numbers of rows, features and labels ('N D L'), found {quote(text)}", path, line
        )
    n_rows, n_features, n_labels = (int(number) for number in match.groups())
    for what, number in {"features": n_features, "labels": n_labels}.items():
        if not 0 < number <= LARGEST_INDEX:
            raise DatasetError(f"expected 1 to {LARGEST_INDEX} {what}, found {number}", path, line)
    return n_rows, n_features, n_labels


def _check_range(what: str, numbers: list[int], count: int, path: Path, line: int) -> None:
    if numbers and not (min(numbers) >= 0 and max(numbers) < count):
        wrong = next(number for number in numbers if not 0 <= number < count)
        raise DatasetError(f"expected a {what} from 0 to {count - 1}, found {wrong}", path, line)


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    lines = _lines(wanted.path, wanted.max_gib)
    n_rows, n_features, _ = _header(lines, wanted.path)
    if n_features != wanted.width:
        message = f"expected a header 'N {wanted.width} L', as the model has features, found {n_features}"
        raise DatasetError(message, wanted.path)
    rows = ((line, text) for number, (line, text) in enumerate(lines) if number < n_rows or text.strip())
    return wanted.blocks((places_of(text, wanted, 0, line) for line, text in rows), dense=False)


XMC = Format(
    name="xmc",
    title="text of the extreme classification repository",
    endings=(".txt",),
    sniff=lambda head: _HEADER.fullmatch(head.row) is not None,
    read=read_xmc,
    chunks=_chunks,
)
