"""`simlabel compare`: several algorithms on several data sets, on the same folds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel._utils.progress import shown_progress
from simlabel.cli import _options as options
from simlabel.cli._choices import ALGORITHMS
from simlabel.cli._console import Terminal, guarded, say, show_json
from simlabel.cli._listing import list_format, write_list
from simlabel.cli._tables import say_failures, show_comparison

if TYPE_CHECKING:
    from simlabel.experiments import Comparison

_DEFAULT = "sml,autosml,mlknn,br,rf"
Sources = Annotated[
    list[str] | None, typer.Argument(help="Files, or names of data sets.", show_default=False)
]
Algorithms = Annotated[
    str,
    typer.Option(
        "--algorithms",
        "-a",
        help=f"Names with commas between: {', '.join(ALGORITHMS)}; or module:Class of any estimator.",
    ),
]


@guarded
def compare_verb(
    data: Sources = None,
    algorithms: Algorithms = _DEFAULT,
    list_them: Annotated[bool, typer.Option("--list", help="List the algorithms and exit.")] = False,
    folds: options.Folds = 10,
    repeats: options.Repeats = 1,
    stratified: options.Stratified = False,
    fixed_split: options.FixedParts = False,
    test_share: options.TestShare = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    folder: options.Folder = options.RUNS,
    criteria: options.Criteria = "paper",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Also write a table with a row for each data set, algorithm, fold and criterion: "
            ".csv, .xlsx or .jsonl.",
        ),
    ] = None,
    report: options.Reports = None,
    labels: options.Labels = None,
    label_prefix: options.LabelPrefix = None,
    label_column: options.LabelColumn = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    missing: options.Missing = None,
    format: options.Format = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Compare algorithms on the same folds of one or more data sets.

    Each finished fold is kept; the same command goes on from where it was stopped.
    """
    from simlabel.experiments import compare
    from simlabel.experiments.reports import check_report_path, comparison_report, write_report

    if list_them:
        _list_algorithms(json)
        return
    for path in report or ():
        check_report_path(path)
    if output is not None:
        list_format(output)
    if not data:
        raise typer.BadParameter("give at least one data set, e.g. simlabel compare yeast.")
    names = _checked(algorithms)
    shown = options.criteria_of(criteria)
    protocol = options.protocol_of(folds, repeats, stratified, fixed_split, test_share, seed)
    reading = options.Reading(
        labels, label_prefix, label_column, separator, delimiter, missing, format, max_gib
    )
    sets = [reading.load(source, fixed_split=fixed_split) for source in data]
    with shown_progress("comparing", announced=False) as bar:
        comparison = compare(sets, names, protocol, folder=folder, jobs=jobs, seed=seed, on_progress=bar)
    if comparison.results and output is not None:
        values = comparison.to_frame()
        write_list(values[values["criterion"].isin(shown)], output)
    if comparison.results and report:
        page = comparison_report(comparison, sets, protocol, criteria=shown, seed=seed)
        for path in report:
            write_report(page, path)
            say(f"wrote {path}")
    if json:
        show_json(comparison.to_dict(shown))
    else:
        _show(comparison, shown)
    say_failures(comparison)


def _show(comparison: Comparison, criteria: list[str]) -> None:
    console = Terminal()
    for name in comparison.data_names:
        show_comparison(console, comparison, name, criteria)
    ranking = comparison.ranking(criteria)
    for line in [] if ranking is None else str(ranking).splitlines():
        console.print(line)


def _checked(algorithms: str) -> list[str]:
    """Names that exist; those that exist but are not installed are said later, by the comparison."""
    from simlabel.experiments import AlgorithmAbsent, find_algorithm

    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    for name in names:
        if name in ALGORITHMS:
            continue
        try:
            find_algorithm(name)
        except AlgorithmAbsent as error:
            raise typer.BadParameter(str(error)) from None
    if not names:
        raise typer.BadParameter("give at least one algorithm.")
    return names


def _list_algorithms(json: bool) -> None:
    from simlabel.experiments import list_algorithms

    table = list_algorithms()
    if json:
        show_json(table.reset_index().to_dict("records"))
        return
    for name, row in table.iterrows():
        Terminal().print(f"{name:<11} {row['title']:<13} {row['what']}")
