"""Options of the verbs that read raw tables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated

import typer

from simlabel.cli._wording import spelled

_TABLE = "What columns of a table hold, if not as found out (repeatable)"
_ROWS = "The rows of a table"
_READING = "How to read the data"

Text = Annotated[list[str] | None, typer.Option("--text", help="Words.", rich_help_panel=_TABLE)]
Category = Annotated[
    list[str] | None, typer.Option("--category", help="One of some values.", rich_help_panel=_TABLE)
]
Number = Annotated[list[str] | None, typer.Option("--number", help="A quantity.", rich_help_panel=_TABLE)]
Multi = Annotated[
    list[str] | None,
    typer.Option("--multi", help="Several values with a separator between them.", rich_help_panel=_TABLE),
]
Date = Annotated[
    list[str] | None, typer.Option("--date", help="A date, or a date and a time.", rich_help_panel=_TABLE)
]
Ignore = Annotated[list[str] | None, typer.Option("--ignore", help="Left out.", rich_help_panel=_TABLE)]
EmptyMeansNone = Annotated[
    bool,
    typer.Option(
        "--empty-means-none",
        help="An empty label cell means that no label applies; by default its row is untagged and left out.",
        rich_help_panel=_ROWS,
    ),
]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="The column by which rows are called.", rich_help_panel=_ROWS)
]
TitleColumn = Annotated[
    str | None, typer.Option("--title", help="The column that is shown for a row.", rich_help_panel=_ROWS)
]
GroupColumn = Annotated[
    str | None,
    typer.Option(
        "--group-column",
        help="Rows with the same cell here are near copies: none of them is judged by the others. It is no "
        "feature, unless it is named as one.",
        rich_help_panel=_ROWS,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Of a text file, such as latin-1; by default found out.", rich_help_panel=_READING),
]
Sheet = Annotated[
    str | None, typer.Option(help="Of a workbook; by default the first.", rich_help_panel=_READING)
]
Retune = Annotated[
    bool, typer.Option("--retune", help="Then choose anew what was chosen at fit; takes as long as a fit.")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe/--raw",
        help="In CSV, put an apostrophe before what a spreadsheet would take for a formula.",
    ),
]


def kinds_of(given: Mapping[str, Sequence[str] | None]) -> dict[str, str]:
    """Columns by name, from the columns of each kind; one that is given two kinds is misuse."""
    found: dict[str, str] = {}
    for kind, names in given.items():
        for name in names or ():
            if found.setdefault(name, kind) != kind:
                raise typer.BadParameter(f"column {name!r} cannot be both --{found[name]} and --{kind}.")
    return found


def check_columns(columns: Iterable[Hashable], wanted: Mapping[str, str | None], where: object) -> None:
    """Columns that options name are there; `wanted` is names by option, None where it was not given."""
    columns = list(columns)
    for option, name in wanted.items():
        if name is not None and name not in columns:
            raise typer.BadParameter(
                f"{spelled(option)}: {where} has no column {name!r}; it has {', '.join(map(repr, columns))}."
            )
