"""Whether the parts of a model fit each other: what must have been learnt, and all shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simlabel._utils.validation import check_nonnegative, check_number, check_numbers
from simlabel.model._model import Model
from simlabel.model.persistence._layout import ModelFileError
from simlabel.model.persistence._schema import check_n_jobs
from simlabel.model.sketches import PrototypeSums
from simlabel.normalizers import Chain, Normalizer
from simlabel.similarities import ColumnView, OnColumns, Product, Scaled, Sum

#: what a stage has learnt -> how long it is; () for one number
_LEARNT: dict[str, tuple[str, ...]] = {
    "shift_": ("features",),
    "scale_": ("features",),
    "values_": ("features",),
    "scores_": ("features",),
    "coef_": ("labels",),
    "intercept_": (),
    "thresholds_": ("labels",),
    "sizes_": ("sizes",),
    "value_": (),
    "measured_": (),
    "low_": (),
    "high_": (),
    "temperature_": (),
    "curves_": ("labels",),
}
#: arrays of a model -> how long they are; each may be missing
_SHAPES: dict[str, tuple[str, ...]] = {
    "solution.V": ("used", "columns"),
    "solution.left_out": ("references", "columns"),
    "sketch.W": ("any", "columns"),
    "sketch.V": ("any", "columns"),
    "sketch.X": ("any", "features"),
    "sketch.columns.n_features": ("features",),
    "stages.scales": ("references",),
    "columns": ("references",),
    "stages.engine.probabilities": ("references",),
}


def check_model(model: Model, n_features: Any) -> None:
    """The parts of a model, which are of their kinds by now, fit each other; its rows are not read."""
    fits = _Fits(model)
    fits.check_features(n_features)
    fits.check_stages()
    for path, shape in _SHAPES.items():
        fits.check_shape(path, shape)


class _Fits:
    """Compares the parts of a model with its lengths."""

    def __init__(self, model: Model) -> None:
        self.model, scorer = model, model.scorer
        self.chunks: Any = scorer.references.chunks
        self.lengths = {
            "labels": len(model.labels.classes),
            "sizes": len(scorer.references.sizes),
            "columns": len(model.labels.classes) + len(scorer.references.sizes),
            "references": scorer.references.n_rows,
        }
        used = None if scorer.solution is None else scorer.solution.used
        self.lengths["used"] = self.lengths["references"] if used is None else len(used)
        if used is not None and len(used) and used[-1] >= self.lengths["references"]:
            raise ModelFileError(f"reference {used[-1]} is in use, of {self.lengths['references']}.")

    def check_features(self, n_features: Any) -> None:
        """Rows, queries and the similarity speak of the same columns."""
        model, one = self.model, self.chunks[0]
        form, similarity, n = one.x_form, model.scorer.stages.similarity, self.lengths["references"]
        objects = form.kind == "texts"
        if objects != (n_features is None) or (objects and not similarity.compares_objects):
            raise ModelFileError(
                f"rows of {form.kind}, {n_features} features and {similarity!r} do not go together."
            )
        if n_features is not None:
            check_number("a model", "n_features_in_", n_features, at_least=1, integer=True)
        given, columns, encoder = n_features, model.columns, model.encoder
        if encoder is not None:
            if not all(hasattr(encoder, name) for name in encoder.fitted_state):
                raise ModelFileError("the encoder of the table has learnt nothing.")
            if len(encoder.names_) != n_features or one.raw_form is None or one.raw_form.kind != "texts":
                raise ModelFileError("a table is kept as it came, with as many columns as its encoder has.")
            given = encoder.width_
        if similarity.form == "precomputed":
            given = n
            if (columns is None and n_features != n) or not _are_positions(columns, n_features):
                raise ModelFileError(f"{n} columns of a matrix are not among {n_features} that are given.")
        elif columns is not None:
            raise ModelFileError("columns of a matrix stand beside a similarity of features.")
        raw_width = n_features if one.raw_form is None or encoder is not None else one.raw_form.width
        if form.width != given or raw_width != n_features:
            raise ModelFileError(f"rows have {form.width} features, and queries {n_features}.")
        normalizer = model.normalizer
        if normalizer is not None and (objects or similarity.form == "precomputed"):
            raise ModelFileError(f"{normalizer!r} stands beside rows that have no features.")
        learns = encoder is not None or (normalizer is not None and normalizer.learns)
        if learns != (one.raw_form is not None):
            raise ModelFileError("a normalizer that learns and the rows as they came go together.")
        self.lengths["features"] = -1 if form.width is None else form.width

    def check_stages(self) -> None:
        model = self.model
        single = model.labels.kind == "single"
        self._check_normalizer(model.normalizer, self.lengths["features"])
        self._check_similarity(model.scorer.stages.similarity, self.lengths["features"])
        asked = model.scorer.set_sizes
        self._check_learnt(model.rule, {**self.lengths, "sizes": len(asked)})
        sizes = getattr(model.rule, "sizes_", asked)
        if not np.array_equal(sizes, asked):
            raise ModelFileError(
                f"the rule is for the set sizes {sizes}, which are not those of the references."
            )
        if model.calibration is not None:
            self._check_learnt(model.calibration, self.lengths, "curves_" if single else "temperature_")
            if model.calibration.single_ != single:
                raise ModelFileError("the calibration is for another kind of labels.")
        sketch = model.scorer.sketch
        if isinstance(sketch, PrototypeSums):
            self._check_similarity(sketch.similarity, self.lengths["features"])
            check_n_jobs(sketch.n_jobs)
            if repr(sketch.similarity) != repr(model.scorer.stages.similarity) or sketch.X.dtype.kind != "f":
                raise ModelFileError(f"the prototypes are compared by {sketch.similarity!r}.")
        recorded = model.scorer.stages.recorded
        if recorded is not None:
            check_numbers("a model", "recorded", recorded, (self.lengths["labels"],), above=0, at_most=1)
            if single:
                raise ModelFileError("shares that are recorded stand beside one class for each row.")
        if model.scorer.stages.scales is not None:
            check_numbers("a model", "scales", model.scorer.stages.scales, (None,), above=0)

    def _check_learnt(self, stage: Any, lengths: Mapping[str, int], but: str = "") -> None:
        """What the stage says that it learns is there, as long as it must be."""
        for name in type(stage).fitted_state:
            if name == but:
                continue
            if not hasattr(stage, name):
                raise ModelFileError(f"{stage!r} is without {name}, which it learns.")
            for length in _LEARNT.get(name, ()):
                if len(getattr(stage, name)) != lengths[length]:
                    raise ModelFileError(
                        f"{stage!r} has {len(getattr(stage, name))} numbers as {name}, "
                        f"not {lengths[length]} ({length})."
                    )

    def _check_normalizer(self, normalizer: Any, width: int) -> None:
        if normalizer is None:
            return
        if not isinstance(normalizer, Normalizer):
            raise ModelFileError(f"{str(normalizer)[:60]} is no normalizer.")
        self._check_learnt(normalizer, {"features": width})
        for step in normalizer.fitted_ if isinstance(normalizer, Chain) else ():
            self._check_normalizer(step, width)

    def _check_similarity(self, similarity: Any, width: int) -> None:
        if isinstance(similarity, Sum | Product):
            self._check_similarity(similarity.left, width)
            self._check_similarity(similarity.right, width)
        elif isinstance(similarity, Scaled):
            self._check_similarity(similarity.similarity, width)
        elif isinstance(similarity, OnColumns):
            self._check_learnt(similarity, self.lengths)
            view = similarity._view
            if not isinstance(view, ColumnView) or not _are_positions(view.columns, width):
                raise ModelFileError(f"{similarity!r} has columns that are not among {width}.")
            self._check_normalizer(view.normalizer, len(view.columns))
            self._check_similarity(similarity.similarity, len(view.columns))

    def check_shape(self, path: str, wanted: tuple[str, ...]) -> None:
        value: Any = self.model if path == "columns" else self.model.scorer
        for name in path.split("."):
            value = getattr(value, name, None)
        if value is None:
            return
        shape = value.shape if hasattr(value, "shape") else (value,)
        lengths = [self.lengths.get(name) for name in wanted]
        if len(shape) != len(wanted) or any(
            want not in (None, have) for want, have in zip(lengths, shape, strict=True)
        ):
            raise ModelFileError(f"{path} has shape {shape}, not {tuple(zip(wanted, lengths, strict=True))}.")


def _are_positions(columns: Any, width: int) -> bool:
    """Whether these are columns of so many; None for all."""
    if columns is None:
        return True
    return columns.dtype.kind in "iu" and bool(((columns >= 0) & (columns < width)).all())


def check_rows(model: Model) -> None:
    """What can be said of rows only after they are read: some similarities are for features >= 0."""
    for leaf in model.scorer.stages.similarity.leaves():
        if leaf.similarity.nonnegative_input:
            for chunk in model.scorer.references.chunks:
                check_nonnegative(leaf.view(chunk.X), type(leaf.similarity).__name__)
