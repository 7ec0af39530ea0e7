"""Sketches: the sum over references in a short form, made at fit, with its error measured."""

from simlabel.sketching._auto import AutoSketch
from simlabel.sketching._base import FittedSketch, Sketch, SketchProblem
from simlabel.sketching._features import RandomFeatures, TensorSketch
from simlabel.sketching._prototypes import Condense, Nystroem
from simlabel.sketching._registry import SKETCHES, fit_sketch, resolve_sketch

__all__ = [
    "SKETCHES",
    "AutoSketch",
    "Condense",
    "FittedSketch",
    "Nystroem",
    "RandomFeatures",
    "Sketch",
    "SketchProblem",
    "TensorSketch",
    "fit_sketch",
    "resolve_sketch",
]
