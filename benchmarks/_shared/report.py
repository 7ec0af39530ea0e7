"""Tables on the screen and in the docs, so that the results in the docs come from a script.

Each benchmark has its own page; the main results of all are one table in README.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from _shared.timing import machine
from rich.console import Console
from rich.table import Table

_SUMMARY = ("what", "result", "reference", "target")


@dataclass
class Part:
    """The results of one benchmark: tables, and the main results for the summary."""

    title: str
    columns: Sequence[str]
    intro: str = ""
    tables: dict[str, list[list[str]]] = field(default_factory=lambda: {"": []})  # by heading
    results: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    plots: dict[str, Any] = field(default_factory=dict)  # file name -> matplotlib figure
    own_columns: dict[str, Sequence[str]] = field(default_factory=dict)  # by heading, if they differ

    def section(self, heading: str, columns: Sequence[str] | None = None) -> None:
        """Begin another table, by default with the same columns."""
        self.tables[heading] = []
        if columns is not None:
            self.own_columns[heading] = columns

    def row(self, *cells: object) -> None:
        """Add a row to the last table."""
        list(self.tables.values())[-1].append([str(cell) for cell in cells])

    def times(self, seconds: Mapping[str, float], *before: object, per: int = 1, digits: str = ".2f") -> None:
        """Add a row for each run: its name, its time, and the ratio to the first.

        `per` is the number of shown units in a second: 1000 for milliseconds.
        """
        first = next(iter(seconds.values()))
        for name, s in seconds.items():
            self.row(*before, name, f"{s * per:{digits}}", f"{s / first:.2f}")

    def result(self, what: str, value: object, reference: str, target: str = "") -> None:
        """Add a line to the summary: the result, what it is compared with, and the target."""
        self.results.append(dict(zip(_SUMMARY, (what, str(value), reference, target), strict=True)))


def mean_error(values: Any, digits: int = 4, sign: str = "") -> str:
    """Format a mean and its standard error; an empty text for undefined values."""
    mean, n = float(np.mean(values)), len(values)
    if np.isnan(mean):
        return ""
    error = f" ± {np.std(values, ddof=1) / np.sqrt(n):.{digits}f}" if n > 1 else ""
    return f"{mean:{sign}.{digits}f}{error}"


def publish(name: str, part: Part, folder: Path) -> None:
    """Print the tables, write the page and its plots, and update the summary."""
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
    if part.results:
        _summarize(name, part, folder)


def _summarize(name: str, part: Part, folder: Path) -> None:
    store = folder / "results.json"
    known = json.loads(store.read_text()) if store.exists() else {}
    known[name] = {"title": part.title, "machine": machine(), "results": part.results}
    store.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    rows = [
        [f"[{name}]({name}.md)", *(result[key] for key in _SUMMARY)]
        for name, one in sorted(known.items())
        for result in one["results"]
    ]
    machines = sorted({one["machine"] for one in known.values()})
    lines = ["# Benchmarks", "", "All results are medians of repeated, alternating runs in one process."]
    lines += ["", *_markdown(["benchmark", "what", "result", "compared with", "target"], rows), ""]
    lines += [f"Measured on {'; '.join(machines)}, by `make bench` (`benchmarks/run.py speed`)."]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def _markdown(columns: Sequence[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]
