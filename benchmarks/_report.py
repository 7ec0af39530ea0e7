"""Tables on the screen and in docs/benchmarks, so that the figures in the docs come from a script.

Each part has a page of its own; what matters most of all parts is one table in README.md.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from _timing import machine
from rich.console import Console
from rich.table import Table

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "benchmarks"


@dataclass(frozen=True)
class Figure:
    """One line of the summary: what was measured, beside what, and what was wanted of it."""

    what: str
    value: str
    beside: str
    wanted: str = ""


@dataclass
class Part:
    """What one benchmark found."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[str]] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plots: dict[str, Any] = field(default_factory=dict)  # file name -> matplotlib figure


def publish(part: Part, folder: Path = FOLDER) -> None:
    """Print a part's table, write its page and plots, and bring the summary up to date."""
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=150)
    table = Table(*part.columns, title=part.title)
    for row in part.rows:
        table.add_row(*row)
    console.print(table)
    for note in part.notes:
        console.print(note, highlight=False)
    for file, figure in part.plots.items():
        figure.savefig(folder / file)
    lines = [f"# {part.title}", "", *_table(part.columns, part.rows), "", *part.notes, ""]
    lines += [f"![{part.title}]({file})\n" for file in part.plots]
    lines += [f"Measured on {machine()}, by `benchmarks/run.py {part.name}`."]
    (folder / f"{part.name}.md").write_text("\n".join(lines) + "\n")
    _summarise(part, folder)


def _summarise(part: Part, folder: Path) -> None:
    store = folder / "figures.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    figures = [asdict(figure) for figure in part.figures]
    known[part.name] = {"title": part.title, "machine": machine(), "figures": figures}
    store.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    rows = [
        [f"[{name}]({name}.md)", *(figure[key] for key in ("what", "value", "beside", "wanted"))]
        for name, one in sorted(known.items())
        for figure in one["figures"]
    ]
    machines = sorted({one["machine"] for one in known.values()})
    lines = ["# Benchmarks", "", "All figures are of medians of repeated, alternating runs in one process."]
    lines += ["", *_table(["part", "what", "figure", "beside", "wanted"], rows), ""]
    lines += [f"Measured on {'; '.join(machines)}, by `make bench` (`benchmarks/run.py`)."]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def _table(columns: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
