"""`simlabel reproduce`: the paper's tables, run again."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from simlabel._utils.progress import shown_progress
from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, guarded, say, show_json
from simlabel.cli._tables import say_failures, show_reproduction


class PaperTable(StrEnum):
    """The paper's tables."""

    yeast = "yeast"
    image = "image"


@guarded
def reproduce_verb(
    table: Annotated[PaperTable, typer.Argument(help="Which of the paper's tables.")],
    quick: Annotated[bool, typer.Option("--quick", help="SML and ML-kNN only.")] = False,
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    folder: options.Folder = options.RUNS,
    report: options.Reports = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Run one of the paper's tables again: published, measured, and what becomes of its claims.

    Each finished fold is kept; the same command goes on from where it was stopped.
    """
    from simlabel.experiments import FULL, QUICK, KFolds, reproduce
    from simlabel.experiments.reports import check_report_path, reproduction_report, write_report

    for path in report or ():
        check_report_path(path)
    with shown_progress("reproducing", announced=False) as bar:
        reproduction = reproduce(
            table.value,
            algorithms=QUICK if quick else FULL,
            folds=folds,
            seed=seed,
            folder=folder,
            jobs=jobs,
            on_progress=bar,
        )
    for path in (report or ()) if reproduction.comparison.results else ():
        write_report(reproduction_report(reproduction, KFolds(folds, seed=seed), seed=seed), path)
        say(f"wrote {path}")
    if json:
        show_json(reproduction.to_dict())
    elif reproduction.comparison.results:
        show_reproduction(Terminal(), reproduction)
    say_failures(reproduction.comparison)
