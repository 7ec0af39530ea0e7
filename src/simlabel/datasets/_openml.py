"""Sets from OpenML, fetched by scikit-learn.

scikit-learn keeps what it has fetched in its data folder, and each time holds it against the checksum
that OpenML gives; here the numbers of rows, features and labels are held against what is known of the set.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError

from sklearn.datasets import fetch_openml

from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._features import Missing, check_missing
from simlabel.datasets._frame import from_frame
from simlabel.datasets._label_columns import LabelColumns


@dataclass(frozen=True)
class OpenMLSet:
    """The number of a set on OpenML, and what must come back."""

    data_id: int
    n_rows: int
    n_features: int
    n_labels: int


OPENML = {
    "yeast": OpenMLSet(40597, 2417, 103, 14),
    "emotions": OpenMLSet(40589, 593, 72, 6),
    "scene": OpenMLSet(40595, 2407, 294, 6),
}


def fetch(name: str, *, missing: Missing = "error") -> Dataset:
    """Fetch one of the sets in ``OPENML``, from scikit-learn's data folder if it is there already."""
    check_missing(missing)
    wanted = OPENML[name]
    source = f"OpenML {wanted.data_id}"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred", category=UserWarning)
            # its parser "pandas" takes TRUE and FALSE for booleans, and fails on them
            fetched = fetch_openml(data_id=wanted.data_id, as_frame=True, parser="liac-arff", n_retries=1)
    except (URLError, HTTPException, OSError) as error:
        raise DatasetError(f"could not be fetched: {error}", source) from None
    except Exception as error:  # a wrong checksum, an answer of another form: its parser has its own errors
        raise DatasetError(f"expected the set as OpenML describes it; {_words_of(error)}", source) from None
    labels = LabelColumns(labels=tuple(map(str, fetched.target_names)))
    dataset = from_frame(fetched.frame, labels, Path(source), name, missing)
    expected = (wanted.n_rows, wanted.n_features, wanted.n_labels)
    found = (dataset.n_rows, dataset.n_attributes, dataset.n_labels)
    if found != expected:
        raise DatasetError(f"expected {expected} rows, features and labels, found {found}", source)
    return dataset


def _words_of(error: Exception) -> str:
    """What an error says; some of the parser fail at that where they quote a percent sign."""
    try:
        return str(error)
    except (ValueError, TypeError):
        return type(error).__name__
