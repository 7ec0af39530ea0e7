"""Sections of a report, each from a comparison and its data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simlabel._utils.text import one_line
from simlabel.datasets import Dataset
from simlabel.experiments._comparison import Comparison
from simlabel.experiments._reproduction import Reproduction
from simlabel.experiments._statistics import Ranking
from simlabel.experiments.reports import _figures as figures
from simlabel.experiments.reports import _summaries as summaries
from simlabel.experiments.reports._page import Block, Cell, Picture, Pictures, Section, Text, table
from simlabel.guarantees import Measured, Promise
from simlabel.metrics import find_criterion

_LABELS_OPEN, _LABELS_TOGETHER = 30, 20  # labels in a table before it is folded; in the co-occurrence table
_ACROSS, _SIZES = 5, 15  # criteria, and numbers of labels, that fit beside each other on a page

_ONE_SET = ", but it gives every row the same labels, so this says little"


def figure_text(mean: float, std: float) -> str:
    """Mean and deviation to three digits."""
    if math.isnan(mean):
        return "-"
    return f"{mean:.3f}" if math.isnan(std) else f"{mean:.3f} ± {std:.3f}"


def comparison_tables(comparison: Comparison, data: str, criteria: Sequence[str]) -> list[Block]:
    """Each criterion's figures, as many tables as the width of a page asks for."""
    shown = [criterion for criterion in criteria if criterion in comparison.criteria(data)]
    parts = [shown[start : start + _ACROSS] for start in range(0, len(shown), _ACROSS)]
    return [_comparison_table(comparison, data, part) for part in parts]


def _comparison_table(comparison: Comparison, data: str, shown: Sequence[str]) -> Block:
    best = {criterion: comparison.best(data, criterion) for criterion in shown}
    rows = []
    for name in comparison.algorithms(data):
        series = comparison.of(data, name)
        cells = [
            Cell(
                figure_text(series.mean(criterion), series.std(criterion)),
                name in best[criterion] and len(comparison.algorithms(data)) > 1,
            )
            for criterion in shown
        ]
        rows.append([comparison.titles[name], *cells])
    spread = "; mean ± standard deviation" if comparison.n_folds(data) > 1 else ""
    bold = "; best in bold" if len(rows) > 1 else ""
    caption = f"{data}: {comparison.protocol}{spread}{bold}"
    return table(["Algorithm", *(comparison.metric(criterion).heading for criterion in shown)], rows, caption)


def box_plots(comparison: Comparison, data: str, criteria: Sequence[str]) -> Block | None:
    """How the folds spread; None where there are too few of them."""
    names = comparison.algorithms(data)
    if comparison.n_folds(data) < 3:
        return None
    pictures = []
    for criterion in criteria:
        if criterion not in comparison.criteria(data):
            continue
        values = {comparison.titles[name]: comparison.of(data, name).values(criterion) for name in names}
        values = {name: folds[~np.isnan(folds)] for name, folds in values.items()}
        shown = comparison.metric(criterion)
        pictures.append(Picture(figures.box_plot(values, shown.title), shown.heading))
    return Pictures(tuple(pictures))


def ranking_section(ranking: Ranking) -> Section:
    """Mean ranks over the data sets, with the tests."""
    blocks: list[Block] = [Text(line) for line in str(ranking).splitlines()]
    picture = figures.rank_plot(ranking) if not math.isnan(ranking.friedman) else None
    if picture is not None:
        caption = "Critical-difference diagram: algorithms under one bar are not told apart by Nemenyi's test"
        blocks.append(Picture(picture, caption))
    ranks = [[name, f"{rank:.2f}"] for name, rank in ranking.mean_ranks.items()]
    blocks.append(table(["Algorithm", "Mean rank ↓"], ranks, f"Mean ranks by {ranking.title}; 1 is best"))
    pairs = [[pair.first, pair.second, f"{pair.p_value:.3g}", f"{pair.p_holm:.3g}"] for pair in ranking.pairs]
    caption = "Wilcoxon's signed-rank test for each pair, and with Holm's correction"
    blocks.append(table(["First", "Second", "p", "p (Holm)"], pairs, caption, folded=len(pairs) > 10))
    return Section("Over all data sets", tuple(blocks))


def label_table(comparison: Comparison, data: Dataset, algorithm: str) -> Block:
    """Precision, recall, F1 and support of each label, the most frequent first."""
    scores = summaries.label_scores(comparison.results[data.name, algorithm])
    rows = [
        [
            str(data.label_names[k]),
            *(_share(values[k]) for values in (scores.precision, scores.recall, scores.f1)),
            f"{scores.support[k]:,}",
        ]
        for k in np.argsort(-scores.support, kind="stable")
    ]
    caption = f"{comparison.titles[algorithm]} on each label{_together(comparison, data.name)}"
    headings = ["Label", "Precision", "Recall", "F1", "Support"]
    return table(headings, rows, caption, folded=len(rows) > _LABELS_OPEN)


def _together(comparison: Comparison, data: str) -> str:
    return ", all folds together" if comparison.n_folds(data) > 1 else ""


def _share(value: float) -> Cell:
    return Cell("-") if math.isnan(value) else Cell(f"{value:.3f}", heat=float(value))


def size_table(comparison: Comparison, data: str, algorithm: str) -> Block:
    """True against predicted number of labels; the largest that a page has no room for are one."""
    sizes, counts = summaries.size_confusion(comparison.results[data, algorithm])
    names = [*map(str, sizes)]
    if len(sizes) > _SIZES:
        names = [*names[: _SIZES - 1], f"{sizes[_SIZES - 1]}+"]
        starts = np.arange(_SIZES)
        counts = np.add.reduceat(np.add.reduceat(counts, starts, axis=0), starts, axis=1)
    totals = np.maximum(counts.sum(axis=1), 1)
    rows = [
        [name, *(Cell(f"{n:,}" if n else "·", heat=float(n / totals[i])) for n in counts[i])]
        for i, name in enumerate(names)
    ]
    title = comparison.titles[algorithm]
    caption = f"{title}: rows by their true number of labels (down) and the predicted number (across)"
    return table(["True \\ predicted", *names], rows, caption)


def co_occurrence_table(data: Dataset) -> Block:
    """Which labels come together."""
    labels, shares = summaries.co_occurrence(data, _LABELS_TOGETHER)
    names = [figures.short(str(data.label_names[k])) for k in labels]
    rows = [
        [name, *(Cell(f"{value:.2f}" if value else "·", heat=float(value)) for value in shares[i])]
        for i, name in enumerate(names)
    ]
    most = f" (the {len(labels)} most frequent)" if len(labels) < data.n_labels else ""
    caption = f"Share of the instances with a label (down) that have another one too (across){most}"
    return table(["Label", *names], rows, caption, upright=True)


def calibration_block(comparison: Comparison, data: str) -> Block | None:
    """Curves of all algorithms that give probabilities, and how far they are from the diagonal."""
    curves, errors = {}, []
    for name in comparison.algorithms(data):
        folds = comparison.results[data, name]
        found = summaries.calibration(folds)
        if found is not None:
            title = comparison.titles[name]
            curves[title] = found.predicted, found.observed
            same = summaries.gives_one_set(folds)
            errors.append(f"{title} {_calibration_text(found)}{_ONE_SET if same else ''}")
    if not curves:
        return None
    caption = (
        f"Calibration, in bins with at least {summaries.ENOUGH_PAIRS} pairs of row and label. "
        f"Largest distance from the diagonal: {'; '.join(errors)}"
    )
    return Picture(figures.calibration_plot(curves), caption)


def _calibration_text(found: summaries.Calibration) -> str:
    """The bin that is farthest off, and the mean, which the many pairs near probability 0 dominate."""
    at = found.worst
    said, true = found.predicted[at], found.observed[at]
    return (
        f"{abs(said - true):.3f} (where it says {said:.2f}, {true:.2f} are true, {found.counts[at]:,} pairs; "
        f"mean over all pairs, ECE: {found.expected_error:.3f})"
    )


def promise_blocks(kept: Sequence[tuple[Promise, Measured]]) -> list[Block]:
    """Guarantees: promised beside measured, and on what they rest."""
    headings = ["Guarantee", "Promised", "Measured", "Labels in a set", "Left to a person", "Lowest label"]
    rows = []
    for promise, one in kept:
        lowest = "" if one.lowest is None else f"{one_line(str(one.lowest[0]))}: {one.lowest[1]:.3f}"
        size = "-" if math.isnan(one.size) else f"{one.size:.2f}"
        share = figure_text(one.value, one.error)
        rows.append([promise.guarantee.name, f"{one.promised:g}", share, size, f"{one.abstained:,}", lowest])
    caption = "What was promised from the labelled rows, and measured on this file; ± one standard error"
    return [table(headings, rows, caption), *(Text(one_line(str(promise))) for promise, _ in kept)]


def time_table(comparison: Comparison, data: str) -> Block:
    """Seconds, of all folds together."""
    rows = []
    for name in comparison.algorithms(data):
        folds = comparison.results[data, name]
        seconds = (sum(fold.fit_seconds for fold in folds), sum(fold.predict_seconds for fold in folds))
        rows.append([comparison.titles[name], *(f"{value:.1f}" for value in seconds)])
    return table(["Algorithm", "Fit (s)", "Predict (s)"], rows, f"Time{_together(comparison, data)}")


def notes_blocks(comparison: Comparison) -> list[Block]:
    """What was left out, and what the algorithms warned about."""
    blocks: list[Block] = [Text(f"Left out: {failure}") for failure in comparison.failures]
    rows = []
    for (data, name), folds in comparison.results.items():
        notes = dict.fromkeys(one_line(note) for fold in folds for note in fold.notes)
        rows += [[data, comparison.titles[name], note] for note in notes]
    if rows:
        caption = "Warnings of the algorithms, each once"
        blocks.append(table(["Data set", "Algorithm", "Warning"], rows, caption, folded=True))
    return blocks


def published_section(reproduction: Reproduction) -> Section:
    """Published beside measured, and the claims."""
    agrees = {True: "yes", False: "no", None: "-"}
    rows = [
        [
            row.algorithm,
            find_criterion(row.criterion).heading,
            "-" if row.published is None else str(row.published),
            str(row.measured),
            agrees[row.agrees],
        ]
        for row in reproduction.rows()
    ]
    headings = ["Algorithm", "Criterion", "Published", "Measured", "Within one std"]
    blocks: list[Block] = [table(headings, rows, "The paper's figures and ours, mean ± standard deviation")]
    claims = [[claim.text, Cell(claim.verdict, best=True), claim.because] for claim in reproduction.claims()]
    blocks.append(
        table(
            ["The paper says", "Verdict", "Because"],
            claims,
            "The paper's claims, judged by what was measured",
        )
    )
    return Section("The paper's table, run again", tuple(blocks))
