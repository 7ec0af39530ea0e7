"""Describe a fitted classifier, and warn about predictions that say little."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.advice import DataWarning, PredictionWarning, warn_user
from simlabel._utils.text import element, escaped, for_terminal, format_names, html_table
from simlabel._utils.validation import IntArray, Rows
from simlabel.labels import LabelSpace, suspicious_name
from simlabel.metrics import find_criterion
from simlabel.model import Model, describe_probabilities
from simlabel.model.inspection import rounded_row_keys

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderResult

_SHOWN_ROWS = 30  # of a table
_FEWEST_QUERIES = 100  # fewer may well be similar
_NEARLY_ALL, _USUAL = 0.98, 0.5  # shares of predictions, and of labeled rows, with one label set
_LITTLE = 0.1  # of the variance of labels: probabilities that vary less do not depend on the query


@dataclass(frozen=True)
class Description:
    """Facts about a fitted model, and tables of what was detected or tried.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        Names and values.
    tables : tuple of (str, DataFrame)
        Captions and tables.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, pd.DataFrame], ...] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        yield Text(for_terminal(self.title), style="bold")
        facts = Table.grid(padding=(0, 2))
        for name, value in self.facts:
            facts.add_row(Text(f"  {for_terminal(name)}"), Text(for_terminal(value)))
        yield facts
        for caption, frame in self.tables:
            columns, rows = _cells(frame)
            shown = Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
            for row in rows:
                shown.add_row(*(Text(for_terminal(cell)) for cell in row))
            yield Text(for_terminal(caption), style="italic")
            yield shown

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=110, no_color=True).print(self)
        return text.getvalue()

    def _repr_html_(self) -> str:
        facts = html_table(["what", "value"], [[escaped(name), escaped(value)] for name, value in self.facts])
        parts = [element("h4", escaped(self.title)), facts]
        for caption, frame in self.tables:
            columns, rows = _cells(frame)
            parts.append(html_table(columns, [[escaped(cell) for cell in row] for row in rows], caption))
        return element("div", "".join(parts))


def _cells(frame: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the first rows of a table as texts, floats with four digits."""
    rows = frame.head(_SHOWN_ROWS).astype(object).to_numpy()
    cells = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    return list(map(str, frame.columns)), cells


def describe(estimator: Any, model: Model) -> Description:
    """Describe a fitted estimator by its model and its search."""
    import pandas as pd

    tables = []
    if model.encoder is not None:
        columns, leaf = model.encoder.to_frame(), model.numeric_rbf
        if leaf is not None:  # numbers weigh as much as their RBF
            columns.loc[columns["kind"].isin(["number", "date"]), "weight"] = leaf.factor
        tables.append(("Columns", columns))
    names, Y = model.labels.classes.tolist(), model.scorer.references.Y
    counts = np.bincount(Y.indices, minlength=len(names))
    order = np.argsort(-counts, kind="stable").tolist()
    known = frozenset(names)
    labels = [(names[k], int(counts[k]), suspicious_name(names[k], known)) for k in order]
    tables.append(("Labels", pd.DataFrame(labels, columns=["label", "rows", "looks wrong"])))
    if hasattr(estimator, "leaderboard_"):
        tables.append(("What was tried", estimator.leaderboard_))
    return Description(type(estimator).__name__, tuple(_facts(estimator, model)), tuple(tables))


def _facts(estimator: Any, model: Model) -> Iterator[tuple[str, str]]:
    scorer, stages = model.scorer, model.scorer.stages
    yield "labeled instances", f"{scorer.references.n_rows:,}"
    yield "labels", f"{len(model.labels.classes):,}"
    if model.encoder is None:
        yield "normalizer", repr(model.normalizer)
    yield "similarity", _similarity(model)
    if stages.weighting is not None:
        yield "weighting", repr(stages.weighting)
    yield "influence", repr(stages.influence)
    if model.labels.kind != "single":
        yield "label rule", repr(model.rule)
    yield "calibration", repr(model.calibration)
    yield (
        "probabilities",
        describe_probabilities(model, estimator.calibration).removeprefix("probabilities are "),
    )
    named = {"label column": "label_column_", "label separator": "label_separator_", "title": "title_column_"}
    for what, name in named.items():
        if getattr(estimator, name, None) is not None:
            yield what, repr(getattr(estimator, name))
    curve = getattr(estimator, "tuning_", None)
    if curve is not None and curve.candidates:
        try:
            criterion = find_criterion(curve.criterion).title
        except ValueError:  # a function
            criterion = curve.criterion
        yield f"{criterion}, leave-one-out", f"{curve.best_value:.4f}"


def _similarity(model: Model) -> str:
    """Describe the similarity, and for a table how numbers are compared."""
    similarity, leaf = model.scorer.stages.similarity, model.numeric_rbf
    if leaf is not None:
        return f"inner products, and numbers and dates also by RBF(gamma={leaf.similarity.gamma:.4g})"
    if not model.uses_term_products or model.encoder is None:
        return repr(similarity)
    return "inner products" + ", numbers and dates as splines" * bool(len(model.encoder.numeric_slots))


def warn_about_equal_sets(model: Model, X: Rows, sets: sp.csr_array) -> None:
    """Warn if nearly all queries get the same labels though they differ.

    Equal queries are no reason to warn: only if probabilities are the frequencies of the labels for every
    query, or all similarities are 0, the model does not tell the queries apart.

    Parameters
    ----------
    X : rows
        Checked queries.
    sets : csr_array, (n_queries, n_labels)
        Their predicted label sets.
    """
    n, references = sets.shape[0], model.scorer.references
    if n < _FEWEST_QUERIES:
        return
    codes = np.random.default_rng(0).integers(2**62, size=sets.shape[1])
    keys = _set_keys(sets, codes)
    found, first, counts = np.unique(keys, return_index=True, return_counts=True)
    top = int(np.argmax(counts))
    if counts[top] < _NEARLY_ALL * n:
        return
    same = _set_keys(references.imputed_Y, codes) == found[top]
    share = float(references.weights[same].sum() / references.weights.sum())
    if share > _USUAL or not _is_uninformative(model, X[:_FEWEST_QUERIES]):
        return
    labels = sets.indices[sets.indptr[first[top]] : sets.indptr[first[top] + 1]]
    names = [repr(name) for name in model.labels.classes[np.sort(labels)].tolist()]
    learned = model.scorer.stages.influence.learned
    change = "normalizer='zscore'" if learned else "normalizer='zscore', influence='ridge'"
    warn_user(
        f"nearly all rows get the same labels, {format_names(names) or 'no label'}, which {share:.0%} of the "
        f"labeled rows have: the model hardly tells rows apart. Try {change} or AutoSMLClassifier().",
        PredictionWarning,
    )


def _set_keys(Y: sp.csr_array, codes: IntArray) -> IntArray:
    """Return a number for each label set, independent of the order of its labels."""
    return np.asarray(sp.csr_array((np.ones(Y.nnz, np.int64), Y.indices, Y.indptr), Y.shape) @ codes)


def _is_uninformative(model: Model, X: Rows) -> bool:
    """Whether different queries have the same probabilities as labels have overall, or no weight at all."""
    in_memory = isinstance(X, np.ndarray) or sp.issparse(X)
    if in_memory and len(np.unique(rounded_row_keys(X))) < _FEWEST_QUERIES // 2:
        return False
    outputs, references = model.outputs(X), model.scorer.references
    if not outputs.weights.any():
        return True
    base_rate = references.imputed_Y.T @ references.weights / references.weights.sum()
    difference = float(np.abs(outputs.probabilities - base_rate).mean())
    return difference <= _LITTLE * float((2.0 * base_rate * (1.0 - base_rate)).mean())


def warn_about_unknown(labels: LabelSpace, y: Any, n_rows: int) -> None:
    """Warn that some rows of a test set have labels that the model does not know."""
    known = set(labels.classes.tolist())
    names = [repr(name) for name in labels.read(y)[0].classes.tolist() if name not in known]
    warn_user(
        f"{n_rows:,} of the rows have labels that the model does not know, and count as wrong: "
        f"{format_names(names)}. Add them with partial_fit, or correct their spelling.",
        DataWarning,
    )
