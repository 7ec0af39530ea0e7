"""One model, looked at closely: its tuning curve, and some instances it had not seen."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.rows import take_rows
from simlabel.datasets import Dataset
from simlabel.experiments._algorithms import find_algorithm
from simlabel.experiments._protocols import Protocol
from simlabel.experiments.reports import _figures as figures
from simlabel.experiments.reports._page import Block, Example, Examples, Picture
from simlabel.model.inspection import told

_EXAMPLES, _REASONS = 6, 3


@dataclass(frozen=True)
class Showcase:
    """What one fitted model shows."""

    tuning: Block | None
    examples: Block


def showcase(data: Dataset, protocol: Protocol, algorithm: str, seed: int) -> Showcase:
    """Fit on the first split's training rows and look at a few of its test rows."""
    split = protocol.splits(data)[0]
    model = find_algorithm(algorithm, seed=seed, n_jobs=1).estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimlabelWarning)  # the comparison has them, of every split
        model.fit(data.X[split.train], data.Y[split.train])
    model = getattr(model, "best_estimator_", model)  # what AutoSML has chosen
    rows = np.random.default_rng(seed).permutation(split.test)[:_EXAMPLES]
    names = [str(name) for name in data.label_names]
    described = {
        place: f"row {row} ({', '.join(names[k] for k in data.Y[[row]].indices) or 'no label'})"
        for place, row in enumerate(split.train.tolist())
    }
    return Showcase(tuning_curve(model, " on the first split"), examples(model, data, rows, names, described))


def model_showcase(model: Any, data: Dataset, seed: int = 0) -> Showcase:
    """Look at a model that is fitted, whose labels have names, on rows of `data`."""
    rows = np.random.default_rng(seed).permutation(data.n_rows)[:_EXAMPLES]
    return Showcase(
        tuning_curve(model), examples(model, data, rows, [str(label) for label in model.classes_])
    )


def tuning_curve(model: Any, where: str = "") -> Block | None:
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
    caption = f"Tuning curve{where}: {name} = {best:.4g} was taken; bars are standard errors"
    return Picture(figures.tuning_plot(curve, parameter, tuning.criterion, best), caption)


def examples(
    model: Any, data: Dataset, rows: Any, names: Sequence[str], described: Mapping[Any, str] | None = None
) -> Block:
    """Predicted and true sets of some rows, and the references that decided.

    Parameters
    ----------
    model : SMLClassifier
    data : Dataset
    rows : array of int
    names : sequence of str
        Of the model's labels, in the order of its `classes_`.
    described : dict of id to str, optional
        The references in words.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        X = data.X.iloc[rows] if hasattr(data.X, "iloc") else take_rows(data.X, rows)  # a table is a frame
        explanation = model.explain(X, top=_REASONS)
    instances = []
    for query, row in enumerate(rows.tolist()):
        true = {str(data.label_names[k]) for k in data.Y[[row]].indices}
        predicted = [names[k] for k in explanation.chosen[query]]
        instances.append(
            Example(
                explanation.evidence.query_title(query) or f"Row {row}",
                tuple((name, name in true) for name in predicted),
                tuple(sorted(true - set(predicted))),
                tuple(_reasons(explanation, query, names, described or {})),
            )
        )
    return Examples(tuple(instances))


def _reasons(
    explanation: Any, query: int, names: Sequence[str], described: Mapping[Any, str]
) -> Iterator[str]:
    """Of a table, why each label; else the strongest label's references, with their shares."""
    if explanation.evidence.has_words:
        yield from (each.sentence for each in told(explanation, query))
        return
    for column in explanation.chosen[query][:1]:
        whole = explanation.terms.absolute[query, column]
        for who, contribution in explanation.contributors(query, column):
            side = "for" if contribution > 0 else "against"
            share = f"{abs(contribution) / whole:.1%} {side} {names[column]}"
            yield f"{described.get(who, f'instance {who}')}: {share}"
