"""What all readers know about values: numbers, yes and no, and what is missing."""

from __future__ import annotations

import sys
from typing import Literal, get_args

import scipy.sparse as sp
from sklearn.impute import SimpleImputer

from simlabel._utils.advice import DataWarning, advise
from simlabel._utils.validation import Rows

Missing = Literal["error", "mean", "median", "most_frequent"]

MISSING_HINT = "Fill it in, or choose an imputation: missing='mean', 'median' or 'most_frequent'"
TRUTH = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}

_LARGEST = sys.float_info.max
_ENOUGH = 20  # rows: in fewer, all may be different by chance
_NEARLY_ALL = 0.8


def finite_number(text: str) -> float:
    """Read a number as data files write it; ValueError for NaN, infinity and Python's ``1_000``.

    Examples
    --------
    >>> finite_number("-2.5e3")
    -2500.0
    """
    number = float(text)
    if not -_LARGEST <= number <= _LARGEST or "_" in text:
        raise ValueError(text)
    return number


def is_truth(values: tuple[str, ...]) -> bool:
    """Whether the values of a nominal attribute mean 0 and 1, each of them once.

    Examples
    --------
    >>> is_truth(("TRUE", "FALSE")), is_truth(("1", "2")), is_truth(("1", "true"))
    (True, False, False)
    """
    truths = [TRUTH.get(value.lower()) for value in values]
    return None not in truths and len(set(truths)) == len(truths)


def identifies_rows(name: str, n_values: int, n_rows: int) -> bool:
    """Whether nearly every row has a text of its own in a column, which is then left out, with a warning."""
    found = n_rows >= _ENOUGH and n_values >= _NEARLY_ALL * n_rows
    if found:
        advise(
            f"column {name!r} is left out: {n_values:,} different texts in {n_rows:,} rows identify rows and "
            f"say nothing about others. Tagger reads the words of texts.",
            DataWarning,
        )
    return found


def check_missing(missing: str) -> None:
    """Refuse an unknown choice of imputation."""
    choices = get_args(Missing)
    if missing not in choices:
        raise ValueError(f"missing must be one of {', '.join(map(repr, choices))}, got {missing!r}.")


def impute(X: Rows, missing: Missing) -> Rows:
    """Fill NaN column by column; a column with no value at all becomes 0.

    Parameters
    ----------
    X : array or csr_array, (n_rows, n_columns)
        Features, with NaN where the value is missing; where `missing` is "error" there are none.
    missing : {"error", "mean", "median", "most_frequent"}
        What to fill in.
    """
    is_sparse = sp.issparse(X)
    values = X.data if is_sparse else X
    if missing == "error" or not (values != values).any():
        return X
    filled = SimpleImputer(strategy=missing, keep_empty_features=True).fit_transform(X)
    return sp.csr_array(filled) if is_sparse else filled
