"""svmlight / LibSVM text with several labels in a row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset, Numbered
from simlabel.datasets._errors import DatasetError, check_columns
from simlabel.datasets._format import Format, Head, Wanted
from simlabel.datasets._gather import SparseRows
from simlabel.datasets._lines import numbered_lines, set_name
from simlabel.datasets._sparse_text import places_of, split_row

_NUMBERS = frozenset("0123456789+-., \t")


def read_svmlight(
    path: Path, *, zero_based: bool | Literal["auto"] = "auto", max_gib: float | None = None
) -> Dataset:
    """Read a file of rows ``label,label index:value ...``; a ``#`` starts a comment.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    zero_based : bool or "auto"
        Whether feature indices start at 0; "auto" finds out: they start at 1 if there is no 0, as in
        scikit-learn. The labels are the distinct numbers that occur, in their order.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based must be True, False or 'auto', got {zero_based!r}.")
    X_rows, Y_rows = SparseRows(with_values=True), SparseRows(with_values=False)
    position: dict[int, int] = {}  # label -> the order in which it was met
    lowest, highest, first_zero = None, -1, None
    for line, text in _lines(path, max_gib):
        labels, indices, values = split_row(text, path, line)
        Y_rows.add(position.setdefault(label, len(position)) for label in labels)
        X_rows.add(indices, values)
        if indices:
            lowest = min(indices) if lowest is None else min(lowest, *indices)
            highest = max(highest, *indices)
            check_columns(highest, 0, path, max_gib, line)
            if lowest == 0 and first_zero is None:
                first_zero = line
    if zero_based is False and first_zero is not None:
        raise DatasetError("expected feature indices from 1 on, found 0", path, first_zero)
    shift = 0 if lowest in (None, 0) or zero_based is True else 1
    names = sorted(position)
    order = {label: k for k, label in enumerate(names)}
    X = X_rows.finish(highest + 1 - shift, shift=shift)
    return Dataset(
        name=set_name(path),
        X=X,
        Y=Y_rows.finish(len(names), order=[order[label] for label in position]),
        label_names=tuple(map(str, names)),
        feature_names=Numbered(X.shape[1]),
        source=str(path),
    )


def _lines(path: Path, max_gib: float | None) -> Iterator[tuple[int, str]]:
    """Rows without their comments, with their lines; a line of blanks is a row without label and feature."""
    for line, raw in numbered_lines(path, max_gib):
        text = raw.partition("#")[0]
        if text.strip() or ("#" not in raw and raw):
            yield line, text


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    base = _base(wanted)
    lines = _lines(wanted.path, wanted.max_gib)
    return wanted.blocks((places_of(text, wanted, base, line) for line, text in lines), dense=False)


def _base(wanted: Wanted) -> int:
    """Number of the first feature; a whole pass over the file, since the first rows may not show it."""
    if wanted.index_base is not None:
        return wanted.index_base
    highest = 0
    for line, text in _lines(wanted.path, wanted.max_gib):
        indices = split_row(text, wanted.path, line)[1]
        if 0 in indices:
            return 0
        highest = max([highest, *indices])
    if highest == wanted.width:
        return 1
    raise DatasetError(
        "the rows do not show whether features are numbered from 0 or from 1; say it with index_base",
        wanted.path,
    )


def _sniff(head: Head) -> bool:
    """Whether there are only numbers before the first colon of a row, and a number behind it."""
    before, colon, after = head.row.partition(":")
    return bool(colon) and _NUMBERS.issuperset(before.removesuffix("qid")) and after[:1] in _NUMBERS


SVMLIGHT = Format(
    name="svmlight",
    title="svmlight / LibSVM text",
    endings=(".svm", ".svmlight", ".libsvm"),
    sniff=_sniff,
    read=read_svmlight,
    chunks=_chunks,
)
