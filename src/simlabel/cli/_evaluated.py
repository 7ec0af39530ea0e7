"""What `simlabel evaluate` works out, and how it is shown."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from rich.table import Table

from simlabel._utils.progress import shown_progress
from simlabel.cli import _guarantees as guarantees
from simlabel.cli._console import Terminal, note, show_json
from simlabel.cli._models import FittedModel
from simlabel.cli._rows import BLOCK
from simlabel.datasets import Dataset
from simlabel.experiments import FoldResult, criteria_for, summarize
from simlabel.guarantees import Measured, Promise
from simlabel.metrics import Truth, evaluate, find_criterion

_LISTED = 10  # labels that the model does not know, by name


def unknown_labels(fitted: FittedModel, data: Dataset) -> dict[str, int]:
    """Labels that the model does not know, and in how many rows each is; they are said."""
    known, counts = set(fitted.labels), np.asarray(data.Y.sum(axis=0))
    found = zip(map(str, data.label_names), counts.tolist(), strict=True)
    unknown = {name: count for name, count in found if count and name not in known}
    if unknown:
        listed = ", ".join(f"{name!r} ({count:,})" for name, count in [*unknown.items()][:_LISTED])
        more = f" and {len(unknown) - _LISTED:,} more" if len(unknown) > _LISTED else ""
        labels = "1 label" if len(unknown) == 1 else f"{len(unknown):,} labels"
        note(f"{labels} that the model does not know, with their rows: {listed}{more}")
    return unknown


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
    unknown = _unknown_entries(data, places, len(names))
    scores, probabilities = np.zeros(shape), np.zeros(shape)
    parts = []
    started = time.perf_counter()
    with shown_progress("evaluating", announced=False) as bar:
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
    if unknown is not None:  # what is predicted where the truth is unknown is neither right nor wrong
        sets = sp.csr_array(sets - sets.multiply(unknown))
        sets.eliminate_zeros()
        sets.sort_indices()
    wanted = [name for name in criteria_for(len(names)) if not find_criterion(name).needs_propensities]
    evaluation = evaluate(Truth(truth, unknown), sets, scores, criteria=wanted)
    calibrated = probabilities if unknown is None else None
    return summarize(evaluation, truth, sets, calibrated, (0.0, seconds)), joint


def _unknown_entries(data: Dataset, places: npt.NDArray[np.int64], n_labels: int) -> sp.csr_array | None:
    """The unknown entries, labels without a column in the file among them; None where all are known."""
    found = getattr(data, "unknown", None)
    return None if found is None else found.moved(places, n_labels).entries


def show_evaluation(
    result: FoldResult,
    data: Dataset,
    criteria: list[str],
    unknown: dict[str, int],
    kept: list[tuple[Promise, Measured]],
    json: bool,
) -> None:
    """Criteria and guarantees, as tables or as JSON."""
    evaluation = result.evaluation
    shown = [name for name in criteria if name in evaluation.values]
    if json:
        values = {name: None if np.isnan(evaluation[name]) else evaluation[name] for name in shown}
        undefined = {name: evaluation.undefined[name] for name in shown}
        facts = {"data": data.name, "rows": evaluation.n_rows, "criteria": values}
        facts |= {"undefined_rows": undefined, "unknown_labels": unknown}
        show_json(facts | ({"guarantees": guarantees.promises_json(kept)} if kept else {}))
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
    if kept:
        Terminal().print(guarantees.promises_table(kept))
        for promise, _ in kept:
            note(str(promise))
