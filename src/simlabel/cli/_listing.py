"""Lists for people and machines: a table in the terminal, JSON, or a file (CSV, xlsx, JSON lines)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.table import Table

from simlabel._utils.replacing import replacing
from simlabel.cli._console import Terminal, say, show_json

if TYPE_CHECKING:
    import pandas as pd

ListFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write the list to a file (.csv, .xlsx, .jsonl) instead of showing it."
    ),
]


def show_list(frame: pd.DataFrame, output: Path | None, json: bool, spreadsheet_safe: bool) -> None:
    """Show a frame, or write it; numbers are short, texts as they are but for formulas."""
    if output is not None:
        write_list(frame, output, spreadsheet_safe)
    if json:
        plain = frame.astype(object)
        show_json(plain.where(plain.notna(), None).to_dict("records"))
    elif output is None:
        table = Table(*map(str, frame.columns), box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for row in frame.itertuples(index=False):
            table.add_row(*map(_shown, row))
        Terminal().print(table)


def list_format(output: Path) -> str:
    """The format of a file of a list, by its ending; another ending is misuse."""
    kind = output.suffix.lower().removeprefix(".")
    if kind not in ("csv", "xlsx", "jsonl"):
        raise typer.BadParameter(f"a list goes to a .csv, .xlsx or .jsonl file; got {str(output)!r}.")
    return kind


def write_list(frame: pd.DataFrame, output: Path, spreadsheet_safe: bool = True) -> None:
    """Write a frame to a file, whole or not at all."""
    from simlabel.datasets import table_pieces

    plain = frame.astype(object)
    rows = plain.where(plain.notna(), None).to_numpy().tolist()
    names, kind = list(frame.columns), list_format(output)
    with replacing(output) as file:
        file.writelines(table_pieces(names, rows, kind, spreadsheet_safe=spreadsheet_safe))
    say(f"wrote {len(frame):,} rows to {output}")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
