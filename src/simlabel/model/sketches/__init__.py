"""Sketches: the sum over references in a short form, made at fit, with its error measured."""

from simlabel.model.sketches._auto import AutoSketch
from simlabel.model.sketches._base import FittedSketch, Sketch, SketchProblem
from simlabel.model.sketches._features import FeatureSums, RandomFeatures, Waves
from simlabel.model.sketches._prototypes import Condense, PrototypeSums
from simlabel.model.sketches._registry import SKETCHES, fit_sketch, resolve_sketch, what_is_cheaper

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
