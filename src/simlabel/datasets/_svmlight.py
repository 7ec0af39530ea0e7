"""svmlight / LibSVM text with several labels in a row."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from simlabel.datasets._dataset import Dataset, Numbered
from simlabel.datasets._errors import DatasetError, check_columns
from simlabel.datasets._gather import SparseRows
from simlabel.datasets._lines import numbered_lines, set_name
from simlabel.datasets._sparse_text import split_row


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
    for line, raw in numbered_lines(path, max_gib):
        text = raw.partition("#")[0]
        if not text.strip() and ("#" in raw or not raw):
            continue
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
