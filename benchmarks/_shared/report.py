"""Tables on the screen and in the docs, so that the figures in the docs come from a script.

Each benchmark has a page of its own; what matters most of all of them is one table in README.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _shared.timing import machine
from rich.console import Console
from rich.table import Table

_SUMMARY = ("what", "value", "beside", "wanted")


@dataclass
class Part:
    """What one benchmark found: a table, or several, and what matters most of it."""

    title: str
    columns: Sequence[str]
    intro: str = ""
    tables: dict[str, list[list[str]]] = field(default_factory=lambda: {"": []})  # by their headings
    figures: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plots: dict[str, Any] = field(default_factory=dict)  # file name -> matplotlib figure
    own_columns: dict[str, Sequence[str]] = field(default_factory=dict)  # by heading, where they are others

    def section(self, heading: str, columns: Sequence[str] | None = None) -> None:
        """Begin another table, of the same columns if no others are given."""
        self.tables[heading] = []
        if columns is not None:
            self.own_columns[heading] = columns

    def row(self, *cells: object) -> None:
        """Add a row to the last table."""
        list(self.tables.values())[-1].append([str(cell) for cell in cells])

    def times(self, seconds: Mapping[str, float], *before: object, per: int = 1, digits: str = ".2f") -> None:
        """Add a row for each contestant: its name, its time, and that as a multiple of the first's.

        `per` is how many of the shown unit a second has: 1000 for milliseconds.
        """
        first = next(iter(seconds.values()))
        for name, s in seconds.items():
            self.row(*before, name, f"{s * per:{digits}}", f"{s / first:.2f}")

    def figure(self, what: str, value: object, beside: str, wanted: str = "") -> None:
        """Add a line to the summary: what was measured, beside what, and what was wanted of it."""
        self.figures.append(dict(zip(_SUMMARY, (what, str(value), beside, wanted), strict=True)))


def publish(name: str, part: Part, folder: Path) -> None:
    """Print a part's tables, write its page and plots, and bring the summary up to date."""
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=150)
    lines = [f"# {part.title}", ""] + [part.intro, ""] * bool(part.intro)
    for heading, rows in part.tables.items():
        if rows:
            columns = part.own_columns.get(heading, part.columns)
            table = Table(*columns, title=heading or part.title)
            for row in rows:
                table.add_row(*row)
            console.print(table)
            lines += [f"## {heading}", ""] * bool(heading) + [*_markdown(columns, rows), ""]
    for note in part.notes:
        console.print(note, highlight=False)
        lines += [note, ""]
    for file, figure in part.plots.items():
        figure.savefig(folder / file)
        lines += [f"![{part.title}]({file})", ""]
    lines += [f"Measured on {machine()}, by `benchmarks/run.py {name}`."]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n")
    if part.figures:
        _summarize(name, part, folder)


def _summarize(name: str, part: Part, folder: Path) -> None:
    store = folder / "figures.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    known[name] = {"title": part.title, "machine": machine(), "figures": part.figures}
    store.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    rows = [
        [f"[{name}]({name}.md)", *(figure[key] for key in _SUMMARY)]
        for name, one in sorted(known.items())
        for figure in one["figures"]
    ]
    machines = sorted({one["machine"] for one in known.values()})
    lines = ["# Benchmarks", "", "All figures are of medians of repeated, alternating runs in one process."]
    lines += ["", *_markdown(["part", "what", "figure", "beside", "wanted"], rows), ""]
    lines += [f"Measured on {'; '.join(machines)}, by `make bench` (`benchmarks/run.py speed`)."]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def _markdown(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
