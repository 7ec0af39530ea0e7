"""`simlabel evaluate`: a model file on a labelled file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import scipy.sparse as sp
import typer
from rich.table import Table

from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, guarded, progress, say, show_json
from simlabel.cli._models import BLOCK, FittedModel, stacked
from simlabel.cli._predict import IndexBase, ModelFile
from simlabel.datasets import Dataset, FeatureChunks
from simlabel.experiments import FoldResult, criteria_for, summarize
from simlabel.metrics import evaluate, find_criterion
from simlabel.reports import check_report_path, evaluation_report, write_report


@guarded
def evaluate_verb(
    model: ModelFile,
    data: Annotated[str, typer.Argument(help="A labelled file, or the name of a data set.")],
    criteria: options.Criteria = "paper",
    report: options.Reports = None,
    index_base: IndexBase = None,
    labels: options.Labels = None,
    label_prefix: options.LabelPrefix = None,
    label_column: options.LabelColumn = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare a model's predictions with the true labels of a file."""
    shown = [name for name in options.criteria_of(criteria) if not find_criterion(name).needs_propensities]
    for path in report or ():
        check_report_path(path)
    fitted = FittedModel.open(model)
    reading = options.Reading(labels, label_prefix, label_column, separator, delimiter, None, format, max_gib)
    loaded = reading.load(data)
    source = Path(data)
    if source.is_file():
        chunks = FeatureChunks(
            source,
            fitted.features,
            BLOCK,
            format=format,
            delimiter=delimiter,
            index_base=index_base,
            max_gib=max_gib,
        )
        loaded = replace(loaded, X=stacked(list(chunks)), feature_names=_names(fitted), n_attributes=-1)
    else:
        _check_features(fitted, loaded)
    result, joint = evaluated(fitted, loaded)
    for path in report or ():
        write_report(evaluation_report(fitted.estimator, model.name, joint, result, shown), path)
        say(f"wrote {path}")
    _show(result, joint, shown, json)


def _names(fitted: FittedModel) -> tuple[str, ...]:
    names = fitted.features
    return tuple(map(str, range(names))) if isinstance(names, int) else tuple(names)


def _check_features(fitted: FittedModel, data: Dataset) -> None:
    if isinstance(fitted.features, int):
        same = fitted.features == len(data.feature_names)
    else:
        same = tuple(fitted.features) == tuple(data.feature_names)
    if not same:
        raise ValueError(f"{data.name} does not have the features that the model was fitted on.")


def evaluated(fitted: FittedModel, data: Dataset) -> tuple[FoldResult, Dataset]:
    """All criteria, and the data with the model's labels first: those that only the file has come last."""
    known = {label: k for k, label in enumerate(fitted.labels)}
    names = [*fitted.labels, *(str(name) for name in data.label_names if str(name) not in known)]
    position = {name: k for k, name in enumerate(names)}
    places = np.array([position[str(name)] for name in data.label_names], dtype=np.int64)
    rows = np.repeat(np.arange(data.n_rows), np.diff(data.Y.indptr))
    ones = np.ones(len(rows), dtype=np.int8)
    shape = (data.n_rows, len(names))
    truth = sp.csr_array((ones, (rows, places[data.Y.indices])), shape=shape)
    truth.sort_indices()
    joint = replace(data, Y=truth, label_names=tuple(names))
    scores, probabilities = np.zeros(shape), np.zeros(shape)
    parts = []
    started = time.perf_counter()
    with progress("evaluating") as bar:
        for start in range(0, data.n_rows, BLOCK):
            part = slice(start, min(data.n_rows, start + BLOCK))
            outputs = fitted.outputs(data.X[part])
            scores[part, : len(known)] = outputs.weights
            scores[part, len(known) :] = outputs.weights.min() - 1.0  # labels that it does not know come last
            probabilities[part, : len(known)] = outputs.probabilities
            parts.append(outputs.sets)
            bar(part.stop, data.n_rows, "evaluating")
    seconds = time.perf_counter() - started
    sets = sp.vstack(parts, format="csr")
    sets.resize(shape)
    sets.sort_indices()
    wanted = [name for name in criteria_for(len(names)) if not find_criterion(name).needs_propensities]
    evaluation = evaluate(truth, sets, scores, criteria=wanted)
    return summarize(evaluation, truth, sets, probabilities, (0.0, seconds)), joint


def _show(result: FoldResult, data: Dataset, criteria: list[str], json: bool) -> None:
    evaluation = result.evaluation
    shown = [name for name in criteria if name in evaluation.values]
    if json:
        values = {name: None if np.isnan(evaluation[name]) else evaluation[name] for name in shown}
        undefined = {name: evaluation.undefined[name] for name in shown}
        show_json(
            {"data": data.name, "rows": evaluation.n_rows, "criteria": values, "undefined_rows": undefined}
        )
        return
    table = Table(
        title=f"{data.name}: {evaluation.n_rows:,} rows, {data.n_labels:,} labels", title_justify="left"
    )
    table.add_column("Criterion")
    table.add_column("Value", justify="right")
    table.add_column("Rows left out: undefined", justify="right")
    for name in shown:
        value = "undefined" if np.isnan(evaluation[name]) else f"{evaluation[name]:.4f}"
        table.add_row(find_criterion(name).heading, value, str(evaluation.undefined[name] or ""))
    Terminal().print(table)
