"""Whether the parts of a model are of their kinds and fit each other.

These checks stand between a file and compiled code. Each stage has checked itself when it was decoded, and
each chunk checks what it reads.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from numbers import Integral
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from simlabel._utils.validation import check_ids, check_nonnegative, check_number, check_numbers
from simlabel.labels import FRAMES, SETS, Hierarchy
from simlabel.model._model import Model
from simlabel.model.persistence._file import ModelFileError
from simlabel.model.sketches import FeatureSums, PrototypeSums
from simlabel.normalizers import Chain, Normalizer
from simlabel.ridge import Solved, Stages
from simlabel.rules import AutoRule
from simlabel.similarities import ColumnView, OnColumns, Product, Scaled, Sum
from simlabel.sums import Sampled
from simlabel.tuning import TuningResult


def _kinds(cls: type, *but: str) -> dict[str, tuple[type, ...]]:
    """Return the classes of the fields of a record, except some, from its annotations."""
    kinds = {}
    for name, hint in get_type_hints(cls).items():
        hints = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        kinds[name] = tuple(Integral if kind is int else get_origin(kind) or kind for kind in hints)
    return {name: kind for name, kind in kinds.items() if name not in but}


#: fields of Stages and of Model that a file holds as they are -> the classes of their values
STAGES = _kinds(Stages)
OUTSIDE = _kinds(Model, "labels", "scorer")
#: part of a model -> the classes of its values
PARTS: dict[str, tuple[type, ...]] = {
    **STAGES,
    **OUTSIDE,
    "solution": (Solved, type(None)),
    "sketch": (FeatureSums, PrototypeSums, type(None)),
}
_CONTAINERS: dict[str, type] = {
    "single": type(None),
    "array": np.dtype,
    "sparse": tuple,
    "frame": str,
    "sets": type,
}
#: fitted attribute of a stage -> its length; fitted attributes that are not here have any
_LENGTHS = {
    "shift_": "features",
    "scale_": "features",
    "values_": "features",
    "scores_": "features",
    "coef_": "labels",
    "thresholds_": "labels",
    "sizes_": "sizes",
    "curves_": "labels",
}
#: arrays of a scorer -> their shape; each may be missing
_SHAPES: dict[str, tuple[str, ...]] = {
    "solution.V": ("used", "columns"),
    "solution.loo_scores": ("references", "columns"),
    "solution.mixing.n_labels": ("labels",),
    "sketch.W": ("any", "columns"),
    "sketch.V": ("any", "columns"),
    "sketch.X": ("any", "features"),
    "sketch.columns.n_features": ("features",),
    "stages.scales": ("references",),
    "stages.engine.probabilities": ("references",),
}
_OPTIONAL_TEXTS = ("label_separator_", "title_column_", "label_column_")


def _require(good: Any, message: str) -> None:
    if not good:
        raise ModelFileError(message)


def check_parts(parts: Mapping[str, Any]) -> None:
    """Check the class of each part, and which parts require or exclude each other."""
    for name, kinds in PARTS.items():
        if not isinstance(parts[name], kinds) or isinstance(parts[name], AutoRule):
            raise ModelFileError(f"{str(parts[name])[:60]} is no {name} of a model.")
    check_n_jobs(parts["n_jobs"])
    weighting, learned, sketched = parts["weighting"], parts["influence"].learned, parts["sketch"] is not None
    solution = parts["solution"]
    _require(learned == (solution is not None), "an influence and its solution go together.")
    _require(solution is None or solution.system is None, "a solution has a linear system.")
    parts["influence"].check_similarity(parts["similarity"], weighting)
    sampled = isinstance(parts["engine"], Sampled) or parts["scales"] is not None
    excluded = (learned and (sketched or sampled)) or (sketched and weighting is not None)
    excluded = excluded or (sampled and weighting is not None and weighting.scope == "row")
    _require(not excluded, "a sketch, a sampler or a weighting is combined with a part that excludes it.")
    for name in ("similarity", "weighting", "influence"):
        values = {} if parts[name] is None else parts[name].get_params(deep=True)
        # the number of inducing rows may be "auto": it follows from the number of references
        auto = [key for key, value in values.items() if isinstance(value, str) and value == "auto"]
        _require(set(auto) <= {"inducing"}, f"{name}: parameters {auto} are still to be tuned.")


def check_labels(kind: Any, classes: Any, container: Any, hierarchy: Any) -> None:
    """Check that the names of the labels, their container and their hierarchy fit the form of y."""
    good = kind in _CONTAINERS and isinstance(container, _CONTAINERS[kind])
    good = good and isinstance(classes, np.ndarray) and classes.ndim == 1
    _require(good, f"labels are written as {str(kind)[:60]!r} with {str(container)[:60]}.")
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
    _require(good, f"the labels {str(names)[:60]} are not written as {kind!r}.")
    good = hierarchy is None or (isinstance(hierarchy, Hierarchy) and kind != "single")
    _require(good, f"labels written as {kind!r} have the hierarchy {str(hierarchy)[:60]}.")


def check_n_jobs(n_jobs: Any) -> None:
    """Check a number of threads: None, or not 0."""
    check_number("a model", "n_jobs", n_jobs, integer=True, also=(None,))
    _require(n_jobs != 0, "n_jobs is 0.")


def check_fitted(fitted: Mapping[str, Any]) -> None:
    """Check the fitted attributes of an estimator that are not part of its model."""
    names, n_features = fitted.get("feature_names_in_"), fitted.get("n_features_in_")
    texts = {name: fitted.get(name) for name in _OPTIONAL_TEXTS}
    missing = [name for name, value in fitted.items() if value is None and name not in _OPTIONAL_TEXTS]
    _require(not missing, f"{missing} have no value.")
    good = all(value is None or (isinstance(value, str) and value) for value in texts.values())
    _require(good, f"{str(texts)[:120]} are no texts.")
    if names is not None:
        good = isinstance(names, np.ndarray) and names.shape == (n_features,)
        good = good and all(isinstance(name, str) for name in names.tolist())
        _require(good, f"{str(names)[:60]} are no names of {n_features} features.")
    title = texts["title_column_"]
    good = title is None or (names is not None and title in names.tolist())
    _require(good, f"the title column {str(title)[:60]!r} is none of the columns.")
    if "tuning_" in fitted:
        good = isinstance(fitted["tuning_"], TuningResult)
        _require(good, f"{str(fitted['tuning_'])[:60]} is no result of a search.")
    picked = fitted.get("n_queried_", 1)
    _require(type(picked) is int and picked >= 1, f"{str(picked)[:60]} is no number of picked rows.")


def check_model(model: Model, n_features: Any) -> None:
    """Check that the parts of a model fit each other. Its rows are not read."""
    scorer = model.scorer
    n, n_labels, n_sizes = scorer.references.n_rows, len(model.labels.classes), len(scorer.references.sizes)
    used = None if scorer.solution is None else scorer.solution.used
    if used is not None and len(used) and used[-1] >= n:
        raise ModelFileError(f"reference {used[-1]} is in use, of {n}.")
    lengths = {
        "features": _check_features(model, n_features),
        "labels": n_labels,
        "sizes": len(scorer.set_sizes),
        "columns": n_labels + n_sizes,
        "references": n,
        "used": n if used is None else len(used),
    }
    _check_stages(model, lengths)
    for path, requested in _SHAPES.items():
        value: Any = scorer
        for name in path.split("."):
            value = getattr(value, name, None)
        if value is not None:
            _check_shape(path, value, requested, lengths)
    if model.columns is not None:
        _check_shape("columns", model.columns, ("references",), lengths)


def _check_shape(path: str, value: Any, wanted: tuple[str, ...], lengths: Mapping[str, int]) -> None:
    shape = value.shape if hasattr(value, "shape") else (value,)
    fits = [lengths.get(name) in (None, n) for name, n in zip(wanted, shape, strict=False)]
    _require(len(shape) == len(wanted) and all(fits), f"{path} has shape {shape}, not {wanted} of {lengths}.")


def _check_features(model: Model, n_features: Any) -> int:
    """Check that rows, queries and the similarity have the same columns; return their number, or -1."""
    chunks: Any = model.scorer.references.chunks
    first, similarity, n = chunks[0], model.scorer.stages.similarity, model.scorer.references.n_rows
    form, raw, columns, encoder = first.x_form, first.raw_form, model.columns, model.encoder
    objects, pairwise = form.kind == "texts", similarity.form == "precomputed"
    good = objects == (n_features is None) and (not objects or similarity.compares_objects)
    _require(good, f"rows of {form.kind}, {n_features} features and {similarity!r} do not go together.")
    if n_features is not None:
        check_number("a model", "n_features_in_", n_features, at_least=1, integer=True)
    width, raw_width = n_features, n_features if raw is None else raw.width
    if encoder is not None:
        fitted = all(hasattr(encoder, name) for name in encoder.fitted_state)
        _require(fitted, "the encoder of the table is not fitted.")
        good = len(encoder.names_) == n_features and raw is not None and raw.kind == "texts"
        _require(good, "the rows of a table, or as many columns as its encoder has, are missing.")
        width, raw_width = encoder.width_, n_features
    if pairwise:
        good = (columns is not None or n_features == n) and _are_positions(columns, n_features)
        _require(good, f"{n} columns of a matrix are not among {n_features} that are given.")
        width = n
    else:
        _require(columns is None, "columns of a matrix are combined with a similarity of features.")
    good = form.width == width and raw_width == n_features
    _require(good, f"rows have {form.width} features, and queries {n_features}.")
    normalizer = model.normalizer
    good = normalizer is None or not (objects or pairwise)
    _require(good, f"{normalizer!r} is combined with rows that have no features.")
    learns = encoder is not None or (normalizer is not None and normalizer.learns)
    _require(learns == (raw is not None), "a normalizer that learns and the original rows go together.")
    return -1 if form.width is None else form.width


def _check_stages(model: Model, lengths: Mapping[str, int]) -> None:
    """Check the fitted attributes of all stages."""
    scorer, stages, calibration = model.scorer, model.scorer.stages, model.calibration
    single, width = model.labels.kind == "single", lengths["features"]
    _check_normalizer(model.normalizer, width)
    _check_similarity(stages.similarity, width, lengths)
    _check_learned(model.rule, lengths)
    sizes = getattr(model.rule, "sizes_", scorer.set_sizes)
    good = np.array_equal(sizes, scorer.set_sizes)
    _require(good, f"the rule is for the set sizes {sizes}, which are not those of the references.")
    if calibration is not None:
        _check_learned(calibration, lengths, "curves_" if single else "temperature_")
        _require(calibration.single_ == single, "the calibration is for another kind of labels.")
    sketch = scorer.sketch
    if isinstance(sketch, PrototypeSums):
        _check_similarity(sketch.similarity, width, lengths)
        check_n_jobs(sketch.n_jobs)
        good = repr(sketch.similarity) == repr(stages.similarity) and sketch.X.dtype.kind == "f"
        _require(good, f"the prototypes are compared by {sketch.similarity!r}.")
    if stages.label_frequency is not None:
        check_numbers(
            "a model", "label_frequency", stages.label_frequency, (lengths["labels"],), above=0, at_most=1
        )
        _require(not single, "shares of recorded labels are combined with one class for each row.")
    if stages.scales is not None:
        check_numbers("a model", "scales", stages.scales, (None,), above=0)


def _check_learned(stage: Any, lengths: Mapping[str, int], but: str = "") -> None:
    """Check that all fitted attributes of a stage but one are there, and their lengths."""
    for name in type(stage).fitted_state:
        if name == but:
            continue
        _require(hasattr(stage, name), f"{stage!r} lacks {name}, which it learns.")
        if name in _LENGTHS:
            n, requested = len(getattr(stage, name)), lengths[_LENGTHS[name]]
            _require(
                n == requested, f"{stage!r} has {n} numbers as {name}, not {requested} ({_LENGTHS[name]})."
            )


def _check_normalizer(normalizer: Any, width: int) -> None:
    if normalizer is None:
        return
    _require(isinstance(normalizer, Normalizer), f"{str(normalizer)[:60]} is no normalizer.")
    _check_learned(normalizer, {"features": width})
    for step in normalizer.fitted_ if isinstance(normalizer, Chain) else ():
        _check_normalizer(step, width)


def _check_similarity(similarity: Any, width: int, lengths: Mapping[str, int]) -> None:
    if isinstance(similarity, Sum | Product):
        _check_similarity(similarity.left, width, lengths)
        _check_similarity(similarity.right, width, lengths)
    elif isinstance(similarity, Scaled):
        _check_similarity(similarity.similarity, width, lengths)
    elif isinstance(similarity, OnColumns):
        _check_learned(similarity, lengths)
        view = similarity._view
        good = isinstance(view, ColumnView) and _are_positions(view.columns, width)
        _require(good, f"{similarity!r} has columns that are not among {width}.")
        _check_normalizer(view.normalizer, len(view.columns))
        _check_similarity(similarity.similarity, len(view.columns), lengths)


def _are_positions(columns: Any, width: int) -> bool:
    """Return whether these are positions of columns; None for all."""
    if columns is None:
        return True
    return columns.dtype.kind in "iu" and bool(((columns >= 0) & (columns < width)).all())


def check_chunk_rows(model: Model) -> None:
    """Check the rows, after they were read: some similarities are for features >= 0."""
    for leaf in model.scorer.stages.similarity.leaves():
        if leaf.similarity.nonnegative_input:
            for chunk in model.scorer.references.chunks:
                check_nonnegative(leaf.view(chunk.X), type(leaf.similarity).__name__)
