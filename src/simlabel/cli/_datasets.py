"""`simlabel datasets`: what is there by name, or the facts of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, guarded, show_json

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.datasets import Dataset

Source = Annotated[
    str | None, typer.Argument(help="A file or a name; without one, list what is there.", show_default=False)
]


@guarded
def datasets_verb(
    source: Source = None,
    labels: options.Labels = None,
    label_prefix: options.LabelPrefix = None,
    label_column: options.LabelColumn = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    missing: options.Missing = None,
    format: options.Format = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List the data sets that are there by name, or show the facts of one."""
    from simlabel.datasets import list_datasets

    if source is not None:
        reading = options.Reading(
            labels, label_prefix, label_column, separator, delimiter, missing, format, max_gib
        )
        return _show_one(reading.load(source), json)
    with Terminal(stderr=True).status("reading the data sets"):
        listing = list_datasets()
    return _show_all(listing, json)


def _show_all(listing: pd.DataFrame, json: bool) -> None:
    if json:
        rows = listing.reset_index().astype(object).where(listing.reset_index().notna(), None)
        return show_json(rows.to_dict("records"))
    table = Table(title="Data sets that can be loaded by name")
    for heading in ("Name", "Rows", "Features", "Labels", "Per row", "Density", "Distinct sets"):
        table.add_column(heading, justify="left" if heading == "Name" else "right", no_wrap=heading == "Name")
    problems = []
    for name, row in listing.iterrows():
        if row["problem"]:
            problems.append(f"{name}: {row['problem']}")
            continue
        counts = [f"{row[column]:,}" for column in ("rows", "features", "labels")]
        shares = [f"{row['cardinality']:.3f}", f"{row['density']:.3f}", f"{row['distinct_label_sets']:,}"]
        table.add_row(str(name), *counts, *shares)
    Terminal().print(table)
    for problem in problems:
        Terminal().print(f"not listed: {problem}")
    if not len(listing):
        text = "Put files in the folder that SIMLABEL_DATA names, or install river, which carries yeast."
        Terminal().print(text)
    return None


def _show_one(data: Dataset, json: bool) -> None:
    counts = data.Y.sum(axis=0)
    order = sorted(range(data.n_labels), key=lambda k: -counts[k])
    facts: dict[str, Any] = {
        "name": data.name,
        "rows": data.n_rows,
        "features": data.n_attributes,
        "labels": data.n_labels,
        "cardinality": data.cardinality,
        "density": data.density,
        "distinct_label_sets": data.distinct_label_sets,
        "source": data.source,
        "label_counts": {str(data.label_names[k]): int(counts[k]) for k in order},
    }
    if json:
        return show_json(facts)
    console = Terminal()
    console.print(repr(data))
    table = Table(title="Labels, the most frequent first")
    table.add_column("Label")
    table.add_column("Rows", justify="right")
    for name, count in list(facts["label_counts"].items())[:20]:
        table.add_row(name, f"{count:,}")
    console.print(table)
    if data.n_labels > 20:
        console.print(f"and {data.n_labels - 20:,} more")
    return None
