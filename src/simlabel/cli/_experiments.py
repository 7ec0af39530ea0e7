"""The commands that run experiments: `demo`, `compare` and `reproduce`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.text import Text

from simlabel._utils.progress import progress_bar
from simlabel._utils.text import for_terminal
from simlabel.cli import _options as options
from simlabel.cli._console import (
    FAILED,
    Terminal,
    check_list_path,
    command,
    say,
    show_json,
    show_report_table,
    show_table,
    write_frame,
)

if TYPE_CHECKING:
    from simlabel.datasets import Dataset
    from simlabel.experiments import Comparison, Reproduction

# names are written out so that --help needs no import; tests/cli/test_imports.py compares them
ALGORITHM_NAMES = (
    *("sml", "autosml", "mlknn", "boostexter", "adtboost", "ranksvm"),
    *("br", "cc", "lp", "knn", "rf", "et"),
)
_EXAMPLES = 5
_VALUE_WIDTH = 13  # terminal columns of a mean with its standard deviation, and the space around them


@command
def demo_command(*, folds: options.Folds = 10, seed: options.Seed = 0) -> None:
    """Cross-validate SML on the yeast data, compare with the paper's values, and show some predictions."""
    from simlabel import SMLClassifier
    from simlabel.datasets import load_dataset
    from simlabel.experiments import KFolds, Reproduction, compare
    from simlabel.experiments.reports import published_table

    started = time.perf_counter()
    data = load_dataset("yeast")
    Terminal().print(f"{data!r}")
    algorithms, protocol = {"sml": SMLClassifier(random_state=seed)}, KFolds(folds, seed=seed)
    with progress_bar("cross-validation", announced=False) as bar:
        comparison = compare(data, algorithms, protocol, on_progress=bar)
    show_report_table(published_table(Reproduction(data, comparison)))
    _show_examples(data, seed)
    Terminal().print(f"Done in {time.perf_counter() - started:.1f} s.")


def _show_examples(data: Dataset, seed: int) -> None:
    import numpy as np

    from simlabel import SMLClassifier

    order = np.random.default_rng(seed).permutation(data.n_rows)
    queries, references = order[:_EXAMPLES], order[_EXAMPLES:]
    model = SMLClassifier(random_state=seed).fit(data.X[references], data.Y[references])
    rows = []
    for gene, predicted in zip(queries, model.predict_sets(data.X[queries]), strict=True):
        true = sorted(data.Y[[gene]].indices.tolist())
        names = [", ".join(str(data.label_names[k]) for k in labels) for labels in (predicted, true)]
        rows.append((str(gene), *names, f"{len(set(predicted) & set(true))} of {len(true)}"))
    title = "Genes that are not in the training set: predicted functions, strongest first"
    show_table(["Gene", "Predicted", "True", "Correct"], rows, title, numbers=False)


@command
def compare_command(
    data: Annotated[
        list[str] | None, typer.Argument(help="Files, or names of data sets.", show_default=False)
    ] = None,
    *,
    algorithms: Annotated[
        str,
        typer.Option(
            "--algorithms",
            "-a",
            help=f"Names separated by commas: {', '.join(ALGORITHM_NAMES)}; or module:Class of any "
            "estimator.",
        ),
    ] = "sml,autosml,mlknn,br,rf",
    list_algorithms: Annotated[bool, typer.Option("--list", help="List the algorithms and exit.")] = False,
    split: options.SplitOptions,
    run: options.Run,
    criteria: options.Criteria = "paper",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Also write a table with a row per data set, algorithm, fold and criterion: .csv, .xlsx or "
            ".jsonl.",
        ),
    ] = None,
    reading: options.DatasetReading,
    json: options.Json = False,
) -> None:
    """Compare algorithms on the same folds of one or more data sets.

    Each finished fold is saved; run the same command again to resume an interrupted comparison.
    """
    from simlabel.experiments import compare
    from simlabel.experiments.reports import comparison_report

    if list_algorithms:
        _list_algorithms(json)
        return
    if output is not None:
        check_list_path(output)
    if not data:
        raise typer.BadParameter("give at least one data set, e.g. simlabel compare yeast.")
    names = _check_algorithms(algorithms)
    shown = options.parse_criteria(criteria)
    protocol = split.protocol()
    sets = [reading.load(source, fixed_split=split.fixed_split) for source in data]
    with progress_bar("comparing", announced=False) as bar:
        comparison = compare(
            sets, names, protocol, folder=run.folder, jobs=run.jobs, seed=split.seed, on_progress=bar
        )
    if comparison.results and output is not None:
        values = comparison.to_frame()
        write_frame(values[values["criterion"].isin(shown)], output)
    if comparison.results:
        run.write_reports(
            lambda: comparison_report(comparison, sets, protocol, criteria=shown, seed=split.seed)
        )
    if json:
        show_json(comparison.to_dict(shown))
    else:
        _show_comparison(comparison, shown)
    _report_failures(comparison)


def _check_algorithms(algorithms: str) -> list[str]:
    """Return names that exist; the comparison reports those that are not installed."""
    from simlabel.experiments import AlgorithmNotInstalled, find_algorithm

    names = options.split_option(algorithms)
    for name in names:
        if name in ALGORITHM_NAMES:
            continue
        try:
            find_algorithm(name)
        except AlgorithmNotInstalled as error:
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


def _show_comparison(comparison: Comparison, criteria: Sequence[str]) -> None:
    from simlabel.experiments.reports import comparison_tables

    console = Terminal()
    for data in comparison.data_names:
        widest = max(len(comparison.titles[name]) for name in comparison.algorithms(data))
        per_table = max(1, (console.width - widest - 2) // _VALUE_WIDTH)
        for table in comparison_tables(comparison, data, criteria, per_table):
            show_report_table(table, compact=True)
    ranking = comparison.ranking(criteria)
    for line in [] if ranking is None else str(ranking).splitlines():
        console.print(line)


@command
def reproduce_command(
    table: Annotated[
        Literal["yeast", "image"], typer.Argument(help="The data set of one of the paper's tables.")
    ],
    *,
    quick: Annotated[bool, typer.Option("--quick", help="Run SML and ML-kNN only.")] = False,
    folds: options.Folds = 10,
    seed: options.Seed = 0,
    run: options.Run,
    json: options.Json = False,
) -> None:
    """Reproduce one of the paper's tables: published and measured values, and the paper's claims.

    Each finished fold is saved; run the same command again to resume an interrupted run.
    """
    from simlabel.experiments import FULL, QUICK, KFolds, reproduce
    from simlabel.experiments.reports import reproduction_report

    algorithms = QUICK if quick else FULL
    with progress_bar("reproducing", announced=False) as bar:
        reproduction = reproduce(
            table,
            algorithms=algorithms,
            folds=folds,
            seed=seed,
            folder=run.folder,
            jobs=run.jobs,
            on_progress=bar,
        )
    finished = bool(reproduction.comparison.results)
    if finished:
        run.write_reports(lambda: reproduction_report(reproduction, KFolds(folds, seed=seed), seed=seed))
    if json:
        show_json(reproduction.to_dict())
    elif finished:
        _show_reproduction(reproduction)
    _report_failures(reproduction.comparison)


def _show_reproduction(reproduction: Reproduction) -> None:
    from simlabel.experiments.reports import published_table

    show_report_table(published_table(reproduction))
    Terminal().print("The paper's claims, compared with the measured values:")
    for claim in reproduction.claims():
        because = f"{claim.because[0].upper()}{claim.because[1:]}."
        verdict = (for_terminal(claim.verdict), "bold")
        Terminal().print(
            Text.assemble("- ", for_terminal(claim.text), ": ", verdict, ". ", for_terminal(because))
        )


def _report_failures(comparison: Comparison) -> None:
    """Print what was skipped; the command fails if an algorithm has failed on a data set."""
    for failure in comparison.failures:
        say(failure, mark="left out", style="bold yellow")
    if not comparison.results or any(failure.data for failure in comparison.failures):
        raise typer.Exit(FAILED)
