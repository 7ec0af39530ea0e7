"""Sparse rows as text, ``label,label index:value index:value``: svmlight / LibSVM, and XMC.

scikit-learn's reader reports no line when it fails, skips empty rows, and refuses unsorted features and label
lists with blanks after their commas; the tests compare this reader with it.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._columns import LARGEST_INDEX, finite_number
from simlabel.datasets._dataset import Dataset, NumberedNames, label_matrix, set_name
from simlabel.datasets._errors import DatasetError, check_columns, quote
from simlabel.datasets._format import FeatureChunks, Format, Head
from simlabel.datasets._text import numbered_lines
from simlabel.labels import moved

_BLANK_AFTER_COMMA = re.compile(r",[ \t]+")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(\.0*)?", re.ASCII)
_XMC_HEADER = re.compile(r"\s*([0-9]{1,18})\s+([0-9]{1,18})\s+([0-9]{1,18})\s*", re.ASCII)
_NUMBERS = frozenset("0123456789+-., \t")


def _csr(rows: Iterable[tuple[list[int], list[float]]], n_columns: int | None = None) -> sp.csr_array:
    """Return a CSR matrix of rows of indices and values, collected as machine numbers."""
    indices, values, ends = array("i"), array("d"), array("q", [0])
    for own, numbers in rows:
        indices.extend(own)
        values.extend(numbers)
        ends.append(len(indices))
    columns = np.frombuffer(indices, dtype=np.int32)
    indptr = np.frombuffer(ends, dtype=np.int64)
    if len(columns) <= LARGEST_INDEX:
        indptr = indptr.astype(np.int32)
    width = int(columns.max(initial=-1)) + 1 if n_columns is None else n_columns
    matrix = sp.csr_array((np.frombuffer(values), columns, indptr), shape=(len(indptr) - 1, width))
    matrix.sort_indices()
    return matrix


def split_row(text: str) -> tuple[list[int], list[int], list[float]]:
    """Return the labels, feature indices and feature values of one row, as they are written.

    Examples
    --------
    >>> split_row("3,1 0:0.5 7:2")
    ([3, 1], [0, 7], [0.5, 2.0])
    >>> split_row(" 4:1")
    ([], [4], [1.0])
    """
    tokens = _BLANK_AFTER_COMMA.sub(",", text).split()
    labels: list[int] = []
    if tokens and ":" not in tokens[0]:
        for token in tokens.pop(0).split(","):
            if not _WHOLE.fullmatch(token):
                expected = "labels as whole numbers separated by commas"
                raise DatasetError(f"expected {expected}, found {quote(token)}")
            labels.append(int(token.partition(".")[0]))
    indices: list[int] = []
    values: list[float] = []
    for token in tokens:
        index, _, value = token.partition(":")
        try:
            indices.append(int(index))
            values.append(finite_number(value))
        except ValueError:
            if index == "qid" and not indices:  # the query of a ranking task is not a feature
                continue
            raise DatasetError(f"expected index:value, found {quote(token)}") from None
        if not 0 <= indices[-1] <= LARGEST_INDEX:
            expected = f"a feature index from 0 to {LARGEST_INDEX}"
            raise DatasetError(f"expected {expected}, found {quote(token)}")
    if len(set(indices)) < len(indices):
        raise DatasetError("expected each feature once in a row, found one twice")
    return labels, indices, values


def _parsed(
    lines: Iterator[tuple[int, str]], path: Path
) -> Iterator[tuple[int, list[int], list[int], list[float]]]:
    """Yield the line, labels, indices and values of each row."""
    for line, text in lines:
        try:
            row = split_row(text)
        except DatasetError as error:
            raise DatasetError(error.message, path, line) from None
        yield line, *row


def _check_range(what: str, numbers: list[int], low: int, high: int, path: Path, line: int) -> None:
    for number in numbers:
        if not low <= number <= high:
            raise DatasetError(f"expected a {what} from {low} to {high}, found {number}", path, line)


def _blocks(chunks: FeatureChunks, lines: Iterator[tuple[int, str]], base: int) -> Iterator[Rows]:
    """Yield CSR arrays of features that are not 0; the first feature of the model has the number `base`."""

    def rows() -> Iterator[tuple[list[int], list[float]]]:
        for line, _, indices, values in _parsed(lines, chunks.path):
            _check_range("feature of the model", indices, base, chunks.width + base - 1, chunks.path, line)
            used = [k for k, value in enumerate(values) if value]
            yield [indices[k] - base for k in used], [values[k] for k in used]

    remaining = rows()
    while block := list(islice(remaining, chunks.rows)):
        yield _csr(block, chunks.width)


def read_svmlight(
    path: Path, *, zero_based: bool | Literal["auto"] = "auto", max_gib: float | None = None
) -> Dataset:
    """Read a file of rows ``label,label index:value ...``; a ``#`` starts a comment.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    zero_based : bool or "auto"
        Whether feature indices start at 0; with "auto" they start at 1 if there is no 0, as in scikit-learn.
        The labels are the distinct numbers that occur, sorted.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}.")
    labels: list[list[int]] = []

    def rows() -> Iterator[tuple[list[int], list[float]]]:
        for line, own, indices, values in _parsed(_svmlight_lines(path, max_gib), path):
            if zero_based is False and 0 in indices:
                raise DatasetError("expected feature indices from 1 on, found 0", path, line)
            labels.append(own)
            yield indices, values

    X = _csr(rows())
    check_columns(X.shape[1], 0, path, max_gib)
    if X.nnz and X.indices.min() > 0 and zero_based is not True:
        X = sp.csr_array((X.data, X.indices - 1, X.indptr), shape=(X.shape[0], X.shape[1] - 1))
    Y, names = label_matrix(labels)
    return Dataset(set_name(path), X, Y, tuple(map(str, names)), NumberedNames(X.shape[1]), source=str(path))


def _svmlight_lines(path: Path, max_gib: float | None) -> Iterator[tuple[int, str]]:
    """Yield rows without comments; a line of blanks is a row without labels and features."""
    for line, raw in numbered_lines(path, max_gib):
        text = raw.partition("#")[0]
        if text.strip() or ("#" not in raw and raw):
            yield line, text


def _svmlight_chunks(chunks: FeatureChunks) -> Iterator[Rows]:
    lines = _svmlight_lines(chunks.path, chunks.max_gib)
    base = _find_base(chunks) if chunks.index_base is None else chunks.index_base
    return _blocks(chunks, lines, base)


def _find_base(chunks: FeatureChunks) -> int:
    """Return the number of the first feature; reads the whole file, since the first rows may not show it."""
    highest = 0
    for _, _, indices, _ in _parsed(_svmlight_lines(chunks.path, chunks.max_gib), chunks.path):
        if 0 in indices:
            return 0
        highest = max([highest, *indices])
    if highest == chunks.width:
        return 1
    raise DatasetError(
        "the rows do not show whether features are numbered from 0 or from 1; set index_base", chunks.path
    )


def _sniff(head: Head) -> bool:
    """Return whether a row has only numbers before the first colon, and a number behind it."""
    before, colon, after = head.row.partition(":")
    return bool(colon) and _NUMBERS.issuperset(before.removesuffix("qid")) and after[:1] in _NUMBERS


def read_xmc(path: Path, *, max_gib: float | None = None) -> Dataset:
    """Read a file whose first line gives the numbers of rows, features and labels.

    Each row is ``label,label index:value ...`` with labels and indices from 0 on; a row that starts with a
    blank has no label. The names of features and labels are their numbers.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    lines = _xmc_lines(path, max_gib)
    n_rows, n_features, n_labels = _xmc_header(lines, path)
    check_columns(n_features, n_labels, path, max_gib)
    labels: list[list[int]] = []
    filled: list[bool] = []  # an empty line is a row without labels and features, or nothing
    line = 1

    def rows() -> Iterator[tuple[list[int], list[float]]]:
        nonlocal line
        for line, own, indices, values in _parsed(lines, path):
            _check_range("label", own, 0, n_labels - 1, path, line)
            _check_range("feature", indices, 0, n_features - 1, path, line)
            labels.append(own)
            filled.append(bool(own or indices))
            yield indices, values

    X = _csr(rows(), n_features)
    Y, numbers = label_matrix(labels)
    Y = moved(Y, np.array(numbers, dtype=np.int32), n_labels)
    if X.shape[0] != n_rows:
        X, Y = X[np.flatnonzero(filled)], Y[np.flatnonzero(filled)]
    if X.shape[0] != n_rows:
        message = f"expected {n_rows} rows, as the first line says, found {X.shape[0]}"
        raise DatasetError(message, path, line)
    return Dataset(set_name(path), X, Y, NumberedNames(n_labels), NumberedNames(n_features), source=str(path))


def _xmc_lines(path: Path, max_gib: float | None) -> Iterator[tuple[int, str]]:
    return ((line, text) for line, text in numbered_lines(path, max_gib) if not text.startswith("#"))


def _xmc_header(lines: Iterator[tuple[int, str]], path: Path) -> tuple[int, int, int]:
    line, text = next(lines, (1, ""))
    match = _XMC_HEADER.fullmatch(text)
    if match is None:
        raise DatasetError(
            f"expected the numbers of rows, features and labels ('N D L'), found {quote(text)}", path, line
        )
    n_rows, n_features, n_labels = (int(number) for number in match.groups())
    for what, number in {"features": n_features, "labels": n_labels}.items():
        if not 0 < number <= LARGEST_INDEX:
            raise DatasetError(f"expected 1 to {LARGEST_INDEX} {what}, found {number}", path, line)
    return n_rows, n_features, n_labels


def _xmc_chunks(chunks: FeatureChunks) -> Iterator[Rows]:
    lines = _xmc_lines(chunks.path, chunks.max_gib)
    n_rows, n_features, _ = _xmc_header(lines, chunks.path)
    chunks.check_width(n_features)
    rows = ((line, text) for number, (line, text) in enumerate(lines) if number < n_rows or text.strip())
    return _blocks(chunks, rows, 0)


SVMLIGHT = Format(
    name="svmlight",
    title="svmlight / LibSVM text",
    endings=(".svm", ".svmlight", ".libsvm"),
    sniff=_sniff,
    read=read_svmlight,
    chunks=_svmlight_chunks,
)
XMC = Format(
    name="xmc",
    title="text of the extreme classification repository",
    endings=(".txt",),
    sniff=lambda head: _XMC_HEADER.fullmatch(head.row) is not None,
    read=read_xmc,
    chunks=_xmc_chunks,
)
