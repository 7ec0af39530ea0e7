"""`simlabel columns`: what the columns of a table hold."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import Terminal, guarded, show_json


@guarded
def columns_verb(
    data: Annotated[Path, typer.Argument(help="A table: CSV or TSV, JSON, JSON lines, Parquet, xlsx.")],
    delimiter: options.Delimiter = None,
    format: Annotated[str | None, typer.Option(help="As detected by default.")] = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show what each column of a table is taken for, and why; fit has options that say it otherwise."""
    from simlabel.cli._table_fit import opened, show_columns
    from simlabel.tables import detect_columns, table_cells

    reading = options.Reading(
        delimiter=delimiter, format=format, max_gib=max_gib, encoding=encoding, sheet=sheet
    )
    found = detect_columns(table_cells(opened(data, reading).frame))
    if json:
        show_json([{"column": one.name, "kind": one.kind, "reason": one.reason} for one in found])
    else:
        show_columns(Terminal(), found)
