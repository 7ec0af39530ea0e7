"""Load a data set by its path or its name, from a folder, a package or OpenML; list the available ones."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import URLError

import pandas as pd
from sklearn.datasets import fetch_openml

from simlabel._utils.files import not_regular
from simlabel.datasets._arff import ARFF
from simlabel.datasets._columns import Missing, read_columns
from simlabel.datasets._csv import CSV
from simlabel.datasets._dataset import (
    TEST,
    TRAIN,
    Dataset,
    LabelColumns,
    join_parts,
    part_number,
    set_name,
    stem,
)
from simlabel.datasets._errors import DatasetError, check_regular
from simlabel.datasets._format import FORMATS, detect_format, find_format
from simlabel.datasets._numpy import NPY, NPZ, is_folder_of_arrays, read_folder
from simlabel.datasets._parquet import PARQUET
from simlabel.datasets._source_table import SourceTable
from simlabel.datasets._sparse_text import SVMLIGHT, XMC

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

FORMATS.update({one.name: one for one in (ARFF, SVMLIGHT, XMC, PARQUET, NPZ, NPY, CSV)})


def load_dataset(
    path_or_name: str | os.PathLike[str],
    *,
    format: str | None = None,
    fixed_split: bool = False,
    **options: Any,
) -> Dataset:
    """Load a multi-label data set from a file, or by its name.

    A nominal feature for which nearly every row has a different value, such as a name, identifies rows: it is
    left out, with a `DataWarning`.

    A name is searched, in any letter case, in the folder that the environment variable ``SIMLABEL_DATA``
    names, then in the installed ``river`` package (yeast), then on OpenML through scikit-learn (yeast,
    emotions, scene). If a set exists only as training and test parts, they are joined, and
    `Dataset.split` distinguishes them.

    Parameters
    ----------
    path_or_name : str or path
        A file, plain or gzip; a folder of ``.npy`` files, which are the rows in the order of the numbers in
        their names, with their labels in one of ``labels.txt`` (a line for each row), ``labels.csv``,
        ``labels.jsonl``, ``Y.npy`` and ``Y.npz``; or a name such as ``"yeast"``.
    format : str, optional
        One of `FORMATS`; by default it is detected from the content.
    fixed_split : bool, default=False
        Prefer the training and test files in the folder of the whole set (``enron-train.arff`` and
        ``enron-test.arff`` for ``enron.arff``), and read both, with `Dataset.split`.
    **options
        Options of the format's reader, see ``help(FORMATS["csv"].read)``. For tables one of ``labels``
        (names of columns), ``label_prefix`` (how the names begin) and ``label_column`` (one column of lists,
        with ``separator``), and ``missing``: how missing values are filled in. For all ``max_gib``: how many
        GiB of memory a file may need, if that is more than the default for its size.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetError
        If the file is malformed, with the line and what was expected there, or if the set does not exist,
        with the ways to obtain it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "beach.csv"
    >>> _ = path.write_text("waves,light,tags\\n0.9,0.1,sea\\n0.8,0.7,sea;sunset\\n0.0,0.9,sunset\\n")
    >>> beach = load_dataset(path, label_column="tags")
    >>> beach
    Dataset('beach': 3 rows x 2 features (dense), 2 labels, 1.333 per row, 3 distinct sets)
    >>> beach.label_names
    ('sea', 'sunset')
    """
    text = os.fspath(path_or_name)
    if not_regular(text) is None:
        path = Path(text)
        parts = find_parts(path) if fixed_split else None
        return _read(path, format, options) if parts is None else _joined(stem(path), parts, format, options)
    if format is None and is_folder_of_arrays(text):
        return _checked(read_folder, Path(text), "a folder of arrays", options)
    if looks_like_path(text):
        check_regular(text)
    return _by_name(text, format, fixed_split, options)


def list_datasets() -> pd.DataFrame:
    """List the data sets that can be loaded by name without the network.

    Returns
    -------
    DataFrame
        One row for each set, by name: numbers of rows, features and labels, cardinality (labels per row),
        density (cardinality / labels), distinct label sets, and the source. A set that needs options, or is
        malformed, has no numbers; its `problem` is the reason.

    Examples
    --------
    >>> list(list_datasets().columns)[:6]
    ['rows', 'features', 'labels', 'cardinality', 'density', 'distinct_label_sets']
    """
    facts = [_facts(name) for name in _names()]
    columns = {
        "name": "str",
        "rows": "Int64",
        "features": "Int64",
        "labels": "Int64",
        "cardinality": "Float64",
        "density": "Float64",
        "distinct_label_sets": "Int64",
        "source": "str",
        "problem": "str",
    }
    return pd.DataFrame(facts, columns=list(columns)).astype(columns).set_index("name")


def _names() -> Iterator[str]:
    folder = data_folder()
    inside = [name for name, _ in listed_sets(folder)] if folder is not None else []
    yield from inside
    yield from (name for name in RIVER if name not in inside and river_file(name) is not None)


def _facts(name: str) -> dict[str, Any]:
    try:
        return {"name": name, **load_dataset(name).facts(), "problem": ""}
    except DatasetError as error:
        return {"name": name, "source": error.path or "", "problem": str(error)}


def _joined(name: str, files: Files, format: str | None, options: dict[str, Any]) -> Dataset:
    parts = [(part, _read(path, format, options)) for part, path in files]
    if parts[0][0] is None:
        return replace(parts[0][1], name=name)
    return replace(join_parts([(part or 0, dataset) for part, dataset in parts]), name=name)


def _by_name(name: str, format: str | None, fixed_split: bool, options: dict[str, Any]) -> Dataset:
    folder = data_folder()
    sets = {} if folder is None else sets_in(folder)
    files = next((sets[each] for each in _spellings(name, sets)), None)
    if files is not None:
        parts = find_parts(files[0][1]) if fixed_split and files[0][0] is None else None
        return _joined(name, parts or files, format, options)
    path = river_file(name) if name in RIVER else None
    if path is not None:
        return _read(path, "csv", {**RIVER[name], **options})
    failures = []
    if name in OPENML:
        _check_options(fetch, options, "a set from OpenML")
        try:
            return fetch(name, **options)
        except DatasetError as error:
            failures.append(str(error))
    raise DatasetError(how_to_obtain(name, failures))


def _spellings(name: str, sets: Iterable[str]) -> Iterator[str]:
    """Yield the matching names of sets, also with Mulan's ending for sparse rows and in other letter case."""
    for requested in (name, f"{name}-sparse"):
        yield from (each for each in sets if each == requested)
        yield from (each for each in sets if each.lower() == requested.lower())


def _read(path: Path, format: str | None, options: dict[str, Any]) -> Dataset:
    chosen = find_format(path, format)
    return _checked(chosen.read, path, chosen.name, options)


def _checked(read: Callable[..., Dataset], path: Path, kind: str, options: dict[str, Any]) -> Dataset:
    _check_options(read, options, f"{path.name} is {kind}, which")
    dataset = read(path, **options)
    counts = {"row": dataset.n_rows, "feature": len(dataset.feature_names), "label": dataset.n_labels}
    for what, count in counts.items():
        if not count:
            raise DatasetError(f"expected at least one {what}, found none", path)
    return dataset


def _check_options(reader: Callable[..., Dataset], options: dict[str, Any], what: str) -> None:
    parameters = inspect.signature(reader).parameters.values()
    known = [parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    for option in options:
        if option not in known:
            raise TypeError(f"{what} takes no option {option!r}; it takes {', '.join(known) or 'none'}.")


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
    table = SourceTable.of_frame(fetched.frame, Path(source))
    dataset = read_columns(table, LabelColumns(tuple(map(str, fetched.target_names))), missing, name)
    found = [dataset.n_rows, dataset.n_attributes, dataset.n_labels]
    if found != expected:
        message = f"expected {tuple(expected)} rows, features and labels, found {tuple(found)}"
        raise DatasetError(message, source)
    return dataset
