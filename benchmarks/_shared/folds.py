"""Comparisons and other results that are stored, so that a stopped run continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from _shared.data import shared
from _shared.timing import Scale
from joblib import Memory

from simlabel.experiments import Algorithm, Comparison, CrossValidation, KFolds, compare

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds"


def stored(function: Callable[..., Any], scale: Scale) -> Callable[..., Any]:
    """Return the function with its results stored by arguments and source; unchanged for a small scale."""
    cached: Callable[..., Any] = Memory(None if scale.small else FOLDER, verbose=0).cache(function)
    return cached


def compared(
    data: Any, algorithms: Sequence[Algorithm] | Mapping[str, Any], protocol: Any, scale: Scale, jobs: int = 1
) -> Comparison:
    """Run `compare` with stored folds; an algorithm that fails ends the benchmark."""
    folder = None if scale.small else FOLDER
    found = compare(data, algorithms, protocol, folder=folder, jobs=jobs, on_progress=print)
    if found.failures:
        raise RuntimeError("; ".join(map(str, found.failures)))
    return found


def cross_validated(
    name: str, estimators: Mapping[str, Any], scale: Scale, seed: int = 0
) -> dict[str, CrossValidation]:
    """Run ten folds of each estimator, the same for all; two if the scale is small."""
    data, folds = shared(name, scale), KFolds(2 if scale.small else 10, seed=seed)
    found = compared(data, estimators, folds, scale)
    return {each: found.of(data.name, each) for each in estimators}
