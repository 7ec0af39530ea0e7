"""A path or a name -> a data set."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel.datasets._arff import read_arff
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._river import river_file


def load_dataset(path_or_name: str | os.PathLike[str], **options: Any) -> Dataset:
    """Load a data set from a file or by its name."""
    name = os.fspath(path_or_name)
    if Path(name).is_file():
        return read_arff(Path(name), **options)
    folder = os.environ.get("SIMLABEL_DATA")
    if folder and (Path(folder) / f"{name}.arff").is_file():
        return read_arff(Path(folder) / f"{name}.arff", **options)
    path = river_file(name)
    if path is None:
        raise DatasetError(
            f"no data set {name!r}: put {name}.arff and {name}.xml in the folder SIMLABEL_DATA"
        )
    table = pd.read_csv(path)
    labels = [column for column in table.columns if column.startswith("Class")]
    features = [column for column in table.columns if column not in labels]
    Y = sp.csr_array(table[labels].to_numpy(dtype=np.int8))
    return Dataset(
        name, table[features].to_numpy(dtype=np.float64), Y, tuple(labels), tuple(features), source=str(path)
    )
