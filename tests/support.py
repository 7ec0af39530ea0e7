"""Helpers shared by the tests of several packages."""

import os
from pathlib import Path

import pytest

from simlabel.datasets import Dataset, DatasetError, load_dataset, river_file


def require_data(name: str) -> Dataset:
    """Load a set from the folder SIMLABEL_DATA, or skip the test; where CI has the folder, fail instead.

    Without a folder yeast is the one that river carries.
    """
    folder = os.environ.get("SIMLABEL_DATA")
    if not folder:
        if river_file(name) is not None:
            return load_dataset(name)
        pytest.skip(f"needs the data set {name!r}: the environment variable SIMLABEL_DATA is not set")
    try:
        dataset = load_dataset(name)
        if not dataset.source.startswith(str(Path(folder))):
            raise DatasetError(f"{name!r} is not in the folder, but comes from {dataset.source}")
    except DatasetError as error:
        message = f"needs the data set {name!r} in {folder}: {error}"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return dataset
