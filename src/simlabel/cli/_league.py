"""`simlabel compare --league`: all sets, all rivals, one table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from simlabel.cli._console import Terminal, say, show_json
from simlabel.experiments.league import (
    ABLATION,
    MAIN,
    RIVALS,
    League,
    LeagueSet,
    Rival,
    gaps,
    league_sets,
    play,
    ranking,
    seconds_of,
)
from simlabel.metrics import find_criterion
from simlabel.reports import league_report, write_report
from simlabel.support.progress import shown_progress


def run_league(
    data: Sequence[str],
    rivals: str | None,
    *,
    budget: str | None,
    limit: float,
    ablation: bool,
    fixed: bool,
    folder: Path,
    jobs: int,
    seed: int,
    reports: Sequence[Path],
    json: bool,
    options: dict[str, Any],
) -> None:
    """Play, write what was asked for, and show the places."""
    chosen = _rivals(rivals)
    try:
        seconds = None if budget is None else seconds_of(budget)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    sets, left_out = _sets(data, fixed=fixed, seed=seed, **options)
    settings: dict[str, Any] = {
        "left_out": left_out,
        "folder": folder,
        "jobs": jobs,
        "seed": seed,
        "budget": seconds,
        "limit": limit,
    }
    with shown_progress("the league", announced=False) as bar:
        league = play(sets, chosen, **settings, on_progress=bar)
        without = play(sets, ABLATION, **settings, on_progress=bar) if ablation else None
    league.write(folder / "league.json")
    if without is not None:
        without.write(folder / "ablation.json")
    for path in reports:
        write_report(league_report(league, without), path)
        say(f"wrote {path}")
    if json:
        show_json(_as_dict(league))
    else:
        _show(league)
    _tell(league, folder)


def list_rivals(json: bool) -> None:
    """Who can play, what each tries, and who cannot play here and why."""
    if json:
        names = ("name", "title", "what", "absent")
        show_json([{name: getattr(rival, name) for name in names} for rival in RIVALS.values()])
        return
    for rival in RIVALS.values():
        why = "" if rival.absent is None else f" (absent: {rival.absent})"
        Terminal(soft_wrap=True).print(f"{rival.name:<11} {rival.title:<21} {rival.what}{why}")


def _sets(data: Sequence[str], **options: Any) -> tuple[list[LeagueSet], list[str]]:
    """The sets that are named, or those of a folder; what cannot be read is said."""
    folders = [one for one in data if Path(one).is_dir()]
    if len(folders) > 1 or (folders and len(data) > 1):
        raise typer.BadParameter("give names of sets and files, or one folder of files.")
    try:
        sets, left_out = league_sets(
            None if folders or not data else data, folder=folders[0] if folders else None, **options
        )
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    for line in left_out:
        say(f"left out: {line}")
    if not sets:
        raise typer.BadParameter("there is no set to play on.")
    return sets, left_out


def _rivals(names: str | None) -> dict[str, Rival]:
    if names is None:
        return dict(RIVALS)
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise typer.BadParameter(f"give at least one rival; there are {', '.join(RIVALS)}.")
    for name in wanted:
        if name not in RIVALS:
            raise typer.BadParameter(f"the league has no rival {name!r}; there are {', '.join(RIVALS)}.")
    return {name: RIVALS[name] for name in wanted}


def _show(league: League) -> None:
    console = Terminal()
    for criterion in MAIN:
        found = ranking(league, criterion)
        if found is None:
            continue
        ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in found.mean_ranks.items())
        console.print(f"{find_criterion(criterion).heading} on {found.n_sets} sets, mean places: {ranks}")
    for one in gaps(league, MAIN[0]):
        own = "" if math.isnan(one.own) else f"{one.own:.3f}, "
        console.print(
            f"{one.data}: {own}best rival {league.titles[one.rival]} {one.other:.3f}: {one.verdict}"
        )


def _tell(league: League, folder: Path) -> None:
    """What the figures do not show: who is absent, late or left out, and why there are no places."""
    if all(ranking(league, criterion) is None for criterion in MAIN):
        say(
            "no mean places: they need two sets, and two rivals who play on both; what was measured is in "
            f"{folder / 'league.json'}, and --json and --report show it"
        )
    for title, why in league.absent.items():
        say(f"left out: {title}: {why}")
    short: dict[str, list[str]] = {}
    for (name, rival), why in league.out.items():
        if "budget" in why:
            short.setdefault(league.titles[rival], []).append(name)
    if short:
        said = "; ".join(f"{title} on {', '.join(names)}" for title, names in short.items())
        say(f"left out, as the budget of time is too short: {said}")
    for (name, rival), why in league.late.items():
        say(f"lost: {league.titles[rival]} on {name}: {why}")


def _as_dict(league: League) -> dict[str, Any]:
    places = {criterion: ranking(league, criterion) for criterion in MAIN}
    return {
        "machine": league.machine,
        "mean_places": {name: one.mean_ranks for name, one in places.items() if one is not None},
        "figures": league.to_frame()
        .astype(object)
        .where(lambda frame: frame.notna(), None)
        .to_dict("records"),
        "late": [[*key, why] for key, why in league.late.items()],
        "did_not_play": [[*key, why] for key, why in league.out.items()],
        "absent": dict(league.absent),
    }
