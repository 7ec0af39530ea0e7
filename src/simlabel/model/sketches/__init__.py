"""Sketches: approximate sums over the references, computed at fit, with their error measured."""

from simlabel.model.sketches._features import FeatureSums, RandomFeatures, Sketch, SketchProblem, Waves
from simlabel.model.sketches._prototypes import (
    SKETCHES,
    AutoSketch,
    Condense,
    FittedSketch,
    PrototypeSums,
    cheaper_alternatives,
    fit_sketch,
    resolve_sketch,
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
    "cheaper_alternatives",
]
