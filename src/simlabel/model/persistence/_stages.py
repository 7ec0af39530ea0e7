"""The classes that a model file may name: these and no others, so that loading runs no foreign code.

What a stage is made of it declares itself: its parameters, and in `fitted_state` the names of what
it has learnt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

from simlabel._utils.registry import Registry
from simlabel.labels import Hierarchy
from simlabel.model.sketches import SKETCHES, FeatureSums, PrototypeSums, Waves
from simlabel.normalizers import NORMALIZERS, Chain
from simlabel.ridge import INFLUENCES, Solved
from simlabel.rules import LABEL_RULES, CustomRule
from simlabel.rules.calibration import ABSENCES, CALIBRATIONS, LogisticCurve, PiecewiseCurve
from simlabel.similarities import SIMILARITIES, ColumnView, Function, OnColumns, Product, Scaled, Sum
from simlabel.sums import ENGINES, SAMPLERS, WEIGHTINGS, CustomWeighting, Sampled
from simlabel.tables import ENCODERS, Column, EmbeddedColumn, Embedding, NumberColumn, TermColumn, Vocabulary
from simlabel.tuning import TUNERS, TuningResult


def _classes() -> Iterable[type[Any]]:
    registries: list[Registry[Any]] = [SIMILARITIES, WEIGHTINGS, NORMALIZERS, INFLUENCES]
    registries += [LABEL_RULES, CALIBRATIONS, TUNERS, ENGINES, SAMPLERS, SKETCHES, ENCODERS, ABSENCES]
    for registry in registries:
        yield from registry.classes.values()
    yield from (Function, Sum, Product, Scaled, OnColumns, ColumnView, Chain, CustomWeighting, CustomRule)
    yield from (FeatureSums, PrototypeSums, Waves)
    yield from (Column, Vocabulary, TermColumn, NumberColumn, Embedding, EmbeddedColumn)
    yield from (Hierarchy, Sampled, Solved, PiecewiseCurve, LogisticCurve, TuningResult)


#: name in a file -> class: the names that the classes declare, which stay when code moves
CLASSES: dict[str, type[Any]] = {cls.file_key: cls for cls in _classes()}
KEYS: dict[type[Any], str] = {cls: key for key, cls in CLASSES.items()}


def parameters(cls: type[Any]) -> list[str]:
    """Names of what the class is made with."""
    return [f.name for f in fields(cls)] if is_dataclass(cls) else list(cls._get_param_names())
