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
    selections,
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
        title = find_criterion(one.criterion).title
        blocks += [Text(f"{title}. {line}") for line in str(one).splitlines()[1:2]]
        picture = figures.rank_plot(one) if not math.isnan(one.friedman) else None
        if picture is not None:
            blocks.append(
                Picture(picture, f"{title}: rivals under one bar are not told apart by Nemenyi's test")
            )
    blocks += _selected(league)
    own = league.titles[league.own]
    pairs = [pair for pair in first.pairs if own in (pair.first, pair.second)]
    shown = [
        [pair.second if pair.first == own else pair.first, f"{pair.p_value:.3g}", f"{pair.p_holm:.3g}"]
        for pair in pairs
    ]
    caption = (
        f"{own} against each rival by average precision, on the sets on which both have ended: Wilcoxon, and "
        f"with Holm's correction for all pairs"
    )
    blocks.append(table(["Rival", "p", "p (Holm)"], shown, caption, folded=True))
    return blocks


def _selected(league: League) -> list[Block]:
    """Mean places over some of the sets, where there are others, with all who played on those."""
    found = {what: ranking(league, _AP, sets) for what, sets in selections(league).items()}
    there = {what: one for what, one in found.items() if one is not None}
    if len(there) < 2:
        return []
    names = list(dict.fromkeys(name for one in there.values() for name in one.mean_ranks))
    rows: list[list[str | Cell]] = []
    for name in names:
        ranks = [one.mean_ranks.get(name, math.nan) for one in there.values()]
        best = [min(one.mean_ranks.values()) for one in there.values()]
        cells = zip(ranks, best, strict=True)
        rows.append([name, *(Cell("" if math.isnan(r) else f"{r:.2f}", r == first) for r, first in cells)])
    apart = ["" if math.isnan(one.friedman) else f"{one.critical_difference:.2f}" for one in there.values()]
    rows.append(["critical difference", *apart])
    headings = ["Rival", *(f"{what} ({one.n_sets})" for what, one in there.items())]
    caption = "Mean places by average precision over some of the sets: those of a column played on all of its"
    return [table(headings, rows, caption)]


def _practical(league: League) -> list[Block]:
    found = practically(league)
    if not found:
        return []
    shares = {league.titles[rival]: (one.better, one.equal, one.worse) for rival, one in found.items()}
    own = league.titles[league.own]
    rows = [
        [league.titles[rival], *(f"{share:.2f}" for share in (one.better, one.equal, one.worse)), one.n_sets]
        for rival, one in found.items()
    ]
    names = (f"{own} better", "as good as equal", "rival better")
    return [
        Text(
            f"Bayesian signed-rank test by average precision; up to {REGION:g} is as good as no difference. "
            f"Sets on which a rival was late are no part of it: of few sets it says little."
        ),
        Picture(figures.probability_plot(shares, names), "Probability that one is practically better"),
        table(["Rival", *names, "Sets"], rows, "The same as numbers", folded=True),
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
        own = league.titles[league.own]
        caption = f"{title}: wins-ties-losses of {own}; up to {REGION:g} is a tie, and who was late has lost"
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
                "" if math.isnan(one.gain) else lists.signed(one.gain, one.error),
                one.folds,
                Cell(one.verdict, best=one.verdict.startswith("ahead")),
            ]
            for one in gaps(league, criterion)
        ]
        if not rows:
            continue
        heading = find_criterion(criterion).heading
        caption = (
            f"{heading}: beside the best rival of each set; gain ± standard error, paired by fold and "
            f"corrected for training parts that overlap"
        )
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
    above = frame["gain"].notna().all()  # where frequencies have played
    rows = [
        [
            league.titles[str(rival)],
            lists.number(row["average precision"]),
            f"{row['seconds']:.2f}",
            "" if math.isnan(row["MiB"]) else f"{row['MiB']:.0f}",
            "yes" if row["unbeaten"] else "",
            *([lists.number(row["gain"]), f"{row['gain for a second']:.3f}"] if above else []),
        ]
        for rival, row in frame.iterrows()
    ]
    headings = ["Rival", "Average precision", "Seconds", "MiB", "Unbeaten"]
    headings += ["Above frequencies", "Gain for a second"] if above else []
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
