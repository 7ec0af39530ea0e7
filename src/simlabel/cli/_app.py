"""The verbs, and how an error reaches the terminal: one line that says what to do."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from simlabel.cli._demo import run_demo

app = typer.Typer(
    help="Similarity-based multi-label learning.", no_args_is_help=True, pretty_exceptions_enable=False
)


@app.callback()
def _root() -> None:
    """Similarity-based multi-label learning."""


@app.command()
def demo(
    folds: Annotated[int, typer.Option(min=2, help="Number of cross-validation folds.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the shuffle.")] = 0,
    debug: Annotated[bool, typer.Option(help="Show the trace of an error.")] = False,
) -> None:
    """Cross-validate SML on the yeast set beside the paper's figures, and show some predictions."""
    try:
        run_demo(Console(), folds=folds, seed=seed)
    except (ValueError, OSError, ImportError) as error:
        if debug:
            raise
        Console(stderr=True).print(f"[bold red]error[/]: {error}", highlight=False)
        raise typer.Exit(1) from None


def main() -> None:
    """Run the command line; Ctrl-C ends it with code 130 and no trace."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
