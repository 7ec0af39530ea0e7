"""From what a user writes to a sketch, and from a sketch to a short form that can be trusted."""

from __future__ import annotations

from typing import Any

from simlabel._utils.registry import Registry
from simlabel.model.sketches._auto import AutoSketch
from simlabel.model.sketches._base import FittedSketch, Sketch, SketchProblem
from simlabel.model.sketches._features import RandomFeatures
from simlabel.model.sketches._prototypes import Condense
from simlabel.similarities import Similarity
from simlabel.sums import Weighting

SKETCHES: Registry[Sketch] = Registry("sketch", Sketch, [AutoSketch, Condense, RandomFeatures])
_LARGEST_ERROR = 0.5  # sine of 30 degrees: beyond it what comes out is mostly noise


def resolve_sketch(spec: Any, similarity: Similarity, weighting: Weighting | None) -> Sketch | None:
    """Turn None, a name or an object into a sketch that can be made, or say why it cannot."""
    if spec is None:
        return None
    sketch = SKETCHES.resolve(spec)
    sketch.check()
    if weighting is not None:
        raise ValueError(
            f"sketch={spec!r} sums before the weighting {weighting!r} could be applied; use one of them."
        )
    reason = sketch.why_not(similarity)
    if reason is not None:
        raise ValueError(f"sketch={spec!r} is not possible: {reason}.")
    return sketch


_WORTH_SAYING = 5  # times fewer rows to compare with


def what_is_cheaper(similarity: Similarity, n_references: int) -> str | None:
    """What would answer sooner, how much, and at which loss, in words; None where nothing would."""
    few = Condense(300)
    gain = n_references / few.n
    if gain < _WORTH_SAYING or few.why_not(similarity) is not None:
        return None
    return (
        f"cheaper: sketch='auto' takes the cheapest short form that loses at most "
        f"{AutoSketch().tolerance} of average precision, measured at fit; {few!r} compares with {gain:,.0f} "
        f"times fewer rows. So does sampler={few.n}, which is right on average and loses more"
    )


def fit_sketch(sketch: Sketch, problem: SketchProblem) -> FittedSketch | None:
    """Make the short form and measure it on training rows, each left out of its own sums."""
    if isinstance(sketch, AutoSketch):
        return sketch.choose(problem)
    fitted = sketch.make(problem)
    error = problem.error(fitted)
    if not error <= _LARGEST_ERROR:
        raise ValueError(
            f"{sketch!r} gives sums that point elsewhere than the exact ones with {problem.similarity!r}: "
            f"the mean sine of the angle is {error:.2f} on {len(problem.checked)} training rows left out of "
            f"their own sums, so what comes out is mostly noise. Narrow similarities have small sums, and "
            f"the noise of a sketch does not become smaller with them. Use more columns or prototypes, "
            f"another sketch, or none."
        )
    return fitted
