"""Columns of a table to X and Y: one encoder for ARFF, CSV, Parquet and OpenML."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from simlabel._utils.advice import DataWarning, warn_user
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows
from simlabel.datasets._dataset import Dataset, LabelColumns, label_matrix
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._source_table import Attribute, SourceTable
from simlabel.tables import list_form, split

Missing = Literal["error", "mean", "median", "most_frequent"]
ColumnEntries = tuple[list[str], IntArray, IntArray, FloatArray]

TRUTH = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
LARGEST_INDEX = 2**31 - 2  # so that the number of columns is a 32-bit integer too
WIDE = 4  # X is sparse from this many columns for each attribute on
_ENOUGH_ROWS, _NEARLY_ALL = 20, 0.8  # with fewer rows, all texts may differ by chance
_MISSING_HINT = "Fill it in, or choose an imputation: missing='mean', 'median' or 'most_frequent'"


def finite_number(text: str) -> float:
    """Read a number as data files write it; ValueError for NaN, infinity and Python's ``1_000``.

    Examples
    --------
    >>> finite_number("-2.5e3")
    -2500.0
    """
    number = float(text)
    if not abs(number) <= sys.float_info.max or "_" in text:
        raise ValueError(text)
    return number


def is_truth(values: Iterable[str]) -> bool:
    """Return whether texts mean 0 and 1, each of them once.

    Examples
    --------
    >>> is_truth(("TRUE", "FALSE")), is_truth(("1", "2")), is_truth(("1", "true"))
    (True, False, False)
    """
    truths = [TRUTH.get(value.lower()) for value in values]
    return None not in truths and len(set(truths)) == len(truths)


def parsed(
    values: AnyArray, parse: Callable[[Any], float], fail: Callable[[int, Any], Exception]
) -> FloatArray:
    """Parse each distinct object once; NaN for a missing one.

    Parameters
    ----------
    values : array of object, (n,)
        None, or NaN, is a missing value.
    parse : callable
        From an object to a number; raises ValueError, KeyError or TypeError.
    fail : callable
        From a position and the object there to the exception to raise.
    """
    try:
        codes, distinct = pd.factorize(values)
    except TypeError:  # lists and dicts
        k = next(k for k, value in enumerate(values) if not isinstance(value, Hashable))
        raise fail(k, values[k]) from None
    numbers = np.full(len(distinct) + 1, np.nan)
    for code, value in enumerate(distinct):
        try:
            numbers[code] = parse(value)
        except (ValueError, KeyError, TypeError):
            raise fail(int(np.argmax(codes == code)), value) from None
    return numbers[codes]


def parsed_numbers(
    texts: AnyArray, parse: Callable[[Any], float], fail: Callable[[int, Any], Exception]
) -> FloatArray:
    """Parse texts as `parsed` does; if all are finite numbers, convert them at once."""
    try:
        numbers: FloatArray = texts.astype(np.float64)
        if np.isfinite(numbers).all() and "_" not in "".join(texts):
            return numbers
    except (ValueError, TypeError):
        pass
    return parsed(texts, parse, fail)


class _Column:
    """A column that grows block by block: numbers, truths, or codes of texts."""

    def __init__(self, table: SourceTable, attribute: Attribute, is_label: bool, missing: Missing) -> None:
        self.attribute, self._table, self._is_label, self._missing = attribute, table, is_label, missing
        self.codes: dict[str, int] | None = None
        # None until the first cell, if the type is inferred
        self._is_numeric: bool | None = True if attribute.is_numeric else None
        self._first_line: int | None = None
        self._rows: list[IntArray] = []
        self._numbers: list[FloatArray] = []
        values = attribute.values
        self._parse: Callable[[Any], float] = self._infer
        if values is None and (is_label or attribute.is_numeric):
            self._parse = _label if is_label else finite_number
        elif values is not None and is_truth(values):
            self._parse = {value: float(TRUTH[value.lower()]) for value in values}.__getitem__
        elif values is not None and is_label:
            expected = f"a label with the values 0 and 1; {quote(attribute.name)} has"
            raise DatasetError(f"expected {expected} {quote(', '.join(values))}", table.path, attribute.line)
        elif values is not None:
            self.codes = {value: code for code, value in enumerate(values)}
            self._parse = self.codes.__getitem__

    def add(self, start: int, rows: IntArray, values: AnyArray, lines: Sequence[int]) -> None:
        """Add the cells of a block that begins with row `start`."""

        def fail(k: int, value: Any) -> DatasetError:
            return self._table.error(self._expected(value), lines[rows[k]])

        if values.dtype == object:
            known = pd.notna(values)
            if self._first_line is None and not self._table.typed and known.any():
                self._first_line = lines[rows[np.argmax(known)]]
            parse = parsed_numbers if self._is_numeric and not self._is_label else parsed
            numbers = parse(values, self._parse, fail)
        else:
            numbers = values.astype(np.float64)
            wrong = ~np.isin(numbers, (0.0, 1.0)) if self._is_label else np.isinf(numbers)
            wrong &= ~np.isnan(numbers)
            if wrong.any():
                raise fail(int(np.argmax(wrong)), values[np.argmax(wrong)])
        absent = np.isnan(numbers)
        if absent.any() and (self._is_label or self._missing == "error"):
            raise self._table.error(self._expected(None), lines[rows[np.argmax(absent)]])
        if self._table.sparse:
            self._rows.append(rows + start)
        self._numbers.append(numbers)

    def _infer(self, value: Any) -> float:
        """Parse a cell of a column without a declared type: all cells are numbers, or all are texts."""
        if not isinstance(value, str):
            raise TypeError(value)
        number = np.nan if self._table.typed else _number_or_nan(value)
        is_numeric = not np.isnan(number)
        if self._is_numeric is None:
            self._is_numeric = is_numeric
            self.codes = None if is_numeric else {}
        if self._is_numeric != is_numeric:
            raise ValueError(value)
        return number if self.codes is None else self.codes.setdefault(value, len(self.codes))

    def _expected(self, value: Any) -> str:
        """Describe what is wrong with a cell."""
        name = quote(self.attribute.name)
        if value is None and self._is_label:
            return (
                f"expected 0 or 1 for the label {name}, found a missing value; every row needs known labels"
            )
        if value is None:
            return f"expected a value for {name}, found a missing one. {_MISSING_HINT}"
        found = f"found {quote(str(value))}"
        if self.attribute.values is not None:
            return f"expected one of {quote(', '.join(self.attribute.values))} for {name}, {found}"
        if self._is_label:
            return f"expected 0 or 1 for the label {name}, {found}"
        if not isinstance(value, str | float | np.number):
            kind = type(value).__name__
            return f"expected numbers, booleans or texts in {name}, found {kind}. Turn it into numbers"
        as_before = "" if self._first_line is None else f", as on line {self._first_line}"
        kind = "text" if self._is_numeric is False else "finite number"
        return f"expected a {kind} for {name}{as_before}, {found}"

    def finish(self, all_rows: IntArray) -> ColumnEntries | None:
        """Return the names of the columns of X, and rows, columns and numbers of the entries.

        None if the texts identify rows.
        """
        name, n_rows = self.attribute.name, len(all_rows)
        rows = np.concatenate([all_rows[:0], *self._rows]) if self._table.sparse else all_rows
        numbers = np.concatenate([np.zeros(0), *self._numbers])
        self._numbers.clear()
        if self.codes is None:
            return [name], rows, np.zeros(1, dtype=np.int64), numbers
        known = ~np.isnan(numbers)
        codes = numbers[known].astype(np.int64)
        n_texts = len(np.unique(codes))
        if n_rows >= _ENOUGH_ROWS and n_texts >= _NEARLY_ALL * n_rows:
            warn_user(
                f"column {name!r} is left out: {n_texts:,} different texts in {n_rows:,} rows identify rows "
                f"and are no use for other rows. Tagger reads the words of texts.",
                DataWarning,
            )
            return None
        texts = list(self.codes)
        if self.attribute.values is None:
            if is_truth(texts):
                truths = np.array([*(TRUTH[text.lower()] for text in texts), np.nan])
                numbers = truths[np.where(known, numbers, -1).astype(np.int64)]
                return [name], rows, np.zeros(1, dtype=np.int64), numbers
            order = np.argsort(np.array(texts, dtype=object))
            texts = [texts[k] for k in order]
            codes = np.argsort(order)[codes]
        return [f"{name}={text}" for text in texts], rows[known], codes, np.ones(1)


def _number_or_nan(text: str) -> float:
    try:
        return finite_number(text)
    except ValueError:
        return np.nan


def _label(value: Any) -> float:
    truth = TRUTH.get(str(value).lower())
    number = float(value) if truth is None else float(truth)
    if number not in (0.0, 1.0):
        raise ValueError(value)
    return number


def read_columns(
    table: SourceTable, labels: LabelColumns | Sequence[int], missing: Missing, name: str
) -> Dataset:
    """Encode a table as a data set.

    Numbers are features, booleans and texts for them are 0 and 1, other texts are a feature for each text. A
    column of texts of which nearly every row has its own is left out, with a warning.

    Parameters
    ----------
    table : SourceTable
    labels : LabelColumns, or sequence of int
        Which columns are labels; positions must be sorted.
    missing : {"error", "mean", "median", "most_frequent"}
        How missing features are filled in.
    name : str
        The name of the data set.
    """
    choices = get_args(Missing)
    if missing not in choices:
        raise ValueError(f"missing must be one of {', '.join(map(repr, choices))}, got {missing!r}.")
    features, n_rows, Y, label_names = encode(table, labels, missing)
    names = tuple(name for own, *_ in features for name in own)
    dense = not table.sparse and len(names) <= WIDE * len(table.attributes)
    X = joined_columns(features, n_rows, len(names), dense)
    return Dataset(
        name=name,
        X=_imputed(X, missing),
        Y=Y,
        label_names=label_names,
        feature_names=names,
        n_attributes=len(features),
        source=str(table.path),
    )


def encode(
    table: SourceTable, choice: LabelColumns | Sequence[int], missing: Missing = "error"
) -> tuple[list[ColumnEntries], int, sp.csr_array, Sequence[str]]:
    """Read all rows: return the entries of features, the number of rows, Y and the label names."""
    separator = None
    if isinstance(choice, LabelColumns):
        separator = None if choice.label_column is None else choice.separator
        choice = choice.positions(table.names, table.path)
    lists: list[str | list[str]] = []
    labels, n_rows = set(choice), 0
    columns = [_Column(table, each, j in labels, missing) for j, each in enumerate(table.attributes)]
    for block in table.blocks(None):
        for j, rows, values in block.columns:
            if separator is None or j not in labels:
                columns[j].add(n_rows, rows, values, block.lines)
                continue
            for line, cell in zip(block.lines, values, strict=True):
                try:
                    lists.append(_label_cell(cell))
                except ValueError:
                    message = f"expected a text or a list of texts, found {quote(str(cell))}"
                    raise table.error(message, line) from None
        n_rows += len(block.lines)
    all_rows = np.arange(n_rows)
    found = [column.finish(all_rows) for j, column in enumerate(columns) if j not in labels]
    features = [feature for feature in found if feature is not None]
    if separator is not None:
        column = table.attributes[choice[0]].name
        return features, n_rows, *label_matrix(_split_cells(lists, separator, column))
    entries = [feature for j in choice if (feature := columns[j].finish(all_rows)) is not None]
    Y = sp.csr_array(joined_columns(entries, n_rows, len(entries), dense=False), dtype=np.int8)
    return features, n_rows, Y, tuple(table.attributes[j].name for j in choice)


def joined_columns(features: list[ColumnEntries], n_rows: int, n_columns: int, dense: bool) -> Rows:
    """Put columns of entries side by side; zeros are left out of a CSR matrix."""
    parts = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    X, start = np.zeros((n_rows, n_columns) if dense else (0, 0)), 0
    for names, rows, columns, numbers in features:
        if dense:
            X[rows, columns + start] = numbers
        else:
            used = np.broadcast_to(numbers != 0, len(rows))
            at = np.broadcast_to(columns + start, len(rows))
            entries = np.broadcast_to(numbers, len(rows))
            parts.append((rows[used].astype(np.int32), at[used].astype(np.int32), entries[used]))
        start += len(names)
    if dense:
        return X
    rows, columns, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
    return sp.csr_array(sp.coo_array((numbers, (rows, columns)), shape=(n_rows, n_columns)))


def _split_cells(cells: Sequence[str | list[str]], separator: str, column: str) -> list[list[str]]:
    """Split the cells of a label column, as lists or hashtags if nearly all are; warn about empty cells."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    empty = sum(isinstance(cell, str) for cell in cells) - len(texts)
    if empty:
        warn_user(
            f"{empty:,} of {len(cells):,} rows have an empty cell in {column!r} and count as rows to which "
            "no label applies: remove them if they are untagged.",
            DataWarning,
        )
    separator = list_form(texts) or separator
    return [split(cell, separator) if isinstance(cell, str) else cell for cell in cells]


def _label_cell(cell: Any) -> str | list[str]:
    """Return a cell of a label column as a text or a list of labels."""
    if isinstance(cell, str):
        return sys.intern(cell)
    if cell is None or cell != cell:
        return ""
    if not isinstance(cell, list) or not all(isinstance(label, str) for label in cell):
        raise ValueError(cell)
    return [label for part in cell if (label := part.strip())]


def _imputed(X: Rows, missing: Missing) -> Rows:
    """Fill in NaN column by column; a column without values becomes 0."""
    is_sparse = sp.issparse(X)
    values = X.data if is_sparse else X
    if missing == "error" or not np.isnan(values).any():
        return X
    filled = SimpleImputer(strategy=missing, keep_empty_features=True).fit_transform(X)
    return sp.csr_array(filled) if is_sparse else filled
