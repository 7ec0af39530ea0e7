"""Lists for people and machines: a table in the terminal, JSON, or a CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from simlabel.cli._console import Terminal, say, show_json
from simlabel.support.replacing import replacing

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
        from simlabel.datasets import table_pieces

        rows = frame.itertuples(index=False)
        with replacing(output) as file:
            file.writelines(table_pieces(list(frame.columns), rows, spreadsheet_safe=spreadsheet_safe))
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
