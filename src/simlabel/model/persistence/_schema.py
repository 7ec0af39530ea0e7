"""What the parts of a model are: with `_fits`, what stands between a file and compiled code.

Each stage has checked itself when it was decoded, and each chunk checks what it reads. Here is what kind each
part is of, and which parts rule each other out.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from simlabel._utils.validation import check_ids, check_number
from simlabel.labels import FRAMES, SETS, Hierarchy
from simlabel.model._model import Model
from simlabel.model.persistence._layout import ModelFileError
from simlabel.model.sketches import FeatureSums, PrototypeSums
from simlabel.ridge import Solved, Stages
from simlabel.rules import AutoRule
from simlabel.sums import Sampled
from simlabel.tuning import TuningResult


def _kinds(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """What the fields of a record are instances of, but for some, as their annotations say."""
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name not in but}
    kinds = {name: get_args(hint) if _is_union(hint) else (hint,) for name, hint in hints.items()}
    return {name: tuple(_plain(kind) for kind in each) for name, each in kinds.items()}


def _is_union(hint: object) -> bool:
    return get_origin(hint) in (Union, UnionType)


def _plain(kind: type) -> type:
    """A class that `isinstance` takes; numpy's whole numbers are whole numbers too."""
    return Integral if kind is int else get_origin(kind) or kind


#: fields of Stages and of Model that a file holds as they are -> what each is an instance of
STAGES = _kinds(Stages)
OUTSIDE = _kinds(Model, "labels", "scorer")
#: part of a model -> what it is an instance of
PARTS: dict[str, tuple[type, ...]] = {
    **STAGES,
    **OUTSIDE,
    "solution": (Solved, type(None)),
    "sketch": (FeatureSums, PrototypeSums, type(None)),
}
_NO_SEARCH = TuningResult((), (), "", (), (), {}, 0)
_MAY_BE_AUTO = {"inducing"}  # found anew from the number of references
_CONTAINERS: dict[str, type] = {
    "single": type(None),
    "array": np.dtype,
    "sparse": tuple,
    "frame": str,
    "sets": type,
}


def check_parts(parts: Mapping[str, Any]) -> None:
    """Each part is of its kind, and what belongs together is there."""
    for name, kinds in PARTS.items():
        if not isinstance(parts[name], kinds) or isinstance(parts[name], AutoRule):
            raise ModelFileError(f"{str(parts[name])[:60]} is no {name} of a model.")
    check_n_jobs(parts["n_jobs"])
    learned, drawn = parts["influence"].learned, isinstance(parts["engine"], Sampled)
    whole_rows = parts["weighting"] is not None and parts["weighting"].scope == "row"
    short = parts["sketch"] is not None
    if learned != (parts["solution"] is not None):
        raise ModelFileError("an influence and what was learnt for it go together.")
    parts["influence"].check_similarity(parts["similarity"], parts["weighting"])
    sampled = drawn or parts["scales"] is not None
    if (learned and (short or sampled)) or (short and parts["weighting"] is not None):
        raise ModelFileError("a sketch, a sampler or a weighting stands beside a part that rules it out.")
    if sampled and whole_rows:
        raise ModelFileError("a sampler stands beside a weighting of whole rows.")
    for name in ("similarity", "weighting", "influence"):
        given = {} if parts[name] is None else parts[name].get_params(deep=True)
        open_ = [each for each, value in given.items() if isinstance(value, str) and value == "auto"]
        if not _MAY_BE_AUTO.issuperset(open_):
            raise ModelFileError(f"{open_[0]} of the {name} is still to be found.")


def check_hierarchy(kind: str, hierarchy: Any) -> None:
    """What is said to be part of what fits the form of the labels."""
    if hierarchy is not None and (not isinstance(hierarchy, Hierarchy) or kind == "single"):
        raise ModelFileError(f"labels written as {kind!r} have the hierarchy {str(hierarchy)[:60]}.")


def check_labels(kind: Any, classes: Any, container: Any) -> None:
    """The names of the labels fit the form in which they are written."""
    good = (
        kind in _CONTAINERS and isinstance(container, _CONTAINERS[kind]) and isinstance(classes, np.ndarray)
    )
    if not good or classes.ndim != 1:
        raise ModelFileError(f"labels are written as {str(kind)[:60]!r} with {str(container)[:60]}.")
    names = classes.tolist()
    if kind == "single":
        check_ids(names, len(names), name="classes")
        good = len(names) > 0 and np.array_equal(np.unique(classes), classes)
    elif kind in ("array", "sparse"):
        good = classes.dtype.kind == "i" and names == list(range(len(names)))
        good = good and (kind == "array" or isinstance(container[1], np.dtype))
    else:
        good = all(isinstance(name, Hashable) for name in names)
        good = good and (container in FRAMES if kind == "frame" else container in SETS)
        good = good and (kind == "frame" or len(set(names)) == len(names))
    if not good:
        raise ModelFileError(f"the labels {str(names)[:60]} are not written as {kind!r}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Threads: None, or a number that is not 0."""
    check_number("a model", "n_jobs", n_jobs, integer=True, also=(None,))
    if n_jobs == 0:
        raise ModelFileError("n_jobs is 0.")


_MAY_BE_NONE = ("label_separator_", "title_column_", "label_column_")


def check_fitted(fitted: Mapping[str, Any]) -> None:
    """What an estimator knows beside its model."""
    names, n_features = fitted.get("feature_names_in_"), fitted.get("n_features_in_")
    if any(value is None for name, value in fitted.items() if name not in _MAY_BE_NONE):
        raise ModelFileError(f"{fitted} lacks a value.")
    texts = {name: fitted.get(name) for name in _MAY_BE_NONE}
    if not all(value is None or (isinstance(value, str) and value) for value in texts.values()):
        raise ModelFileError(f"{str(texts)[:120]} are no texts.")
    if names is not None and (
        not isinstance(names, np.ndarray)
        or names.shape != (n_features,)
        or not all(isinstance(name, str) for name in names.tolist())
    ):
        raise ModelFileError(f"{str(names)[:60]} are no names of {n_features} features.")
    title = texts["title_column_"]
    if title is not None and (names is None or title not in names.tolist()):
        raise ModelFileError(f"the title column {title[:60]!r} is none of the columns.")
    if not isinstance(fitted.get("tuning_", _NO_SEARCH), TuningResult):
        raise ModelFileError(f"{str(fitted['tuning_'])[:60]} is no curve of a search.")
    picked = fitted.get("n_picked_", 1)
    if type(picked) is not int or picked < 1:
        raise ModelFileError(f"{str(picked)[:60]} is no number of rows that were picked.")
