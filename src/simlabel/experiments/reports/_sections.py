"""The tables, drawings and texts of a report, each from a comparison and its data."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from simlabel._utils.text import one_line
from simlabel._utils.validation import FloatArray
from simlabel.datasets import Dataset
from simlabel.experiments._comparison import Comparison, Ranking
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._reproduction import Reproduction
from simlabel.experiments.reports import _figures as figures
from simlabel.experiments.reports._document import (
    DocumentBlock,
    Picture,
    Pictures,
    Section,
    Table,
    TableCell,
    TextBlock,
    table,
)
from simlabel.guarantees import FittedGuarantee, Measured
from simlabel.metrics import find_criterion

_LABELS_OPEN, _LABELS_TOGETHER = 30, 20  # labels in a table before it is folded; in the co-occurrence table
_ACROSS, _SIZES = 5, 15  # criteria, and numbers of labels, that fit next to each other on a page
_FEWEST_PAIRS = 30  # pairs of row and label in a bin of the calibration curve


def _mean_text(mean: float, std: float) -> str:
    if math.isnan(mean):
        return "-"
    return f"{mean:.3f}" if math.isnan(std) else f"{mean:.3f} ± {std:.3f}"


def comparison_tables(
    comparison: Comparison, data: str, criteria: Sequence[str], per_table: int = _ACROSS
) -> list[Table]:
    """Return tables of the criteria of each algorithm on one data set, the best values in bold."""
    names = comparison.algorithms(data)
    spread = "; mean ± standard deviation" if comparison.n_folds(data) > 1 else ""
    caption = f"{data}: {comparison.protocol}{spread}{'; best in bold' if len(names) > 1 else ''}"
    shown = [criterion for criterion in criteria if criterion in comparison.criteria(data)]
    tables = []
    for start in range(0, len(shown), per_table):
        part = shown[start : start + per_table]
        rows = []
        for name in names:
            series = comparison.of(data, name)
            cells = [
                TableCell(
                    _mean_text(series.mean(criterion), series.std(criterion)),
                    name in comparison.best(data, criterion) and len(names) > 1,
                )
                for criterion in part
            ]
            rows.append([comparison.titles[name], *cells])
        headings = ["Algorithm", *(comparison.metric(criterion).heading for criterion in part)]
        tables.append(table(headings, rows, caption))
    return tables


def box_plots(comparison: Comparison, data: str, criteria: Sequence[str]) -> list[DocumentBlock]:
    """Return a box plot per criterion over the folds, if there are enough of them."""
    if comparison.n_folds(data) < 3:
        return []
    series = {comparison.titles[name]: comparison.of(data, name) for name in comparison.algorithms(data)}
    pictures = []
    for criterion in [criterion for criterion in criteria if criterion in comparison.criteria(data)]:
        values = {title: one.values(criterion) for title, one in series.items()}
        values = {title: folds[~np.isnan(folds)] for title, folds in values.items()}
        shown = comparison.metric(criterion)
        pictures.append(Picture(figures.box_plot(values, shown.title), shown.heading))
    return [Pictures(tuple(pictures))]


def ranking_section(ranking: Ranking) -> Section:
    """Return the mean ranks over the data sets, with the tests."""
    blocks: list[DocumentBlock] = [TextBlock(line) for line in str(ranking).splitlines()]
    picture = figures.rank_plot(ranking) if not math.isnan(ranking.friedman) else None
    if picture is not None:
        caption = "Critical-difference diagram: Nemenyi's test does not separate algorithms under one bar"
        blocks.append(Picture(picture, caption))
    ranks = [[name, f"{rank:.2f}"] for name, rank in ranking.mean_ranks.items()]
    blocks.append(table(["Algorithm", "Mean rank ↓"], ranks, f"Mean ranks by {ranking.title}; 1 is best"))
    pairs = [[pair.first, pair.second, f"{pair.p_value:.3g}", f"{pair.p_holm:.3g}"] for pair in ranking.pairs]
    caption = "Wilcoxon's signed-rank test for each pair, and with Holm's correction"
    blocks.append(table(["First", "Second", "p", "p (Holm)"], pairs, caption, folded=len(pairs) > 10))
    return Section("Over all data sets", tuple(blocks))


def label_table(comparison: Comparison, data: Dataset, algorithm: str) -> Table:
    """Return precision, recall, F1 and support of each label, the most frequent first."""
    folds = comparison.results[data.name, algorithm]
    hits, predicted, true = (
        np.sum([getattr(fold, name) for fold in folds], axis=0) for name in ("hits", "predicted", "true")
    )
    with np.errstate(invalid="ignore"):  # 0 / 0 is undefined
        shares = np.stack([hits / predicted, hits / true, 2 * hits / (predicted + true)], axis=1)
    rows = [
        [
            str(data.label_names[k]),
            *(
                TableCell("-") if math.isnan(one) else TableCell(f"{one:.3f}", heat=float(one))
                for one in shares[k]
            ),
            f"{true[k]:,}",
        ]
        for k in np.argsort(-true, kind="stable")
    ]
    caption = f"{comparison.titles[algorithm]} on each label{_over_folds(comparison, data.name)}"
    headings = ["Label", "Precision", "Recall", "F1", "Support"]
    return table(headings, rows, caption, folded=len(rows) > _LABELS_OPEN)


def _over_folds(comparison: Comparison, data: str) -> str:
    return ", over all folds" if comparison.n_folds(data) > 1 else ""


def size_table(comparison: Comparison, data: str, algorithm: str) -> Table:
    """Return a confusion table of the number of labels; the largest numbers share a row and a column."""
    triples = [triple for fold in comparison.results[data, algorithm] for triple in fold.sizes]
    true, predicted, rows = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    sizes, places = np.unique(np.concatenate([true, predicted]), return_inverse=True)
    names = [*map(str, sizes)]
    if len(sizes) > _SIZES:
        names = [*names[: _SIZES - 1], f"{names[_SIZES - 1]}+"]
        places = np.minimum(places, _SIZES - 1)
    counts = np.zeros((len(names), len(names)), dtype=np.int64)
    np.add.at(counts, (places[: len(true)], places[len(true) :]), rows)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    title = comparison.titles[algorithm]
    caption = f"{title}: rows by their true number of labels (down) and the predicted number (across)"
    cells = [[f"{n:,}" if n else "·" for n in row] for row in counts]
    return _heat_map("True \\ predicted", names, cells, shares, caption)


def co_occurrence_table(data: Dataset) -> Table:
    """Return how many of the rows with one label have another one, too."""
    Y = data.Y.astype(np.int64)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    order = np.argsort(-counts, kind="stable")[:_LABELS_TOGETHER]
    labels = order[counts[order] > 0]
    chosen = Y[:, labels]
    shares = (chosen.T @ chosen).toarray() / counts[labels][:, None]
    names = [figures.short(str(data.label_names[k])) for k in labels]
    most = f" (the {len(labels)} most frequent)" if len(labels) < data.n_labels else ""
    caption = f"Share of the rows with a label (down) that also have another one (across){most}"
    cells = [[f"{value:.2f}" if value else "·" for value in row] for row in shares]
    return _heat_map("Label", names, cells, shares, caption, upright=True)


def _heat_map(
    corner: str,
    names: Sequence[str],
    texts: Sequence[Sequence[str]],
    heats: FloatArray,
    caption: str,
    *,
    upright: bool = False,
) -> Table:
    rows = [
        [name, *(TableCell(text, heat=float(heat)) for text, heat in zip(row, shades, strict=True))]
        for name, row, shades in zip(names, texts, heats, strict=True)
    ]
    return table([corner, *names], rows, caption, upright=upright)


def calibration_plot(comparison: Comparison, data: str) -> list[DocumentBlock]:
    """Return the calibration curves of the algorithms that give probabilities, with the largest errors."""
    curves, errors = {}, []
    for name in comparison.algorithms(data):
        folds, title = comparison.results[data, name], comparison.titles[name]
        bins = [fold.calibration for fold in folds if fold.calibration is not None]
        total = np.sum(np.array(bins), axis=0) if len(bins) == len(folds) else np.empty((0, 3))
        total = total[total[:, 2] >= _FEWEST_PAIRS]  # sums of probabilities, of true labels, and of pairs
        if len(total):
            predicted, observed = total[:, 0] / total[:, 2], total[:, 1] / total[:, 2]
            curves[title] = predicted, observed
            errors.append(f"{title} {_calibration_text(predicted, observed, total[:, 2])}{_one_set(folds)}")
    if not curves:
        return []
    caption = (
        f"Calibration, in bins with at least {_FEWEST_PAIRS} pairs of row and label. "
        f"Largest distance from the diagonal: {'; '.join(errors)}"
    )
    return [Picture(figures.draw_calibration(curves), caption)]


def _calibration_text(predicted: FloatArray, observed: FloatArray, pairs: FloatArray) -> str:
    """Describe the worst bin, and the mean error, which the many pairs near probability 0 dominate."""
    errors = np.abs(predicted - observed)
    worst = int(np.argmax(errors))
    return (
        f"{errors[worst]:.3f} (predicted {predicted[worst]:.2f}, observed {observed[worst]:.2f}, "
        f"{pairs[worst]:,.0f} pairs; expected calibration error: {np.average(errors, weights=pairs):.3f})"
    )


def _one_set(folds: Sequence[FoldResult]) -> str:
    """Warn if all rows of each fold got the same labels, so that calibration means little."""
    constant = all(count in (0, fold.evaluation.n_rows) for fold in folds for count in fold.predicted)
    return ", but it gives every row the same labels, so this means little" if constant else ""


def guarantee_table(measured: Sequence[tuple[FittedGuarantee, Measured]]) -> Table:
    """Return the guaranteed and the measured values."""
    headings = ["Guarantee", "Guaranteed", "Measured", "Labels in a set", "Abstained", "Lowest label"]
    rows = []
    for fitted_guarantee, one in measured:
        lowest = "" if one.lowest is None else f"{one_line(str(one.lowest[0]))}: {one.lowest[1]:.3f}"
        size = "-" if math.isnan(one.size) else f"{one.size:.2f}"
        value = _mean_text(one.value, one.error)
        rows.append(
            [
                fitted_guarantee.guarantee.name,
                f"{one.guaranteed:g}",
                value,
                size,
                f"{one.abstained:,}",
                lowest,
            ]
        )
    return table(headings, rows, "Guaranteed and measured on this file, ± one standard error")


def time_table(comparison: Comparison, data: str) -> Table:
    """Return the seconds of all folds."""
    rows = []
    for name in comparison.algorithms(data):
        folds = comparison.results[data, name]
        seconds = (sum(fold.fit_seconds for fold in folds), sum(fold.predict_seconds for fold in folds))
        rows.append([comparison.titles[name], *(f"{value:.1f}" for value in seconds)])
    return table(["Algorithm", "Fit (s)", "Predict (s)"], rows, f"Time{_over_folds(comparison, data)}")


def notes(comparison: Comparison) -> list[DocumentBlock]:
    """Return what was skipped, and the warnings of the algorithms."""
    blocks: list[DocumentBlock] = [TextBlock(f"Left out: {failure}") for failure in comparison.failures]
    rows = []
    for (data, name), folds in comparison.results.items():
        distinct = dict.fromkeys(one_line(note) for fold in folds for note in fold.notes)
        rows += [[data, comparison.titles[name], note] for note in distinct]
    if rows:
        caption = "Warnings of the algorithms, without repetitions"
        blocks.append(table(["Data set", "Algorithm", "Warning"], rows, caption, folded=True))
    return blocks


def published_table(reproduction: Reproduction) -> Table:
    """Return the published and the measured value of each criterion."""
    agrees = {True: "yes", False: "no", None: "-"}
    rows = [
        [
            row.algorithm,
            find_criterion(row.criterion).heading,
            "-" if row.published is None else str(row.published),
            str(row.measured),
            TableCell(agrees[row.agrees], best=row.agrees is False),
        ]
        for row in reproduction.rows()
    ]
    headings = ["Algorithm", "Criterion", "Published", "Measured", "Within one std"]
    caption = f"{reproduction.data.name}: the paper's values and ours, {reproduction.comparison.protocol}"
    return table(headings, rows, caption)


def claim_table(reproduction: Reproduction) -> Table:
    """Return the paper's claims, with what the measured values say about them."""
    rows = [
        [claim.text, TableCell(claim.verdict, best=True), claim.because] for claim in reproduction.claims()
    ]
    headings = ["The paper says", "Verdict", "Because"]
    return table(headings, rows, "The paper's claims, compared with the measured values")
