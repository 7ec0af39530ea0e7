"""The league table as a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlabel.experiments import PUBLISHED
from simlabel.experiments.league import (
    INGREDIENTS,
    MAIN,
    OURS,
    REGION,
    League,
    Score,
    all_played,
    gaps,
    paper_claims,
    per_second,
    practically,
    ranking,
    wins,
)
from simlabel.metrics import find_criterion
from simlabel.reports import _figures as figures
from simlabel.reports._page import Block, Cell, Picture, Report, Section, Text, table

_AP = "average_precision"
_FOLDED = 8  # sets with more than so many rows of rivals open on demand
_CHECKED = {"mlknn": "ML-kNN", "boostexter": "BoosTexter"}  # rivals with figures of their own tools


def league_report(league: League, ablation: League | None = None) -> Report:
    """A report on a league.

    Parameters
    ----------
    league : League
    ablation : League, optional
        The same sets, our method without each ingredient.
    """
    sets, rivals = all_played(league)
    parts = [
        _section("Places", _places(league)),
        _section("Who is practically better", _practical(league)),
        _section("Wins, ties and losses", _wins(league)),
        _section("Ahead and behind", _gaps(league)),
        _section("Accuracy for the time", _speed(league)),
        _section("Every figure", _figures_of_all(league)),
        _section("The paper's claims", _claims(league)),
    ]
    if ablation is not None:
        parts.append(_section("What each ingredient brings", _ablation(ablation)))
    parts += [
        _section("Sets", _sets(league)),
        _section("Rivals", _rivals(league)),
        _section("Missing", _missing(league)),
    ]
    facts = (
        ("data sets", str(len(sets))),
        ("rivals", str(len(league.rivals()))),
        ("rivals on all sets", str(len(rivals))),
        ("folds in all", f"{sum(len(score.cpu_seconds) for score in league.scores.values()):,}"),
        ("processor hours", f"{sum(sum(score.cpu_seconds) for score in league.scores.values()) / 3600:.1f}"),
    )
    said = "the same folds for all, every choice made inside the training rows"
    return Report(
        "League table", f"{said}. {league.machine}.", facts, tuple(part for part in parts if part.blocks)
    )


def _section(title: str, blocks: Sequence[Block]) -> Section:
    return Section(title, tuple(blocks))


def _number(value: float, error: float = math.nan) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if math.isnan(error) else f"{value:.3f} ± {error:.3f}"


def _places(league: League) -> list[Block]:
    found = {criterion: ranking(league, criterion) for criterion in MAIN}
    there = {criterion: one for criterion, one in found.items() if one is not None}
    if not there:
        return [Text("Places need at least two sets that two rivals have played.")]
    names = list(next(iter(there.values())).mean_ranks)
    best = {criterion: min(one.mean_ranks.values()) for criterion, one in there.items()}
    rows = [
        [
            name,
            *(
                Cell(f"{one.mean_ranks[name]:.2f}", one.mean_ranks[name] == best[c])
                for c, one in there.items()
            ),
        ]
        for name in names
    ]
    first = next(iter(there.values()))
    late = f"Who took more than {league.limit:g} processor seconds on a fold has the last place on that set. "
    blocks: list[Block] = [
        Text(late * (league.limit is not None) + "Only rivals that played on all sets are ranked."),
        table(
            ["Rival", *(find_criterion(c).heading for c in there)],
            rows,
            f"Mean places over {first.n_sets} sets; 1 is best",
        ),
    ]
    for one in there.values():
        blocks += [Text(line) for line in str(one).splitlines()[1:2]]
        picture = figures.rank_plot(one) if not math.isnan(one.friedman) else None
        if picture is not None:
            title = find_criterion(one.criterion).title
            blocks.append(
                Picture(picture, f"{title}: rivals under one bar are not told apart by Nemenyi's test")
            )
    in_time = ranking(league, _AP, in_time=True)
    if in_time is not None and in_time.n_sets < first.n_sets:
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in in_time.mean_ranks.items())
        blocks.append(
            Text(f"On the {in_time.n_sets} sets on which nobody was late, by average precision: {ranks}.")
        )
    own = league.titles[OURS]
    pairs = [pair for pair in first.pairs if own in (pair.first, pair.second)]
    shown = [
        [pair.second if pair.first == own else pair.first, f"{pair.p_value:.3g}", f"{pair.p_holm:.3g}"]
        for pair in pairs
    ]
    caption = (
        f"{own} against each rival by average precision: Wilcoxon, and with Holm's correction for all pairs"
    )
    blocks.append(table(["Rival", "p", "p (Holm)"], shown, caption, folded=True))
    return blocks


def _practical(league: League) -> list[Block]:
    found = practically(league)
    if not found:
        return []
    shares = {league.titles[rival]: (one.better, one.equal, one.worse) for rival, one in found.items()}
    own = league.titles[OURS]
    rows = [[name, *(f"{share:.2f}" for share in three)] for name, three in shares.items()]
    names = (f"{own} better", "as good as equal", "rival better")
    return [
        Text(
            f"Bayesian signed-rank test by average precision; up to {REGION:g} is as good as no difference."
        ),
        Picture(figures.probability_plot(shares, names), "Probability that one is practically better"),
        table(["Rival", *names], rows, "The same as numbers", folded=True),
    ]


def _wins(league: League) -> list[Block]:
    blocks: list[Block] = []
    for criterion in MAIN:
        found = wins(league, criterion)
        rows = [
            [league.titles[str(rival)], *map(str, row)]
            for rival, row in zip(found.index, found.to_numpy(), strict=True)
        ]
        title = find_criterion(criterion).title
        caption = f"{title}: wins-ties-losses of {league.titles[OURS]}; up to {REGION:g} is a tie"
        blocks.append(table(["Rival", *found.columns], rows, caption, folded=criterion != _AP))
    return blocks


def _gaps(league: League) -> list[Block]:
    blocks: list[Block] = []
    for criterion in MAIN:
        rows = [
            [
                one.data,
                _number(one.own),
                league.titles[one.rival],
                _number(one.other),
                f"{one.gain:+.4f}" + ("" if math.isnan(one.error) else f" ± {one.error:.4f}"),
                one.folds,
                Cell(one.verdict, best=one.verdict.startswith("ahead")),
            ]
            for one in gaps(league, criterion)
        ]
        heading = find_criterion(criterion).heading
        caption = f"{heading}: beside the best rival of each set; gain ± standard error, paired by fold"
        headings = ["Set", league.titles[OURS], "Best rival", "Its figure", "Gain", "Folds", "Verdict"]
        blocks.append(table(headings, rows, caption))
    return blocks


def _speed(league: League) -> list[Block]:
    frame = per_second(league)
    if frame.empty:
        return []
    points = {
        league.titles[str(rival)]: (
            float(row["seconds"]),
            float(row["average precision"]),
            bool(row["unbeaten"]),
        )
        for rival, row in frame.iterrows()
    }
    rows = [
        [
            league.titles[str(rival)],
            _number(row["average precision"]),
            _number(row["gain"]),
            f"{row['seconds']:.2f}",
            "" if math.isnan(row["MiB"]) else f"{row['MiB']:.0f}",
            f"{row['gain for a second']:.3f}",
            "yes" if row["unbeaten"] else "",
        ]
        for rival, row in frame.iterrows()
    ]
    headings = [
        "Rival",
        "Average precision",
        "Above frequencies",
        "Seconds",
        "MiB",
        "Gain for a second",
        "Unbeaten",
    ]
    caption = (
        "Over the sets on which nobody was late: processor seconds (search included) and memory of a fold"
    )
    return [
        Picture(
            figures.speed_plot(points, league.titles[OURS]), "On the line: nobody is both better and quicker"
        ),
        table(headings, rows, caption),
    ]


def _figures_of_all(league: League) -> list[Block]:
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
                rows.append([league.titles[rival], Cell("late"), *[""] * (len(criteria) + 2)])
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
    text = _number(score.mean(criterion), score.error(criterion))
    folds = score.values[criterion]
    more = tuple(f"fold {k}: {value:.4f}" for k, value in enumerate(folds, 1)) if len(folds) > 1 else ()
    return Cell(text, best, more=more)


def _costs(score: Score) -> list[str]:
    memory = [mib for mib in score.peak_mib if mib is not None]
    seconds = sum(score.cpu_seconds) / len(score.cpu_seconds)
    return [f"{seconds:.1f}", f"{sum(memory) / len(memory):.0f}" if memory else ""]


def _claims(league: League) -> list[Block]:
    found = paper_claims(league)
    if not found:
        return []
    rows = [
        [
            one.data,
            f"{one.first_on} of {one.of}",
            _number(one.own),
            league.titles[one.best],
            _number(one.other),
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
                        _number(mean, score.error(criterion)),
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


def _ablation(league: League) -> list[Block]:
    blocks: list[Block] = []
    for criterion in (_AP, "f1_micro"):
        means = league.means(criterion)
        if OURS not in means:
            continue
        names = [rival for rival in means.columns if rival != OURS]
        rows = [
            [
                name,
                _number(means.loc[name, OURS]),
                *(_signed(means.loc[name, OURS] - means.loc[name, rival]) for rival in names),
            ]
            for name in means.index
            if not math.isnan(means.loc[name, OURS])
        ]
        gains = [(means[OURS] - means[rival]).mean() for rival in names]
        rows.append(["mean", _number(means[OURS].mean()), *map(_signed, gains)])
        headings = ["Set", league.titles[OURS], *(league.titles[rival] for rival in names)]
        title = find_criterion(criterion).heading
        blocks.append(
            table(
                headings,
                rows,
                f"{title}: how far {league.titles[OURS]} is ahead of itself without an ingredient",
            )
        )
    said = "; ".join(f"without {name}: {what}" for name, what in INGREDIENTS.items())
    return [Text(f"In place of each ingredient stands what the paper has ({said})."), *blocks]


def _signed(value: float) -> str:
    return "" if math.isnan(value) else f"{value:+.4f}"


def _sets(league: League) -> list[Block]:
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


def _rivals(league: League) -> list[Block]:
    rows = [[league.titles[name], league.about[name]] for name in league.rivals()]
    said = (
        "Each rival chooses among its candidates by average precision on three inner folds of the training "
        "rows (one part of large sets), and gets a rule for label sets that is tuned for micro F1 on the "
        "same held-out scores, as AutoSML does; where its own sets are better on held-out rows, it keeps "
        "them. SML, AutoSML and Tagger choose by themselves."
    )
    return [Text(said), table(["Rival", "What is tried"], rows, "Who played")]


def _missing(league: League) -> list[Block]:
    blocks: list[Block] = [Text(f"{title} is left out: {why}.") for title, why in league.absent.items()]
    late = [[league.titles[rival], name, why] for (name, rival), why in league.late.items()]
    out = [[league.titles[rival], name, why] for (name, rival), why in league.out.items()]
    if late:
        blocks.append(table(["Rival", "Set", "Why"], late, "Late or failed: counts as a loss"))
    if out:
        blocks.append(table(["Rival", "Set", "Why"], out, "Did not play: no loss", folded=True))
    return blocks
