"""A pandas frame -> a data set; for Parquet and OpenML, which come with types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import MISSING_HINT, TRUTH, Missing, identifies_rows, impute, is_truth
from simlabel.datasets._gather import WIDE
from simlabel.datasets._label_columns import LabelColumns, LabelLists


def from_frame(frame: pd.DataFrame, choice: LabelColumns, path: Path, name: str, missing: Missing) -> Dataset:
    """Numbers are features, booleans are 0 and 1, texts are a feature per value (identifiers: none).

    Parameters
    ----------
    frame : DataFrame
        Features and labels.
    choice : LabelColumns
        Which of its columns are labels.
    path : path
        Where it comes from, for the errors.
    name : str
        What the set is called.
    missing : {"error", "mean", "median", "most_frequent"}
        What becomes of a missing feature.
    """
    names = [str(column) for column in frame.columns]
    if len(set(names)) < len(names):
        raise DatasetError("expected different names of columns, found one twice", path)
    positions = choice.positions(names, path)
    features = sorted(set(range(len(names))) - set(positions))
    if choice.label_column is not None:
        Y, label_names = label_lists(frame.iloc[:, positions[0]], choice, path)
    else:
        Y = indicator(frame, positions, path)
        label_names = tuple(names[j] for j in positions)
    found = [_feature(names[j], frame.iloc[:, j], path, missing) for j in features]
    blocks = [block for block in found if block is not None]
    X, feature_names = _join(blocks, len(frame))
    return Dataset(
        name=name,
        X=impute(X, missing),
        Y=Y,
        label_names=label_names,
        feature_names=feature_names,
        n_attributes=len(blocks),
        source=str(path),
    )


Codes = npt.NDArray[np.intp]
# names of the columns; for texts the code of each row, else its number
Block = tuple[list[str], Codes | None, Any]


def _feature(name: str, column: pd.Series[Any], path: Path, missing: Missing) -> Block | None:
    absent = column.isna().to_numpy()
    if absent.any() and missing == "error":
        row = int(np.argmax(absent))
        raise DatasetError(
            f"expected a value for {quote(name)}, found a missing one in row {row}. {MISSING_HINT}", path
        )
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        try:
            numbers = column.to_numpy(dtype=np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            message = f"expected real numbers in {quote(name)}, found {column.dtype}"
            raise DatasetError(message, path) from None
        if np.isinf(numbers).any():
            row = int(np.argmax(np.isinf(numbers)))
            message = f"expected finite numbers in {quote(name)}, found {numbers[row]} in row {row}"
            raise DatasetError(message, path)
        return [name], None, numbers
    values, codes = _texts(name, column, absent, path)
    if identifies_rows(name, len(values), len(column)):
        return None
    if not is_truth(values):
        return [f"{name}={value}" for value in values], codes, None
    truth = np.array([TRUTH[value.lower()] for value in values] + [np.nan])
    return [name], None, truth[codes]


def _texts(
    name: str, column: pd.Series[Any], absent: npt.NDArray[np.bool_], path: Path
) -> tuple[tuple[str, ...], Codes]:
    """The values of a column of texts, sorted, and for each row the position of its value, -1 for none."""
    texts = column.astype(object).to_numpy()
    if not all(isinstance(text, str) for text in texts[~absent]):
        raise DatasetError(
            f"expected numbers, booleans or texts in {quote(name)}, found {column.dtype}. "
            "Remove it, or turn it into numbers",
            path,
        )
    codes, found = pd.factorize(texts, sort=True)  # numpy would give every text the length of the longest
    return tuple(str(text) for text in found), codes


def _join(blocks: list[Block], n_rows: int) -> tuple[Rows, tuple[str, ...]]:
    names = tuple(name for block_names, _, _ in blocks for name in block_names)
    if len(names) > WIDE * max(1, len(blocks)):
        parts = [_sparse_block(block, n_rows) for block in blocks]
        return sp.csr_array(sp.hstack(parts, format="csr")), names
    X = np.zeros((n_rows, len(names)))
    start = 0
    for block_names, codes, numbers in blocks:
        if codes is None:
            X[:, start] = numbers
        else:
            rows = np.flatnonzero(codes >= 0)
            X[rows, start + codes[rows]] = 1.0
        start += len(block_names)
    return X, names


def _sparse_block(block: Block, n_rows: int) -> sp.csr_array:
    names, codes, numbers = block
    if codes is None:
        return sp.csr_array(numbers.reshape(-1, 1))
    rows = np.flatnonzero(codes >= 0)
    return sp.csr_array((np.ones(len(rows)), (rows, codes[rows])), shape=(n_rows, len(names)))


def indicator(frame: pd.DataFrame, positions: list[int], path: Path) -> sp.csr_array:
    """Columns that hold 0 and 1, or words for them, as CSR."""
    columns = []
    for j in positions:
        name, column = str(frame.columns[j]), frame.iloc[:, j]
        truths = [TRUTH.get(_word(value)) for value in column.astype(object)]
        if None in truths:
            row = truths.index(None)
            found = f"{quote(str(column.iloc[row]))} in row {row}"
            raise DatasetError(f"expected 0 or 1 for the label {quote(name)}, found {found}", path)
        columns.append(sp.csc_array(np.array(truths, dtype=np.int8).reshape(-1, 1)))
    return sp.csr_array(sp.hstack(columns, format="csr"))


def _word(value: object) -> str:
    if isinstance(value, float | np.floating) and value == value and float(value).is_integer():
        return str(int(value))
    return str(value).lower()


def label_lists(
    column: pd.Series[Any], choice: LabelColumns, path: Path
) -> tuple[sp.csr_array, tuple[str, ...]]:
    """A column of lists of labels, or of texts with a separator, as CSR and the names."""
    lists = LabelLists(choice.separator)
    for row, cell in enumerate(column.to_numpy(dtype=object)):
        if isinstance(cell, list | tuple | np.ndarray) and all(isinstance(label, str) for label in cell):
            lists.add(list(cell))
        elif isinstance(cell, str):
            lists.add(cell)
        elif cell is None or cell != cell:
            lists.add("")
        else:
            expected = f"a text or a list of texts in {quote(str(choice.label_column))}"
            raise DatasetError(f"expected {expected}, found {quote(str(cell))} in row {row}", path)
    return lists.finish()
