"""The long lists of the league: every figure, claims, the ablation, sets and rivals, what is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlabel.experiments import PUBLISHED
from simlabel.experiments.league import INGREDIENTS, League, Score, paper_claims
from simlabel.metrics import find_criterion
from simlabel.reports._page import Block, Cell, Text, table

_AP = "average_precision"
_FOLDED = 8  # sets with more than so many rows of rivals open on demand
_CHECKED = {"mlknn": "ML-kNN", "boostexter": "BoosTexter"}  # rivals with figures of their own tools


def number(value: float, error: float = math.nan) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if math.isnan(error) else f"{value:.3f} ± {error:.3f}"


def every_figure(league: League) -> list[Block]:
    blocks: list[Block] = [Text("A click on a figure opens its folds.")]
    for name in league.sets:
        there = [rival for rival in league.rivals() if (name, rival) in league.scores]
        if not there:
            continue
        criteria = list(league.scores[name, there[0]].values)
        best = {c: _best(league, name, there, c) for c in criteria}
        rows = []
        for rival in there:
            score = league.scores[name, rival]
            rows.append(
                [league.titles[rival], *(_cell(score, c, rival in best[c]) for c in criteria), *_costs(score)]
            )
        for rival in league.rivals():
            if (name, rival) in league.late:
                lost = Cell(league.how_lost(name, rival))
                rows.append([league.titles[rival], lost, *[""] * (len(criteria) + 1)])
        headings = ["Rival", *(find_criterion(c).heading for c in criteria), "Seconds", "MiB"]
        blocks.append(
            table(headings, rows, f"{name}: {league.sets[name].protocol}", folded=len(league.sets) > _FOLDED)
        )
    return blocks


def _best(league: League, name: str, rivals: Sequence[str], criterion: str) -> set[str]:
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    means = {rival: round(sign * league.scores[name, rival].mean(criterion), 3) for rival in rivals}
    means = {rival: mean for rival, mean in means.items() if not math.isnan(mean)}
    return {rival for rival, mean in means.items() if mean == max(means.values())}


def _cell(score: Score, criterion: str, best: bool) -> Cell:
    text = number(score.mean(criterion), score.error(criterion))
    folds = score.values[criterion]
    more = tuple(f"fold {k}: {value:.4f}" for k, value in enumerate(folds, 1)) if len(folds) > 1 else ()
    return Cell(text, best, more=more)


def _costs(score: Score) -> list[str]:
    memory = [mib for mib in score.peak_mib if mib is not None]
    seconds = sum(score.cpu_seconds) / len(score.cpu_seconds)
    return [f"{seconds:.1f}", f"{sum(memory) / len(memory):.0f}" if memory else ""]


def claims(league: League) -> list[Block]:
    found = paper_claims(league)
    if not found:
        return []
    rows = [
        [
            one.data,
            f"{one.first_on} of {one.of}",
            number(one.own),
            league.titles[one.best],
            number(one.other),
            f"{one.smaller_spread} of {one.spreads}" if one.spreads else "",
            len(one.rivals),
        ]
        for one in found
    ]
    holds = [one.data for one in found if one.first_on == one.of]
    leads = [one.data for one in found if one.own > one.other]
    spreads = (sum(one.smaller_spread for one in found), sum(one.spreads for one in found))
    said = (
        "The paper says that SML is better than ML-kNN, BoosTexter, ADTBoost.MH and Rank-SVM on all five "
        "criteria. Here, against these rivals with a small search, that holds on "
        f"{len(holds)} of {len(found)} sets ({', '.join(holds) or 'none'}); by average precision it is first "
        f"on {len(leads)} ({', '.join(leads) or 'none'}). The paper says that its "
        f"folds spread less: so they do in {spreads[0]} of {spreads[1]} cases."
    )
    headings = [
        "Set",
        "First on",
        "SML, AP",
        "Best of the four",
        "Its AP",
        "Smaller spread",
        "Rivals in time",
    ]
    blocks: list[Block] = [Text(said), table(headings, rows, "Plain SML beside the paper's four rivals")]
    return blocks + _published(league)


def _published(league: League) -> list[Block]:
    """Two rivals beside the figures that their own tools are published with."""
    rows = []
    for name in [one for one in league.sets if one in PUBLISHED]:
        for rival, title in _CHECKED.items():
            score = league.scores.get((name, rival))
            if score is None:
                continue
            for criterion, figure in PUBLISHED[name][title].items():
                if figure is not None:
                    mean = score.mean(criterion)
                    cells = [
                        find_criterion(criterion).heading,
                        str(figure),
                        number(mean, score.error(criterion)),
                    ]
                    rows.append([f"{title} on {name}", *cells, "yes" if figure.agrees(mean) else "no"])
    if not rows:
        return []
    headings = ["Rival", "Criterion", "Published", "Here", "Within one deviation"]
    caption = (
        "Two rivals beside the figures that their authors' tools are published with; here with a search and "
        "a tuned rule, which moves hamming loss"
    )
    return [table(headings, rows, caption)]


def ingredients(league: League) -> list[Block]:
    blocks: list[Block] = []
    for criterion in (_AP, "f1_micro"):
        means = league.means(criterion)
        if league.own not in means:
            continue
        names = [rival for rival in means.columns if rival != league.own]
        rows = [
            [
                name,
                number(means.loc[name, league.own]),
                *(signed(means.loc[name, league.own] - means.loc[name, rival]) for rival in names),
            ]
            for name in means.index
            if not math.isnan(means.loc[name, league.own])
        ]
        gains = [(means[league.own] - means[rival]).mean() for rival in names]
        rows.append(["mean", number(means[league.own].mean()), *map(signed, gains)])
        headings = ["Set", league.titles[league.own], *(league.titles[rival] for rival in names)]
        title = find_criterion(criterion).heading
        blocks.append(
            table(
                headings,
                rows,
                f"{title}: how far {league.titles[league.own]} is ahead of itself without an ingredient",
            )
        )
    said = "; ".join(f"without {name}: {what}" for name, what in INGREDIENTS.items())
    return [Text(f"In place of each ingredient stands what the paper has ({said})."), *blocks]


def signed(value: float, error: float = math.nan) -> str:
    if math.isnan(value):
        return ""
    return f"{value:+.4f}" if math.isnan(error) else f"{value:+.4f} ± {error:.4f}"


def sets(league: League) -> list[Block]:
    rows = []
    for one in league.sets.values():
        best = ", ".join(f"{find_criterion(c).title.lower()} {value:.3f}" for c, value in one.best.items())
        notes = "; ".join(
            [*([one.what] if one.what else []), *one.warnings, *([f"best possible: {best}"] if best else [])]
        )
        rows.append(
            [
                one.name,
                one.kind,
                f"{one.rows:,}",
                f"{one.features:,}",
                f"{one.labels:,}",
                f"{one.cardinality:.2f}",
                one.protocol,
                notes,
            ]
        )
    headings = ["Set", "Kind", "Rows", "Features", "Labels", "Labels a row", "Divided", "To know"]
    return [table(headings, rows, "What was played on")]


def rivals(league: League) -> list[Block]:
    rows = [[league.titles[name], league.about[name]] for name in league.rivals()]
    said = (
        "Each rival chooses among its candidates by average precision on three inner folds of the training "
        "rows (one part of large sets), and gets a rule for label sets that is tuned for micro F1 on the "
        "same held-out scores, as AutoSML does; where its own sets are better on held-out rows, it keeps "
        "them. SML, AutoSML and Tagger choose by themselves."
    )
    return [Text(said), table(["Rival", "What is tried"], rows, "Who played")]


def missing(league: League) -> list[Block]:
    blocks: list[Block] = [Text(f"{title} is left out: {why}.") for title, why in league.absent.items()]
    blocks += [Text(f"Not played on: {line}") for line in league.left_out]
    late = [[league.titles[rival], name, why] for (name, rival), why in league.late.items()]
    out = [[league.titles[rival], name, why] for (name, rival), why in league.out.items()]
    if late:
        blocks.append(table(["Rival", "Set", "Why"], late, "Late or failed: counts as a loss"))
    if out:
        blocks.append(table(["Rival", "Set", "Why"], out, "Did not play: no loss", folded=True))
    return blocks
