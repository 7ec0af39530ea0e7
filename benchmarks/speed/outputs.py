"""Label sets with scores and probabilities, as `simlabel predict` can write them, beside label sets alone."""

from __future__ import annotations

from functools import partial
from typing import Any

from _shared.data import FEATURES, LABELS, QUERIES, REFERENCES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.similarities import RBF


def everything(model: SMLClassifier, Q: Any) -> Any:
    """Label sets, scores and probabilities of the same queries, from one pass."""
    return model.outputs(Q)


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    runs = {
        "predict": partial(model.predict, Q),
        "with scores and probabilities": partial(everything, model, Q),
    }
    seconds = alternate(runs, scale.rounds(9))
    shape = f"{REFERENCES:,} references x {QUERIES:,} queries x {FEATURES} features, {LABELS} labels"
    part = Part(f"All outputs beside one: {shape}", ["what", "median ms", "/ predict"])
    part.times(seconds, per=1000, digits=".1f")
    alone, all_of_them = seconds.values()
    part.figure("predict with scores and probabilities", f"{all_of_them / alone:.2f}", "predict alone")
    return part
