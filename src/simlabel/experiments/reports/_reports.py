"""The reports: on a comparison, on a reproduction, and on a fitted model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.rows import take_rows
from simlabel._utils.text import one_line
from simlabel.datasets import Dataset
from simlabel.experiments._algorithms import find_algorithm
from simlabel.experiments._comparison import Comparison
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._reproduction import Reproduction
from simlabel.experiments._splits import Protocol, as_protocol
from simlabel.experiments.reports import _figures as figures
from simlabel.experiments.reports import _sections as sections
from simlabel.experiments.reports._document import (
    DocumentBlock,
    Example,
    Examples,
    Picture,
    Report,
    Section,
    TextBlock,
)
from simlabel.guarantees import FittedGuarantee, Measured
from simlabel.metrics import CRITERIA

_SHOWN_CLOSELY = ("sml", "autosml")  # algorithms whose tuning and examples are shown
_EXAMPLES, _REASONS = 6, 3


def comparison_report(
    comparison: Comparison,
    data: Sequence[Dataset],
    protocol: Any,
    *,
    criteria: Sequence[str] | None = None,
    seed: int = 0,
) -> Report:
    """Make a report on a comparison.

    Parameters
    ----------
    comparison : Comparison
    data : sequence of Dataset
        The data sets of the comparison.
    protocol : Protocol or splitter
        The protocol of the comparison.
    criteria : sequence of str, optional
        What to show; by default the metrics that were passed to `compare`, or the paper's five.
    seed : int, default=0
        Seed for the selection of examples.

    Returns
    -------
    Report

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from simlabel.experiments import KFolds, compare
    >>> from simlabel.experiments.reports import to_markdown
    >>> Y = sp.csr_array(np.array([[1, 0], [0, 1]] * 6, dtype=np.int8))
    >>> data = Dataset("pairs", np.array([[0.0, 1.0], [1.0, 0.0]] * 6), Y, ("a", "b"), ("x", "y"))
    >>> result = compare(data, ["br"], KFolds(2))
    >>> print(to_markdown(comparison_report(result, [data], KFolds(2))).splitlines()[0])
    # Comparison on pairs
    """
    sets = [one for one in data if one.name in comparison.data_names]
    if not sets:
        failures = "; ".join(map(str, comparison.failures))
        raise ValueError(f"there is nothing to report: no algorithm finished. {failures}")
    criteria = comparison.shown if criteria is None else criteria
    ranking = comparison.ranking(criteria)
    parts = [] if ranking is None else [sections.ranking_section(ranking)]
    for one in sets:
        prefix = f"{one.name}: " if len(sets) > 1 else ""
        found = _data_sections(comparison, one, as_protocol(protocol), criteria, seed)
        parts += [Section(prefix + title, tuple(blocks)) for title, blocks in found.items() if blocks]
    notes = sections.notes(comparison)
    if notes:
        parts.append(Section("Notes", tuple(notes)))
    names = ", ".join(one.name for one in sets)
    return Report(f"Comparison on {names}", comparison.protocol, _facts(comparison, sets), tuple(parts))


def _facts(comparison: Comparison, sets: Sequence[Dataset]) -> tuple[tuple[str, str], ...]:
    folds = len(next(iter(comparison.results.values())))
    common = (("algorithms", str(len(comparison.titles))), ("test parts per data set", str(folds)))
    if len(sets) > 1:
        n_rows = sum(one.n_rows for one in sets)
        return (("data sets", str(len(sets))), ("rows in total", f"{n_rows:,}"), *common)
    (one,) = sets
    return (
        ("rows", f"{one.n_rows:,}"),
        ("features", f"{one.n_attributes:,}"),
        ("labels", f"{one.n_labels:,}"),
        ("labels per row", f"{one.cardinality:.2f}"),
        *common,
    )


def _data_sections(
    comparison: Comparison, data: Dataset, protocol: Protocol, criteria: Sequence[str], seed: int
) -> dict[str, list[DocumentBlock]]:
    """Return the blocks about one data set, by section."""
    name, names = data.name, comparison.algorithms(data.name)
    closely = next((one for one in _SHOWN_CLOSELY if one in names), names[0])
    compared = sections.comparison_tables(comparison, name, criteria)
    found: dict[str, list[DocumentBlock]] = {
        "Comparison": [*compared, sections.time_table(comparison, name)],
        "Spread over the folds": sections.box_plots(comparison, name, criteria),
        **_label_sections(comparison, data, closely),
    }
    if closely in _SHOWN_CLOSELY:
        title = comparison.titles[closely]
        note = (
            f"{title}, fitted on the training rows of the first split; the rows below are from its test rows."
        )
        found[f"A closer look at {title}"] = [TextBlock(note), *_first_split(data, protocol, closely, seed)]
    return found


def _label_sections(comparison: Comparison, data: Dataset, algorithm: str) -> dict[str, list[DocumentBlock]]:
    return {
        "Labels": [
            sections.label_table(comparison, data, algorithm),
            sections.co_occurrence_table(data),
        ],
        "Label set sizes and calibration": [
            sections.size_table(comparison, data.name, algorithm),
            *sections.calibration_plot(comparison, data.name),
        ],
    }


def reproduction_report(reproduction: Reproduction, protocol: Protocol, *, seed: int = 0) -> Report:
    """Make a report on a reproduction: as `comparison_report`, with the paper's values and claims."""
    data = reproduction.data
    page = comparison_report(reproduction.comparison, [data], protocol, seed=seed)
    blocks = (sections.published_table(reproduction), sections.claim_table(reproduction))
    first = Section("The paper's table, reproduced", blocks)
    title = f"The paper's table on {data.name}, reproduced"
    return Report(title, page.subtitle, page.facts, (first, *page.sections))


def evaluation_report(
    model: Any,
    name: str,
    data: Dataset,
    result: FoldResult,
    criteria: Sequence[str] = tuple(CRITERIA),
    measured: Sequence[tuple[FittedGuarantee, Measured]] = (),
) -> Report:
    """Make a report on the predictions of a fitted model for a labeled file.

    Parameters
    ----------
    model : SMLClassifier
        Fitted on label sets or on a frame, so that its labels have names.
    name : str
        Name of the model.
    data : Dataset
        Rows and true labels; its first labels are those of the model, in the same order.
    result : FoldResult
        The evaluation.
    criteria : sequence of str
        What to show.
    measured : sequence of (FittedGuarantee, Measured)
        Guarantees, with their values on the file.

    Returns
    -------
    Report
    """
    comparison = Comparison("one file", {"model": name}, {(data.name, "model"): (result,)})
    found: dict[str, list[DocumentBlock]] = {
        "Criteria": [*sections.comparison_tables(comparison, data.name, criteria)]
    }
    if measured:
        statements = [TextBlock(one_line(fitted_guarantee)) for fitted_guarantee, _ in measured]
        found["Sets with a guarantee"] = [sections.guarantee_table(measured), *statements]
    found |= _label_sections(comparison, data, "model")
    rows = np.random.default_rng(0).permutation(data.n_rows)[:_EXAMPLES]
    names = [str(label) for label in model.classes_]
    found["A closer look"] = [*_tuning_curve(model), _examples(model, data, rows, names)]
    facts = (
        ("rows", f"{data.n_rows:,}"),
        ("labels", f"{data.n_labels:,}"),
        ("labeled rows in the model", f"{model.n_references_:,}"),
    )
    parts = tuple(Section(title, tuple(blocks)) for title, blocks in found.items())
    return Report(f"{name} on {data.name}", str(model.similarity_), facts, parts)


def _first_split(data: Dataset, protocol: Protocol, algorithm: str, seed: int) -> list[DocumentBlock]:
    """Fit on the training rows of the first split, and show the tuning and some of its test rows."""
    split = protocol.splits(data)[0]
    model = find_algorithm(algorithm, seed=seed, n_jobs=1).estimator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SimlabelWarning)  # the comparison has those of all splits
        model.fit(data.X[split.train], data.Y[split.train])
    model = getattr(model, "best_estimator_", model)  # the choice of AutoSML
    rows = np.random.default_rng(seed).permutation(split.test)[:_EXAMPLES]
    names = [str(name) for name in data.label_names]
    described = {
        place: f"row {row} ({', '.join(names[k] for k in data.Y[[row]].indices) or 'no label'})"
        for place, row in enumerate(split.train.tolist())
    }
    return [*_tuning_curve(model, " on the first split"), _examples(model, data, rows, names, described)]


def _tuning_curve(model: Any, where: str = "") -> list[DocumentBlock]:
    """Return the tuning curve if exactly one parameter was tuned."""
    tuning = getattr(model, "tuning_", None)
    if tuning is None or len(tuning.parameters) != 1:
        return []
    parameter = tuning.parameters[0]
    curve: pd.DataFrame = tuning.to_frame()
    curve = curve[curve[tuning.criterion].notna()]
    best = tuning.best[parameter]
    if len(curve) < 2 or not (curve[parameter] > 0).all():
        return []
    name = parameter.rpartition("__")[2]
    caption = f"Tuning curve{where}: {name} = {best:.4g} was selected; bars are standard errors"
    return [Picture(figures.tuning_plot(curve, parameter, tuning.criterion, best), caption)]


def _examples(
    model: Any, data: Dataset, rows: Any, names: Sequence[str], described: Mapping[Any, str] | None = None
) -> DocumentBlock:
    """Return predicted and true labels of some rows, and the references that determine them.

    Parameters
    ----------
    model : SMLClassifier
    data : Dataset
    rows : array of int
    names : sequence of str
        The labels of the model, in the order of its `classes_`.
    described : dict of id to str, optional
        Descriptions of the references.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        X = data.X.iloc[rows] if hasattr(data.X, "iloc") else take_rows(data.X, rows)  # a table is a frame
        explanation = model.explain(X, top=_REASONS)
    found = []
    for query, row in enumerate(rows.tolist()):
        true = {str(data.label_names[k]) for k in data.Y[[row]].indices}
        predicted = [names[k] for k in explanation.chosen[query]]
        found.append(
            Example(
                explanation.titles[query] or f"Row {row}",
                tuple((name, name in true) for name in predicted),
                tuple(sorted(true - set(predicted))),
                tuple(_reasons(explanation, query, names, described or {})),
            )
        )
    return Examples(tuple(found))


def _reasons(
    explanation: Any, query: int, names: Sequence[str], described: Mapping[Any, str]
) -> Iterator[str]:
    """Yield sentences for a raw table, else the references of the strongest label with their shares."""
    if explanation.has_words:
        yield from (each.sentence for each in explanation.texts[query])
        return
    for column in explanation.chosen[query][:1]:
        whole = explanation.terms.absolute[query, column]
        for reference, contribution in explanation.contributors(query, column):
            side = "for" if contribution > 0 else "against"
            share = f"{abs(contribution) / whole:.1%} {side} {names[column]}"
            yield f"{described.get(reference, f'row {reference}')}: {share}"
