"""What the command `evaluate` does: criteria and guarantees of a model on labeled rows."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.progress import progress_bar
from simlabel._utils.rows import blocks
from simlabel._utils.text import format_names
from simlabel.cli._console import count, note, show_json, show_report_table, show_table
from simlabel.cli._models import FittedModel, extract_label_sets
from simlabel.cli._rows import BLOCK
from simlabel.datasets import Dataset
from simlabel.experiments import FoldResult, criteria_for, summarize
from simlabel.experiments.reports import guarantee_table
from simlabel.guarantees import FittedGuarantee, Guarantee, Measured
from simlabel.labels import moved
from simlabel.metrics import Truth, evaluate, find_criterion

_MOST_LABELS = 10  # unknown labels that are listed


def unknown_labels(fitted: FittedModel, data: Dataset) -> dict[str, int]:
    """Return the labels that the model does not know, with their numbers of rows, and print them."""
    known, counts = set(fitted.labels), np.asarray(data.Y.sum(axis=0))
    found = zip(map(str, data.label_names), counts.tolist(), strict=True)
    unknown = {name: rows for name, rows in found if rows and name not in known}
    if unknown:
        listed = format_names([f"{name!r} ({rows:,})" for name, rows in unknown.items()], _MOST_LABELS)
        note(f"{count(len(unknown), 'label')} that the model does not know, with their rows: {listed}")
    return unknown


def evaluate_model(fitted: FittedModel, data: Dataset) -> tuple[FoldResult, Dataset]:
    """Compute all criteria; return also the data with the labels of the model before those of the file."""
    n_known = len(fitted.labels)
    extra = [name for name in map(str, data.label_names) if name not in set(fitted.labels)]
    names = [*fitted.labels, *extra]
    position = {name: k for k, name in enumerate(names)}
    places = np.array([position[str(name)] for name in data.label_names], dtype=np.int64)
    shape = (data.n_rows, len(names))
    truth = moved(data.Y, places, len(names))
    scores, probabilities = np.zeros(shape), np.zeros(shape)
    parts = []
    started = time.perf_counter()
    with progress_bar("evaluating", announced=False) as bar:
        for part in blocks(data.n_rows, BLOCK):
            outputs = fitted.outputs(data.X[part])
            scores[part, :n_known] = outputs.weights
            scores[part, n_known:] = outputs.weights.min() - 1.0  # labels that the model lacks rank last
            probabilities[part, :n_known] = outputs.probabilities
            parts.append(outputs.sets)
            bar(part.stop, data.n_rows, "evaluating")
    seconds = time.perf_counter() - started
    sets = sp.vstack(parts, format="csr")
    sets.resize(shape)
    found = getattr(data, "unknown", None)
    # labels without a column in the file are unknown, too
    unknown = None if found is None else found.moved(places, len(names)).entries
    if unknown is not None:  # predictions of unknown entries are neither right nor wrong
        sets = sp.csr_array(sets - sets.multiply(unknown))
        sets.eliminate_zeros()
    sets.sort_indices()
    criteria = [name for name in criteria_for(len(names)) if not find_criterion(name).needs_propensities]
    evaluation = evaluate(Truth(truth, unknown), sets, scores, criteria=criteria)
    result = summarize(evaluation, truth, sets, probabilities if unknown is None else None, (0.0, seconds))
    return result, replace(data, Y=truth, label_names=tuple(names))


def measure_guarantees(
    fitted: FittedModel, guarantees: Sequence[Guarantee], data: Dataset
) -> list[tuple[FittedGuarantee, Measured]]:
    """Return for each guarantee what is promised, and what is measured on labeled rows."""
    truths = extract_label_sets(data)
    found = []
    for guarantee in guarantees:
        fitted_guarantee = fitted.estimator.guarantee(guarantee)
        sets = []
        for part in blocks(data.n_rows, BLOCK):
            sets += fitted.guaranteed_sets(fitted_guarantee, data.X[part])
        found.append((fitted_guarantee, guarantee.measure(truths, sets)))
    return found


def show_as_tables(
    result: FoldResult,
    data: Dataset,
    criteria: Sequence[str],
    measured: Sequence[tuple[FittedGuarantee, Measured]],
) -> None:
    """Print criteria and guarantees as tables."""
    evaluation = result.evaluation
    rows = []
    for name in [name for name in criteria if name in evaluation.values]:
        value = "undefined" if np.isnan(evaluation[name]) else f"{evaluation[name]:.4f}"
        rows.append((find_criterion(name).heading, value, str(evaluation.undefined[name] or "")))
    title = f"{data.name}: {evaluation.n_rows:,} rows, {data.n_labels:,} labels"
    show_table(["Criterion", "Value", "Rows left out: undefined"], rows, title)
    if measured:
        show_report_table(guarantee_table(measured))
        for fitted_guarantee, _ in measured:
            note(str(fitted_guarantee))


def show_as_json(
    result: FoldResult,
    data: Dataset,
    criteria: Sequence[str],
    unknown: dict[str, int],
    measured: Sequence[tuple[FittedGuarantee, Measured]],
) -> None:
    """Print criteria and guarantees as JSON."""
    evaluation = result.evaluation
    shown = [name for name in criteria if name in evaluation.values]
    facts: dict[str, Any] = {
        "data": data.name,
        "rows": evaluation.n_rows,
        "criteria": {name: _defined(evaluation[name]) for name in shown},
        "undefined_rows": {name: evaluation.undefined[name] for name in shown},
        "unknown_labels": unknown,
    }
    if measured:
        facts["guarantees"] = {
            fitted_guarantee.guarantee.name: {
                "guaranteed": _defined(one.guaranteed),
                "measured": _defined(one.value),
                "standard_error": _defined(one.error),
                "size": _defined(one.size),
                "abstained": one.abstained,
                "statement": fitted_guarantee.statement,
                "caveats": list(fitted_guarantee.caveats),
            }
            for fitted_guarantee, one in measured
        }
    show_json(facts)


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
