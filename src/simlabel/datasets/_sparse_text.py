"""Rows of the form ``label,label index:value index:value``, which svmlight and XMC share.

scikit-learn reads them too, but says no line when it fails, keeps labels as Python objects, and refuses
label lists with blanks behind their commas; the tests hold this reader against it.
"""

from __future__ import annotations

import re
from pathlib import Path

from simlabel.datasets._columns import Place
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import finite_number
from simlabel.datasets._format import Wanted
from simlabel.datasets._gather import LARGEST_INDEX

_BLANK_AFTER_COMMA = re.compile(r",[ \t]+")
_WHOLE = re.compile(r"[+-]?[0-9]{1,15}(\.0*)?", re.ASCII)


def split_row(text: str, path: Path, line: int) -> tuple[list[int], list[int], list[float]]:
    """Labels, feature indices and feature values of one row, as they are written.

    Examples
    --------
    >>> split_row("3,1 0:0.5 7:2", Path("a.svm"), 1)
    ([3, 1], [0, 7], [0.5, 2.0])
    >>> split_row(" 4:1", Path("a.svm"), 1)
    ([], [4], [1.0])
    """
    tokens = _BLANK_AFTER_COMMA.sub(",", text).split()
    labels: list[int] = []
    if tokens and ":" not in tokens[0]:
        labels = [_label(token, path, line) for token in tokens.pop(0).split(",")]
    indices: list[int] = []
    values: list[float] = []
    for token in tokens:
        index, _, value = token.partition(":")
        try:
            indices.append(int(index))
            values.append(finite_number(value))
        except ValueError:
            if index == "qid" and not indices:  # the query of a ranking task, which is no feature
                continue
            raise DatasetError(f"expected index:value, found {quote(token)}", path, line) from None
        if not 0 <= indices[-1] <= LARGEST_INDEX:
            expected = f"a feature index from 0 to {LARGEST_INDEX}"
            raise DatasetError(f"expected {expected}, found {quote(token)}", path, line)
    if len(set(indices)) < len(indices):
        raise DatasetError("expected each feature once in a row, found one twice", path, line)
    return labels, indices, values


def _label(token: str, path: Path, line: int) -> int:
    if not _WHOLE.fullmatch(token):
        expected = "labels as whole numbers separated by commas"
        raise DatasetError(f"expected {expected}, found {quote(token)}", path, line)
    return int(token.partition(".")[0])


def places_of(text: str, wanted: Wanted, base: int, line: int) -> list[Place]:
    """Features of one row that are not 0, where the model's first one has the number `base`."""
    _, indices, values = split_row(text, wanted.path, line)
    for index in indices:
        if not base <= index < wanted.width + base:
            expected = f"a feature from {base} to {wanted.width + base - 1}, as the model has"
            raise DatasetError(f"expected {expected}, found {index}", wanted.path, line)
    return [(index - base, value) for index, value in zip(indices, values, strict=True) if value]
