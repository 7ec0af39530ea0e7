"""One model, looked at closely: its tuning curve, and some instances it had not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from simlabel.datasets import Dataset
from simlabel.experiments import Protocol, find_algorithm
from simlabel.reports import _figures as figures
from simlabel.reports._page import Block, Example, Examples, Picture

_EXAMPLES = 6


@dataclass(frozen=True)
class Showcase:
    """What one fitted model shows."""

    tuning: Block | None
    examples: Block


def showcase(data: Dataset, protocol: Protocol, algorithm: str, seed: int) -> Showcase:
    """Fit on the first split's training rows and look at a few of its test rows."""
    split = protocol.splits(data)[0]
    model = find_algorithm(algorithm, seed=seed, n_jobs=1).estimator
    model.fit(data.X[split.train], data.Y[split.train])
    rows = np.random.default_rng(seed).permutation(split.test)[:_EXAMPLES]
    return Showcase(tuning_curve(model), examples(model, data, rows))


def tuning_curve(model: Any) -> Block | None:
    """The curve over the one parameter that was searched; None where there was none, or several."""
    tuning = getattr(model, "tuning_", None)
    if tuning is None or len(tuning.parameters) != 1:
        return None
    parameter = tuning.parameters[0]
    curve: pd.DataFrame = tuning.to_frame()
    curve = curve[curve[tuning.criterion].notna()]
    best = tuning.best[parameter]
    if len(curve) < 2 or not (curve[parameter] > 0).all():
        return None
    name = parameter.rpartition("__")[2]
    caption = f"Tuning curve on the first split: {name} = {best:.4g} was taken; bars are standard errors"
    return Picture(figures.tuning_plot(curve, parameter, tuning.criterion, best), caption)


def examples(model: Any, data: Dataset, rows: Any) -> Block:
    """Predicted and true sets of some rows."""
    found = []
    for row, predicted in zip(rows.tolist(), model.predict_sets(data.X[rows]), strict=True):
        true = set(data.Y[[row]].indices.tolist())
        found.append(
            Example(
                f"Row {row}",
                tuple((str(data.label_names[k]), k in true) for k in predicted),
                tuple(str(data.label_names[k]) for k in sorted(true - set(predicted))),
            )
        )
    return Examples(tuple(found))
