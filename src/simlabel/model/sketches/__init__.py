"""Sketches: approximate sums over the references, computed at fit, with their error measured."""

from simlabel.model.sketches._features import FeatureSums, RandomFeatures, Sketch, SketchProblem, Waves
from simlabel.model.sketches._prototypes import (
    SKETCHES,
    AutoSketch,
    Condense,
    FittedSketch,
    PrototypeSums,
    fit_sketch,
    resolve_sketch,
    what_is_cheaper,
)

__all__ = [
    "SKETCHES",
    "AutoSketch",
    "Condense",
    "FeatureSums",
    "FittedSketch",
    "PrototypeSums",
    "RandomFeatures",
    "Sketch",
    "SketchProblem",
    "Waves",
    "fit_sketch",
    "resolve_sketch",
    "what_is_cheaper",
]
