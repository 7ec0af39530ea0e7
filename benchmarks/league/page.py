"""The page of the benchmark: ranks, tests, differences, every result, and what is missing."""

from __future__ import annotations

import math

import numpy as np
from _shared.report import Part

from league.analysis import (
    REGION,
    costs,
    differences,
    paper_claims,
    practically,
    ranking,
    subsets,
    wins,
)
from league.methods import INGREDIENTS, METHODS
from league.results import MAIN, Results
from league.runner import machine
from simlabel.experiments import PUBLISHED
from simlabel.metrics import CRITERIA, find_criterion

_METHODS_NOTE = (
    "Each method chooses among its candidates by average precision on three inner folds of the training rows "
    "(one part of large sets), and gets a rule for label sets that is tuned for micro F1 on the same "
    "held-out scores, as AutoSML does; if its own sets are better on held-out rows, it keeps them. SML, "
    "AutoSML and Tagger choose by themselves."
)


def page(results: Results, ablation: Results, intro: str, time_limit: float) -> Part:
    """Build the page."""
    headings = [find_criterion(criterion).heading for criterion in MAIN]
    part = Part("Benchmark of methods", ["", *headings], intro)
    part.notes.append(
        f"A method that takes more than {time_limit:g} processor seconds on a fold, or fails, "
        "gets the last rank on the data set and no score. Only methods with an outcome on all "
        "sets are ranked."
    )
    _ranks(part, results)
    _differences(part, results)
    _practical(part, results)
    _wins(part, results)
    _costs(part, results)
    _claims(part, results)
    _published(part, results)
    _ablation(part, ablation)
    _sets(part, results)
    _every_result(part, results)
    _methods(part, results)
    seconds = [one for score in results.scores.values() for one in score.cpu_seconds]
    part.notes.append(f"{len(seconds):,} folds, {sum(seconds) / 3600:.1f} processor hours. {machine()}.")
    return part


def number(value: float, error: float = math.nan) -> str:
    """Format a value and its standard error; an empty text for NaN."""
    if math.isnan(value):
        return ""
    return f"{value:.4f}" if math.isnan(error) else f"{value:.4f} ± {error:.4f}"


def _ranks(part: Part, results: Results) -> None:
    found = {criterion: ranking(results, criterion) for criterion in MAIN}
    first = found[MAIN[0]]
    if first is None or None in found.values():
        return
    part.section(f"Mean ranks over {first.n_sets} sets; 1 is best")
    for name in first.mean_ranks:
        part.row(name, *(f"{one.mean_ranks[name]:.2f}" for one in found.values()))
    part.row("critical difference (Nemenyi)", *(f"{one.critical_difference:.2f}" for one in found.values()))
    part.row("p-value (Friedman)", *(f"{one.friedman:.2g}" for one in found.values()))
    own = results.titles[results.own]
    part.section(f"{own} compared with each method by average precision", ["", "p (Wilcoxon)", "p (Holm)"])
    for pair in first.pairs:
        if own in (pair.first, pair.second):
            other = pair.second if pair.first == own else pair.first
            part.row(other, f"{pair.p_value:.3g}", f"{pair.p_holm:.3g}")
    part.section("Mean ranks over subsets of the sets: the first two of the methods with an outcome on all")
    for what, sets in subsets(results).items():
        ranked = [ranking(results, criterion, sets) for criterion in MAIN]
        if None in ranked:
            continue
        top = [[f"{name} {rank:.2f}" for name, rank in one.mean_ranks.items()] for one in ranked]
        size = f"{ranked[0].n_sets} sets, {len(top[0])} methods"
        title = f"{what}: {size}, critical difference {ranked[0].critical_difference:.2f}"
        part.row(title, *(", ".join(each[:2]) for each in top))


def _differences(part: Part, results: Results) -> None:
    own = results.titles[results.own]
    part.section(f"{own} minus the best other method of each set: gain ± standard error, paired by fold")
    found = {criterion: {one.data: one for one in differences(results, criterion)} for criterion in MAIN}
    for data, first in found[MAIN[0]].items():
        cells = [found[criterion].get(data) for criterion in MAIN]
        shown = [
            ""
            if one is None
            else f"{number(one.gain, one.error)} {results.titles[one.method]}: {one.verdict}"
            for one in cells
        ]
        part.row(f"{data} ({first.folds} fold{'s' * (first.folds != 1)})", *(text.strip() for text in shown))


def _practical(part: Part, results: Results) -> None:
    columns = ["", f"{results.titles[results.own]} better", "practically equal", "method better", "sets"]
    title = (
        f"Probabilities of practical differences (Bayesian signed-rank test, {REGION:g} of average precision"
    )
    part.section(f"{title} is equal; sets on which both have scores)", columns)
    for method, (n_sets, shares) in practically(results).items():
        part.row(results.titles[method], *(f"{share:.2f}" for share in shares), n_sets)


def _wins(part: Part, results: Results) -> None:
    found = wins(results)
    own = results.titles[results.own]
    title = f"Wins-ties-losses of {own} by average precision; a difference up to {REGION:g} is a tie"
    part.section(title, ["", *found.columns])
    for method, row in zip(found.index, found.to_numpy(), strict=True):
        part.row(results.titles[method], *row)


def _costs(part: Part, results: Results) -> None:
    columns = ["", "Average precision", "Processor seconds", "MiB", "Not exceeded in both"]
    part.section(
        "Accuracy and mean cost of a fold, over the sets on which all ranked methods have scores", columns
    )
    for method, row in costs(results).iterrows():
        memory = "" if math.isnan(row["MiB"]) else f"{row['MiB']:.0f}"
        cells = (
            number(row["average precision"]),
            f"{row['seconds']:.2f}",
            memory,
            "yes" if row["best"] else "",
        )
        part.row(results.titles[str(method)], *cells)


def _claims(part: Part, results: Results) -> None:
    columns = [
        "",
        f"First on, of {len(CRITERIA)}",
        "SML, average precision",
        "Best of the four",
        "Smaller errors",
    ]
    part.section("Plain SML compared with the paper's four baselines", columns)
    for one in paper_claims(results):
        best = f"{number(one.other)} {results.titles[one.best]}"
        part.row(one.data, one.first_on, number(one.own), best, f"{one.smaller_errors} of {one.errors}")


def _published(part: Part, results: Results) -> None:
    """Compare the paper's baselines with the published results, by the criteria of scores."""
    columns = ["", "Criterion", "Published", "Here", "Within one standard deviation"]
    part.section("The paper's baselines compared with the published results", columns)
    for name, published in PUBLISHED.items():
        for method, title in results.titles.items():
            score = results.scores.get((name, method))
            for criterion, one in published.get(title, {}).items() if score else ():
                if one is not None and criterion != "hamming_loss":  # which the tuned rule changes
                    agrees = "yes" if one.agrees(score.mean(criterion)) else "no"
                    cells = (find_criterion(criterion).title, one, number(score.mean(criterion)), agrees)
                    part.row(f"{title} on {name}", *cells)


def _ablation(part: Part, ablation: Results) -> None:
    part.section("AutoSML minus AutoSML without an ingredient: mean over the sets")
    for method in ablation.methods():
        if method != ablation.own:
            both = {c: ablation.means(c)[[ablation.own, method]].dropna() for c in MAIN}
            gains = [(frame[ablation.own] - frame[method]).mean() for frame in both.values()]
            part.row(ablation.titles[method], *(f"{gain:+.4f}" for gain in gains))
    replaced = "; ".join(f"without {name}: {what}" for name, what in INGREDIENTS.items())
    part.notes += [f"Each ingredient is replaced by the paper's choice ({replaced})."] * bool(ablation.scores)


def _sets(part: Part, results: Results) -> None:
    part.section(
        "Data sets", ["", "Kind", "Rows", "Features", "Labels", "Labels per row", "Protocol", "Notes"]
    )
    for one in results.sets.values():
        data = one.data
        best = [
            f"best possible {find_criterion(c).title.lower()}: {value:.3f}" for c, value in one.best.items()
        ]
        notes = "; ".join([*([one.note] if one.note else []), *one.warnings(), *best])
        sizes = (
            f"{data.n_rows:,}",
            f"{data.n_attributes:,}",
            f"{data.n_labels:,}",
            f"{data.cardinality:.2f}",
        )
        part.row(one.name, one.kind, *sizes, one.protocol, notes)


def _every_result(part: Part, results: Results) -> None:
    for name, one in results.sets.items():
        part.section(
            f"{name}: {one.data.n_rows:,} rows, {one.data.n_labels:,} labels; {one.protocol}",
            [*part.columns, "Processor seconds"],
        )
        for method in results.methods():
            score = results.scores.get((name, method))
            if score is not None:
                cells = (number(score.mean(c), score.error(c)) for c in MAIN)
                part.row(results.titles[method], *cells, f"{np.mean(score.cpu_seconds):.1f}")
            elif (name, method) in results.failed:
                part.row(results.titles[method], results.failed[name, method], *[""] * len(MAIN))


def _methods(part: Part, results: Results) -> None:
    part.section("Methods", ["", "Candidates", "Skipped"])
    for name in results.methods():
        skipped: dict[str, list[str]] = {}
        for (data, method), why in results.skipped.items():
            if method == name:
                skipped.setdefault(why, []).append(data)
        said = "; ".join(f"{', '.join(sets)}: {why}" for why, sets in skipped.items())
        part.row(results.titles[name], METHODS[name].note if name in METHODS else "", said)
    part.notes.append(_METHODS_NOTE)
    part.notes += [f"{one.title} is missing: {one.missing}." for one in METHODS.values() if one.missing]
