"""A curve that says little: flat, or best at its edge."""

from __future__ import annotations

import math

import numpy as np

from simlabel._utils.advice import TuningWarning, advise
from simlabel.tuning._result import TuningResult

_ENOUGH = 50  # rows that were scored: from fewer, a curve is noise
_NOISE = 0.25  # of a standard error: candidates are judged on the same rows, so they differ by less than that
_SMALL = 1e-3  # of the criterion, where it has no standard error
_GOOD = 0.05  # from perfect: little is left to be gained
_SCALES = ("gamma", "penalty")  # of no natural bounds; other grids end where the method does


def advise_on_curve(curve: TuningResult) -> None:
    """Warn where the chosen value means little, or a better one may lie beyond."""
    found = concern(curve)
    if found:
        advise(found, TuningWarning)


def concern(curve: TuningResult) -> str:
    """What is to be said of a curve, and what to do about it; empty where it is as it should be.

    Examples
    --------
    >>> tried = tuple({"gamma": gamma} for gamma in (1.0, 2.0, 4.0))
    >>> errors = (0.01, 0.01, 0.01)
    >>> concern(TuningResult(("gamma",), tried, "average_precision", (0.6, 0.7, 0.65), errors, tried[1], 100))
    ''
    >>> concern(TuningResult(("gamma",), tried, "average_precision", (0.6, 0.7, 0.75), errors, tried[2], 100))
    'gamma=4 is the largest that was tried, and the best: average precision may be better beyond. Set it ...'
    """
    values = np.array(curve.values, dtype=float)
    if curve.n_queries < _ENOUGH or np.isfinite(values).sum() < 3:
        return ""
    at = curve.candidates.index(curve.best)
    best, error = float(values[at]), float(curve.errors[at])
    if not math.isfinite(best) or abs(best - (1.0 if curve.higher_is_better else 0.0)) <= _GOOD:
        return ""
    little = _SMALL * abs(best) if math.isnan(error) else _NOISE * error
    what = curve.criterion.replace("_", " ")
    if np.nanmax(values) - np.nanmin(values) <= little:
        return (
            f"whatever {' and '.join(map(_short, curve.parameters))} is, {what} is {best:.3g}: rows that are "
            f"alike do not have like labels. Try another normalizer or similarity, or AutoSMLClassifier()."
        )
    for name in curve.parameters:
        edge = _edge(curve, name)
        inside = [
            value
            for value, one in zip(values, curve.candidates, strict=True)
            if one[name] != curve.best[name]
        ]
        if edge and abs(best - _best(inside, curve.higher_is_better)) > little:
            return (
                f"{_short(name)}={curve.best[name]:.3g} is the {edge} that was tried, and the best: {what} "
                f"may be better beyond. Set it yourself, or try another normalizer or similarity, or "
                f"AutoSMLClassifier()."
            )
    return ""


def _short(name: str) -> str:
    return name.rpartition("__")[2]


def _edge(curve: TuningResult, name: str) -> str:
    """Whether the best value of a scale is the smallest or the largest of many."""
    if _short(name) not in _SCALES:
        return ""
    tried = sorted({one[name] for one in curve.candidates})
    if len(tried) < 3:
        return ""
    return {tried[0]: "smallest", tried[-1]: "largest"}.get(curve.best[name], "")


def _best(values: list[float], higher: bool) -> float:
    return float(np.nanmax(values) if higher else np.nanmin(values))
