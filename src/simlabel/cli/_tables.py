"""Tables for the terminal: they fit its width, and break into several where they must."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from simlabel._utils.text import for_terminal
from simlabel.cli._console import FAILED, say

if TYPE_CHECKING:
    from simlabel.experiments import Comparison, Reproduction

_FIGURE = 13  # columns of the terminal for one criterion, with the space around it


def figure(mean: float, std: float) -> str:
    """Mean and deviation, or the mean alone where there is only one fold."""
    if math.isnan(mean):
        return "undefined"
    return f"{mean:.3f}" if math.isnan(std) else f"{mean:.3f}±{std:.3f}"


def show_comparison(console: Console, comparison: Comparison, data: str, criteria: Sequence[str]) -> None:
    """Algorithms down, criteria across, best in bold; as many tables as the width asks for."""
    from simlabel.metrics import find_criterion

    names = comparison.algorithms(data)
    shown = [criterion for criterion in criteria if criterion in comparison.criteria(data)]
    widest = max(len(comparison.titles[name]) for name in names)
    at_a_time = max(1, (console.width - widest - 2) // _FIGURE)
    for start in range(0, len(shown), at_a_time):
        part = shown[start : start + at_a_time]
        spread = ", mean ± standard deviation" if comparison.n_folds(data) > 1 else ""
        title = f"{data}: {comparison.protocol}{spread}" if start == 0 else None
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        table.add_column("Algorithm", no_wrap=True)
        for criterion in part:
            table.add_column(find_criterion(criterion).heading, justify="right")
        for name in names:
            series = comparison.of(data, name)
            cells = [
                Text(
                    figure(series.mean(criterion), series.std(criterion)),
                    style="bold" if name in comparison.best(data, criterion) else "",
                )
                for criterion in part
            ]
            table.add_row(comparison.titles[name], *cells)
        console.print(table)


def say_failures(comparison: Comparison) -> None:
    """An absent algorithm is said; one that failed makes the command fail."""
    for failure in comparison.failures:
        say(failure, mark="left out", style="bold yellow")
    if not comparison.results or any(failure.data for failure in comparison.failures):
        raise typer.Exit(FAILED)


def show_reproduction(console: Console, reproduction: Reproduction) -> None:
    """Published beside measured for each algorithm and criterion, then the claims."""
    from simlabel.metrics import find_criterion

    title = f"{reproduction.data.name}: the paper's table, {reproduction.comparison.protocol}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("Algorithm", no_wrap=True)
    table.add_column("Criterion", no_wrap=True)
    for heading_text in ("Published", "Measured", "Within one std"):
        table.add_column(heading_text, justify="right", no_wrap=heading_text != "Within one std")
    last = ""
    for row in reproduction.rows():
        if last not in ("", row.algorithm):
            table.add_section()
        agrees = Text(
            {True: "yes", False: "no", None: "-"}[row.agrees], "bold" if row.agrees is False else ""
        )
        published = "-" if row.published is None else str(row.published)
        first = row.algorithm if row.algorithm != last else ""
        table.add_row(first, find_criterion(row.criterion).heading, published, str(row.measured), agrees)
        last = row.algorithm
    console.print(table)
    console.print("The paper's claims, judged by what was measured:")
    for claim in reproduction.claims():
        verdict = (for_terminal(claim.verdict), "bold")
        because = for_terminal(_sentence(claim.because))
        console.print(Text.assemble("- ", for_terminal(claim.text), ": ", verdict, ". ", because))


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
