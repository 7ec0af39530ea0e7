"""Lists for people and machines: a table in the terminal, JSON, or a CSV file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from simlabel.cli._console import Terminal, say, show_json
from simlabel.support.replacing import replacing
from simlabel.support.text import for_spreadsheet

if TYPE_CHECKING:
    import pandas as pd

ListFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the list to a CSV file instead of showing it.")
]


def show_list(frame: pd.DataFrame, output: Path | None, json: bool, spreadsheet_safe: bool) -> None:
    """Show a frame, or write it; numbers are short, texts as they are but for formulas."""
    if output is not None and output.suffix.lower() != ".csv":
        raise typer.BadParameter(f"a list goes to a file whose name ends in .csv; got {str(output)!r}.")
    if output is not None:
        _write(frame, output, for_spreadsheet if spreadsheet_safe else str)
        say(f"wrote {len(frame):,} rows to {output}")
    if json:
        plain = frame.astype(object)
        show_json(plain.where(plain.notna(), None).to_dict("records"))
    elif output is None:
        table = Table(*map(str, frame.columns), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for row in frame.itertuples(index=False):
            table.add_row(*map(_shown, row))
        Terminal().print(table)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _write(frame: pd.DataFrame, output: Path, written: Callable[[object], str]) -> None:
    with replacing(output) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(frame.columns)
        for row in frame.itertuples(index=False):
            writer.writerow([written(cell) if isinstance(cell, str) else cell for cell in row])
        stream.detach()  # the file is not ours to close
