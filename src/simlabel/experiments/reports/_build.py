"""From results to a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from simlabel.datasets import Dataset
from simlabel.experiments._comparison import Comparison
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._protocols import Protocol, as_protocol
from simlabel.experiments._reproduction import Reproduction
from simlabel.experiments.reports import _sections as sections
from simlabel.experiments.reports._page import Block, Report, Section, Text
from simlabel.experiments.reports._showcase import model_showcase, showcase
from simlabel.guarantees import Measured, Promise
from simlabel.metrics import CRITERIA

_SHOWN_CLOSELY = ("sml", "autosml")  # whose tuning and examples are shown


def comparison_report(
    comparison: Comparison,
    data: Sequence[Dataset],
    protocol: Any,
    *,
    criteria: Sequence[str] | None = None,
    seed: int = 0,
) -> Report:
    """A report on a comparison.

    Parameters
    ----------
    comparison : Comparison
    data : sequence of Dataset
        The sets that it was run on.
    protocol : Protocol or splitter
        As it was run.
    criteria : sequence of str, optional
        What to show; by default the metrics that `compare` was asked for, or the paper's five.
    seed : int
        For the choice of examples.

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
        raise ValueError(f"there is nothing to report on: no algorithm ran through. {failures}")
    parts = []
    criteria = comparison.shown if criteria is None else criteria
    ranking = comparison.ranking(criteria)
    if ranking is not None:
        parts.append(sections.ranking_section(ranking))
    for one in sets:
        parts += data_sections(
            comparison, one, as_protocol(protocol), criteria, seed, with_name=len(sets) > 1
        )
    notes = sections.notes_blocks(comparison)
    if notes:
        parts.append(Section("Notes", tuple(notes)))
    names = ", ".join(one.name for one in sets)
    return Report(f"Comparison on {names}", comparison.protocol, _facts(comparison, sets), tuple(parts))


def reproduction_report(reproduction: Reproduction, protocol: Protocol, *, seed: int = 0) -> Report:
    """A report on one of the paper's tables, run again: as `comparison_report`, and the paper's figures."""
    data, comparison = reproduction.data, reproduction.comparison
    page = comparison_report(comparison, [data], protocol, seed=seed)
    title = f"The paper's table on {data.name}, run again"
    first = sections.published_section(reproduction)
    return Report(title, page.subtitle, page.facts, (first, *page.sections))


def evaluation_report(
    model: Any,
    name: str,
    data: Dataset,
    result: FoldResult,
    criteria: Sequence[str] = tuple(CRITERIA),
    kept: Sequence[tuple[Promise, Measured]] = (),
) -> Report:
    """A report on a fitted model's predictions for a labelled file.

    Parameters
    ----------
    model : SMLClassifier
        Fitted on label sets or on a frame, so that its labels have names.
    name : str
        What the model is called.
    data : Dataset
        Rows and true labels; its first labels are the model's, in their order.
    result : FoldResult
        What came out.
    criteria : sequence of str
        What to show.
    kept : sequence of (Promise, Measured)
        Guarantees, with what the file says of them.
    """
    comparison = Comparison("one file", {"model": name}, {(data.name, "model"): (result,)})
    shown = model_showcase(model, data)
    values = sections.comparison_tables(comparison, data.name, criteria)
    labels = [sections.label_table(comparison, data, "model"), sections.co_occurrence_table(data)]
    sizes = [
        sections.size_table(comparison, data.name, "model"),
        sections.calibration_block(comparison, data.name),
    ]
    parts = (
        _section("Criteria", values),
        *([_section("Sets with a guarantee", sections.promise_blocks(kept))] if kept else []),
        _section("Labels", labels),
        _section("Numbers of labels and probabilities", sizes),
        _section("A closer look", [shown.tuning, shown.examples]),
    )
    facts = (
        ("rows", f"{data.n_rows:,}"),
        ("labels", f"{data.n_labels:,}"),
        ("labelled instances in the model", f"{model.n_references_:,}"),
    )
    return Report(f"{name} on {data.name}", str(model.similarity_), facts, parts)


def _facts(comparison: Comparison, sets: Sequence[Dataset]) -> tuple[tuple[str, str], ...]:
    folds = len(next(iter(comparison.results.values())))
    if len(sets) > 1:
        return (
            ("data sets", str(len(sets))),
            ("rows in all", f"{sum(one.n_rows for one in sets):,}"),
            ("algorithms", str(len(comparison.titles))),
            ("test parts each", str(folds)),
        )
    (one,) = sets
    return (
        ("rows", f"{one.n_rows:,}"),
        ("features", f"{one.n_attributes:,}"),
        ("labels", f"{one.n_labels:,}"),
        ("labels per row", f"{one.cardinality:.2f}"),
        ("algorithms", str(len(comparison.titles))),
        ("test parts", str(folds)),
    )


def data_sections(
    comparison: Comparison,
    data: Dataset,
    protocol: Protocol,
    criteria: Sequence[str],
    seed: int,
    *,
    with_name: bool,
) -> list[Section]:
    """All that is shown of one data set."""
    name, prefix = data.name, f"{data.name}: " if with_name else ""
    names = comparison.algorithms(name)
    closely = next((one for one in _SHOWN_CLOSELY if one in names), names[0])
    title = comparison.titles[closely]
    compared = sections.comparison_tables(comparison, name, criteria)
    boxes = sections.box_plots(comparison, name, criteria)
    labels = [sections.label_table(comparison, data, closely), sections.co_occurrence_table(data)]
    sizes: list[Block | None] = [
        sections.size_table(comparison, name, closely),
        sections.calibration_block(comparison, name),
    ]
    parts = [
        _section(f"{prefix}Comparison", [*compared, sections.time_table(comparison, name)]),
        _section(f"{prefix}Spread over the folds", [boxes]),
        _section(f"{prefix}Labels", labels),
        _section(f"{prefix}Numbers of labels and probabilities", sizes),
    ]
    if closely in _SHOWN_CLOSELY:
        shown = showcase(data, protocol, closely, seed)
        note = Text(
            f"{title}, fitted on the first split's training rows; the rows below are from its test part."
        )
        parts.append(_section(f"{prefix}A closer look at {title}", [note, shown.tuning, shown.examples]))
    return [section for section in parts if section.blocks]


def _section(title: str, blocks: Sequence[Block | None]) -> Section:
    return Section(title, tuple(block for block in blocks if block is not None))
