"""The commands that describe data: `datasets` and `columns`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, command, records, show_json, show_table

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.datasets import Dataset

_MOST_LABELS = 20


@command
def datasets_command(
    source: Annotated[
        str | None,
        typer.Argument(
            help="A file or the name of a data set; by default list the data sets.", show_default=False
        ),
    ] = None,
    *,
    reading: options.DatasetReading,
    json: options.Json = False,
) -> None:
    """List the data sets that are available by name, or describe one."""
    from simlabel.datasets import list_datasets

    if source is not None:
        _describe(reading.load(source), json)
        return
    with Terminal(stderr=True).status("reading the data sets"):
        listing = list_datasets()
    if json:
        show_json(records(listing.reset_index()))
    else:
        _show_list(listing)


def _show_list(listing: pd.DataFrame) -> None:
    rows = [
        (
            str(name),
            *(f"{row[column]:,}" for column in ("rows", "features", "labels")),
            f"{row['cardinality']:.3f}",
            f"{row['density']:.3f}",
            f"{row['distinct_label_sets']:,}",
        )
        for name, row in listing.iterrows()
        if not row["problem"]
    ]
    headings = ["Name", "Rows", "Features", "Labels", "Per row", "Density", "Distinct sets"]
    show_table(headings, rows, "Data sets that can be loaded by name")
    for name, problem in listing["problem"].items():
        if problem:
            Terminal().print(f"not listed: {name}: {problem}")
    if not len(listing):
        Terminal().print(
            "Put files in the folder that SIMLABEL_DATA names, or install river, which includes yeast."
        )


def _describe(data: Dataset, json: bool) -> None:
    counts = data.Y.sum(axis=0)
    order = sorted(range(data.n_labels), key=lambda k: -counts[k])
    label_counts = {str(data.label_names[k]): int(counts[k]) for k in order}
    if json:
        show_json({"name": data.name, **data.facts(), "label_counts": label_counts})
        return
    Terminal().print(repr(data))
    rows = [(name, f"{n:,}") for name, n in [*label_counts.items()][:_MOST_LABELS]]
    show_table(["Label", "Rows"], rows, "Labels, the most frequent first")
    if data.n_labels > _MOST_LABELS:
        Terminal().print(f"and {data.n_labels - _MOST_LABELS:,} more")


@command
def columns_command(
    data: Annotated[Path, typer.Argument(help="A table: CSV or TSV, JSON, JSON lines, Parquet, xlsx.")],
    *,
    reading: options.FileReading,
    json: options.Json = False,
) -> None:
    """Show the detected type of each column of a table, with the reason; options of fit override it."""
    from simlabel.cli._fitting import show_columns
    from simlabel.cli._rows import open_table
    from simlabel.tables import detect_columns, table_cells

    found = detect_columns(table_cells(open_table(data, reading).frame))
    if json:
        show_json([{"column": one.name, "kind": one.kind, "reason": one.reason} for one in found])
    else:
        show_columns(found)
