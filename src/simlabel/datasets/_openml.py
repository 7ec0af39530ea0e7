"""Data sets of OpenML, fetched by scikit-learn.

scikit-learn caches what it has fetched, and compares it with the checksum of OpenML each time; here the
numbers of rows, features and labels are compared with the known ones.
"""

from __future__ import annotations

import warnings
from http.client import HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

import numpy as np
from sklearn.datasets import fetch_openml

from simlabel.datasets._columns import Attribute, Block, LabelColumns, Missing, Table, read_columns
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError


class OpenMLSet(NamedTuple):
    """The number of a data set on OpenML, and its expected size."""

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
    """Fetch one of the data sets in ``OPENML``, from scikit-learn's data folder if it is there already."""
    data_id, *expected = OPENML[name]
    source = f"OpenML {data_id}"
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error occurred", category=UserWarning)
            # its parser "pandas" reads TRUE and FALSE as booleans, and then fails
            fetched = fetch_openml(data_id=data_id, as_frame=True, parser="liac-arff", n_retries=1)
    except (URLError, HTTPException, OSError) as error:
        raise DatasetError(f"could not be fetched: {error}", source) from None
    except Exception as error:  # a wrong checksum, or an unexpected answer: its parser has its own errors
        try:
            what = str(error)
        except (ValueError, TypeError):  # some of them cannot quote a percent sign
            what = type(error).__name__
        raise DatasetError(f"expected the data set as OpenML describes it; {what}", source) from None
    frame = fetched.frame
    rows, columns = np.arange(len(frame)), [frame.iloc[:, j] for j in range(frame.shape[1])]
    cells = (
        (j, rows, column.to_numpy(np.float64 if column.dtype.kind in "fiu" else object))
        for j, column in enumerate(columns)
    )
    attributes = [Attribute(str(column)) for column in frame.columns]
    table = Table(
        Path(source), attributes, lambda _: iter([Block(range(1, len(frame) + 1), cells)]), in_lines=False
    )
    dataset = read_columns(table, LabelColumns(tuple(map(str, fetched.target_names))), missing, name)
    found = [dataset.n_rows, dataset.n_attributes, dataset.n_labels]
    if found != expected:
        message = f"expected {tuple(expected)} rows, features and labels, found {tuple(found)}"
        raise DatasetError(message, source)
    return dataset
