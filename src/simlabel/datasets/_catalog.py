"""Data sets by name: the files that belong to them, and fetching from OpenML."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple
from urllib.error import URLError

import numpy as np
from sklearn.datasets import fetch_openml

from simlabel.datasets._columns import Attribute, CellBlock, Missing, SourceTable, read_columns
from simlabel.datasets._csv import CSV
from simlabel.datasets._dataset import TEST, TRAIN, Dataset, LabelColumns, part_number, set_name, stem
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._format import FORMATS, detect_format

FOLDER = "SIMLABEL_DATA"
RIVER = {"yeast": {"label_prefix": "Class"}}  # data sets of the package river, and how they are read
Files = list[tuple[int | None, Path]]  # parts of a set with their numbers in the split; None is the whole


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


def looks_like_path(text: str) -> bool:
    """Return whether a text can only be the path of a file.

    Examples
    --------
    >>> looks_like_path("data/yeast"), looks_like_path("yeast.arff"), looks_like_path("yeast")
    (True, True, False)
    """
    return os.sep in text or any(one.has_ending(text) for one in FORMATS.values())


def data_folder() -> Path | None:
    """Return the folder that ``SIMLABEL_DATA`` names, if it is set."""
    value = os.environ.get(FOLDER)
    if not value:
        return None
    folder = Path(value)
    if not folder.is_dir():
        raise DatasetError(f"{FOLDER} must name a folder, and it does not exist", value)
    return folder


def river_file(name: str) -> Path | None:
    """Return the path of ``<name>.csv.gz`` in the installed river package, if it exists.

    Examples
    --------
    >>> river_file("no such set") is None
    True
    """
    spec = find_spec("river")  # does not import the package
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder) / "datasets" / f"{name}.csv.gz"
        if path.is_file():
            return path
    return None


def sets_in(folder: Path) -> dict[str, Files]:
    """Return the data sets in a folder by name; a whole file is preferred to parts."""
    paths = [path for path in sorted(folder.iterdir()) if looks_like_path(path.name) and path.is_file()]
    wholes: dict[str, Files] = {}
    for path in paths:
        wholes.setdefault(stem(path), [(None, path)])
    return _parts(paths) | wholes


def find_parts(path: Path) -> Files | None:
    """Return the training and test files in the folder of a whole set, if both exist."""
    ending = path.name.removeprefix(stem(path))
    return _parts([each for each in path.parent.iterdir() if each.name.endswith(ending)]).get(stem(path))


def _parts(paths: Iterable[Path]) -> dict[str, Files]:
    """Return the data sets that have one training and one test part, by name."""
    found: dict[str, Files] = {}
    for path in sorted(paths):
        number = part_number(path)
        if number is not None:
            found.setdefault(set_name(path), []).append((number, path))
    parts = {}
    for name, files in found.items():
        numbers = {number for number, _ in files}
        if {TRAIN, TEST} <= numbers and len(numbers) == len(files):
            parts[name] = sorted(files)
    return parts


def listed_sets(folder: Path) -> Iterator[tuple[str, Files]]:
    """Yield the data sets in a folder, each once: without parts of a listed set, and without notes."""
    sets = sets_in(folder)
    for name, files in sorted(sets.items()):
        path = files[0][1]
        if set_name(path) != name and set_name(path) in sets:
            continue
        try:
            is_note = detect_format(path) is CSV and not CSV.has_ending(path.name)
        except DatasetError:
            continue
        if not is_note:
            yield name, files


def how_to_obtain(name: str, failures: list[str]) -> str:
    """Describe how a missing data set can be obtained."""
    folder = os.environ.get(FOLDER)
    state = f"it is {folder}" if folder else "it is not set"
    ways = [
        f"put {name}.arff and {name}.xml of the Mulan collection, or {name}-train.arff, {name}-test.arff and "
        f"{name}.xml, in the folder that the environment variable {FOLDER} names ({state})",
    ]
    if name in RIVER:
        ways.append("install the package river, which contains it: pip install river")
    if name in OPENML:
        ways.append(f"connect to the network: it is data set {OPENML[name].data_id} of OpenML")
    ways.append("pass the path of a file to load_dataset instead of a name")
    found = "".join(f" ({failure})" for failure in failures)
    listed = "".join(f"\n  - {way}" for way in ways)
    return f"there is no data set {name!r} here{found}. Ways to obtain it:{listed}"


def fetch(name: str, *, missing: Missing = "error") -> Dataset:
    """Fetch one of the data sets in ``OPENML``, from scikit-learn's data folder if it is there already.

    scikit-learn compares the file with the checksum of OpenML; here the numbers of rows, features and labels
    are compared with the known ones.
    """
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
    table = SourceTable(
        Path(source), attributes, lambda _: iter([CellBlock(range(1, len(frame) + 1), cells)]), in_lines=False
    )
    dataset = read_columns(table, LabelColumns(tuple(map(str, fetched.target_names))), missing, name)
    found = [dataset.n_rows, dataset.n_attributes, dataset.n_labels]
    if found != expected:
        message = f"expected {tuple(expected)} rows, features and labels, found {tuple(found)}"
        raise DatasetError(message, source)
    return dataset
