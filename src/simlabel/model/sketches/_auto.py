"""The cheapest sketch that loses no more than a stated tolerance."""

from __future__ import annotations

import numpy as np

from simlabel._utils.validation import FloatArray, check_number
from simlabel.metrics import Truth, average_precision
from simlabel.model.sketches._base import FittedSketch, Sketch, SketchProblem
from simlabel.model.sketches._features import RandomFeatures
from simlabel.model.sketches._prototypes import Condense

_CANDIDATES: tuple[Sketch, ...] = (
    Condense(100),
    Condense(300),
    RandomFeatures(512),
    Condense(1000),
    RandomFeatures(2048),
    Condense(3000),
)
_SMALLEST_GAIN = 2.0  # what is not twice as quick as the exact sums is not worth an error


class AutoSketch(Sketch):
    """Tries sketches from the cheapest on, and takes the first that keeps the average precision.

    Rows of the training set are scored with themselves left out, exactly and by the sketch. Where no
    sketch that is cheaper will do, the sums stay exact.

    Parameters
    ----------
    tolerance : float
        How much average precision may be lost.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier(sketch=AutoSketch(tolerance=0.01)).fit([[0.0], [1.0]], [{"a"}, {"b"}])
    >>> model.sketch_ is None  # two references are few enough
    True
    """

    name = "auto"
    file_key = "sketching.AutoSketch"

    def __init__(self, tolerance: float = 0.015) -> None:
        self.tolerance = tolerance

    def check(self) -> None:
        """Raise ValueError where the tolerance is negative."""
        check_number("AutoSketch", "tolerance", self.tolerance, at_least=0)

    def choose(self, problem: SketchProblem) -> FittedSketch | None:
        """The first that will do, or None."""
        n, n_features = problem.references.n_rows, int(problem.references.X.shape[1])
        exact_cost = n * (n_features + 20.0)
        known = [c for c in _CANDIDATES if c.why_not(problem.similarity) is None]
        known = [c for c in known if c.cost(problem) * _SMALLEST_GAIN < exact_cost]
        truth = Truth.of(problem.references.settled_Y[problem.checked])
        wanted = _precision(truth, problem.exact) - self.tolerance if known else 0.0
        for candidate in sorted(known, key=lambda c: c.cost(problem)):
            fitted = candidate.make(problem)
            if _precision(truth, problem.sketched(fitted)) >= wanted:
                return fitted
        return None


def _precision(truth: Truth, sums: FloatArray) -> float:
    """0 where no row has a label: then nothing can be lost."""
    return float(np.nan_to_num(average_precision(truth, sums[:, : truth.Y.shape[1]])))
