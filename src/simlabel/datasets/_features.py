"""What all readers do with features."""

from __future__ import annotations

from typing import Any, Literal, get_args

import scipy.sparse as sp
from sklearn.impute import SimpleImputer

Missing = Literal["error", "mean", "median", "most_frequent"]


def check_missing(missing: str) -> None:
    """Refuse an unknown choice of imputation."""
    if missing not in get_args(Missing):
        raise ValueError(
            f"missing must be one of {', '.join(map(repr, get_args(Missing)))}, got {missing!r}."
        )


def impute(X: Any, missing: Missing) -> Any:
    """Fill NaN column by column; a column with no value at all becomes 0.

    Parameters
    ----------
    X : array or csr_array, (n_rows, n_columns)
        Features, with NaN where the value is missing; where `missing` is "error" there are none.
    missing : {"error", "mean", "median", "most_frequent"}
        What to fill in.
    """
    values = X.data if sp.issparse(X) else X
    if missing == "error" or not (values != values).any():
        return X
    filled = SimpleImputer(strategy=missing, keep_empty_features=True).fit_transform(X)
    return sp.csr_array(filled) if sp.issparse(X) else filled


MISSING_HINT = "Fill it in, or choose an imputation: missing='mean', 'median' or 'most_frequent'"
