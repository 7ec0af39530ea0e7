"""The league table as a report."""

from __future__ import annotations

import math
from collections.abc import Sequence

from simlabel.experiments.league import (
    MAIN,
    REGION,
    League,
    all_played,
    gaps,
    per_second,
    practically,
    ranking,
    wins,
)
from simlabel.metrics import find_criterion
from simlabel.reports import _figures as figures
from simlabel.reports import _league_lists as lists
from simlabel.reports._page import Block, Cell, Picture, Report, Section, Text, table

_AP = "average_precision"


def league_report(league: League, ablation: League | None = None) -> Report:
    """A report on a league.

    Parameters
    ----------
    league : League
    ablation : League, optional
        The same sets, our method without each ingredient.

    Examples
    --------
    >>> from simlabel.experiments.league import SetFacts
    >>> facts = {"a": SetFacts("a", "made", 10, 2, 3, 1.0, "two folds")}
    >>> nobody = League(facts, {"x": "X"}, {}, {}, {}, {}, {"X": "x is not installed"}, "one core")
    >>> print(league_report(nobody).sections[-1].blocks[0].text)
    X is left out: x is not installed.
    """
    sets, rivals = all_played(league)
    parts = [
        _section("Places", _places(league)),
        _section("Who is practically better", _practical(league)),
        _section("Wins, ties and losses", _wins(league)),
        _section("Ahead and behind", _gaps(league)),
        _section("Accuracy for the time", _speed(league)),
        _section("Every figure", lists.every_figure(league)),
        _section("The paper's claims", lists.claims(league)),
    ]
    if ablation is not None:
        parts.append(_section("What each ingredient brings", lists.ingredients(ablation)))
    parts += [
        _section("Sets", lists.sets(league)),
        _section("Rivals", lists.rivals(league)),
        _section("Missing", lists.missing(league)),
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
    own = league.titles[league.own]
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
    own = league.titles[league.own]
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
        caption = f"{title}: wins-ties-losses of {league.titles[league.own]}; up to {REGION:g} is a tie"
        blocks.append(table(["Rival", *found.columns], rows, caption, folded=criterion != _AP))
    return blocks


def _gaps(league: League) -> list[Block]:
    blocks: list[Block] = []
    for criterion in MAIN:
        rows = [
            [
                one.data,
                lists.number(one.own),
                league.titles[one.rival],
                lists.number(one.other),
                f"{one.gain:+.4f}" + ("" if math.isnan(one.error) else f" ± {one.error:.4f}"),
                one.folds,
                Cell(one.verdict, best=one.verdict.startswith("ahead")),
            ]
            for one in gaps(league, criterion)
        ]
        heading = find_criterion(criterion).heading
        caption = f"{heading}: beside the best rival of each set; gain ± standard error, paired by fold"
        headings = ["Set", league.titles[league.own], "Best rival", "Its figure", "Gain", "Folds", "Verdict"]
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
            lists.number(row["average precision"]),
            lists.number(row["gain"]),
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
            figures.speed_plot(points, league.titles[league.own]),
            "On the line: nobody is both better and quicker",
        ),
        table(headings, rows, caption),
    ]
