"""One table on the screen and in docs/benchmarks, so that the figures in the docs come from a script."""

from __future__ import annotations

from pathlib import Path

from _timing import machine
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


def publish(name: str, title: str, columns: list[str], rows: list[list[str]], notes: list[str]) -> None:
    """Print a table and write it to docs/benchmarks/<name>.md."""
    table = Table(*columns, title=title)
    for row in rows:
        table.add_row(*row)
    console = Console(width=140)
    console.print(table)
    lines = [f"# {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", *notes, "", f"Measured on {machine()}, by `benchmarks/{name}.py`."]
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.md").write_text("\n".join(lines) + "\n")
    for note in notes:
        console.print(note, highlight=False)
