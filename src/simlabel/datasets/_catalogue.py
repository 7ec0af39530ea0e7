"""What data sets are there by name, and where."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from simlabel.datasets._dataset import TEST, TRAIN
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._formats import FORMATS, is_taken_for_csv
from simlabel.datasets._lines import part_number, set_name, stem
from simlabel.datasets._openml import OPENML
from simlabel.datasets._river import RIVER

FOLDER = "SIMLABEL_DATA"
Files = list[tuple[int | None, Path]]  # parts of a set with their numbers in the split; None is the whole


def looks_like_path(text: str) -> bool:
    """Whether a text can only be meant as the path of a file.

    Examples
    --------
    >>> looks_like_path("data/yeast"), looks_like_path("yeast.arff"), looks_like_path("yeast")
    (True, True, False)
    """
    return os.sep in text or _has_ending(text)


def _has_ending(name: str) -> bool:
    return any(one.has_ending(name) for one in FORMATS.values())


def data_folder() -> Path | None:
    """The folder that ``SIMLABEL_DATA`` names, if it is set."""
    value = os.environ.get(FOLDER)
    if not value:
        return None
    folder = Path(value)
    if not folder.is_dir():
        raise DatasetError(f"{FOLDER} must name a folder, and there is none of that name", value)
    return folder


def sets_in(folder: Path, is_set: Callable[[str], bool] = _has_ending) -> dict[str, Files]:
    """Sets in a folder by name; a whole file is preferred to parts. `is_set` is asked of names of files."""
    paths = [path for path in sorted(folder.iterdir()) if is_set(path.name) and path.is_file()]
    wholes: dict[str, Files] = {}
    for path in paths:
        wholes.setdefault(stem(path), [(None, path)])
    return _parts(paths) | wholes


def parts_beside(path: Path) -> Files | None:
    """Return the training and test files that lie beside the file of a whole set, if both do."""
    ending = path.name.removeprefix(stem(path))
    return _parts([each for each in path.parent.iterdir() if each.name.endswith(ending)]).get(stem(path))


def _parts(paths: Iterable[Path]) -> dict[str, Files]:
    """Sets of which there are a training and a test part, by name."""
    parts: dict[str, Files] = {}
    for path in paths:
        number = part_number(path)
        if number is not None:
            parts.setdefault(set_name(path), []).append((number, path))
    found = {name: sorted(files, key=lambda file: file[0] or 0) for name, files in parts.items()}
    numbers = {name: [number for number, _ in files] for name, files in found.items()}
    return {
        name: files
        for name, files in found.items()
        if {TRAIN, TEST} <= set(numbers[name]) and len(set(numbers[name])) == len(files)
    }


def listed_sets(folder: Path) -> Iterator[tuple[str, Files]]:
    """Sets in a folder that are data, each once: no parts of a set that is listed, no notes."""
    sets = sets_in(folder)
    for name, files in sorted(sets.items()):
        path = files[0][1]
        if set_name(path) != name and set_name(path) in sets:
            continue
        try:
            if is_taken_for_csv(path):
                continue
        except DatasetError:
            continue
        yield name, files


def ways_to_obtain(name: str, failures: list[str]) -> str:
    """Say how a set that is not there can be had."""
    folder = os.environ.get(FOLDER)
    state = f"it is {folder}" if folder else "it is not set"
    ways = [
        f"put {name}.arff and {name}.xml of the Mulan collection, or {name}-train.arff, {name}-test.arff and "
        f"{name}.xml, in the folder that the environment variable {FOLDER} names ({state})",
    ]
    if name in RIVER:
        ways.append("install the package river, which carries it: pip install river")
    if name in OPENML:
        ways.append(f"connect to the network: it is set {OPENML[name].data_id} of OpenML")
    ways.append("give load_dataset the path of a file instead of a name")
    found = "".join(f" ({failure})" for failure in failures)
    listed = "".join(f"\n  - {way}" for way in ways)
    return f"there is no data set {name!r} here{found}. Ways to obtain it:{listed}"
