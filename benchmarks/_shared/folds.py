"""Cross-validation on a data set of the folder SIMLABEL_DATA."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from _shared.data import shared
from _shared.timing import Scale

from simlabel.experiments import CrossValidation, KFolds, compare

# finished folds are kept, so that a run that was stopped goes on
_KEPT = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds"


def cross_validated(
    name: str, estimators: Mapping[str, Any], scale: Scale, seed: int = 0
) -> dict[str, CrossValidation]:
    """Ten folds of each estimator, the same for all; two if the scale is small."""
    folder = None if scale.small else _KEPT
    data, folds = shared(name, scale), KFolds(2 if scale.small else 10, seed=seed)
    found = compare(
        data, estimators, folds, folder=folder, on_progress=lambda *done: print(*done, flush=True)
    )
    if found.failures:
        raise RuntimeError("; ".join(map(str, found.failures)))
    return {each: found.of(data.name, each) for each in estimators}
