"""`simlabel explain`: why a model gives the labels it gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel._utils.text import some_names
from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import Terminal, guarded, show_json
from simlabel.cli._predict import IndexBase, ModelFile, RowsFile, rows_of

if TYPE_CHECKING:
    from simlabel._utils.validation import Rows
    from simlabel.cli._rows import RowSource

_MOST_ROWS = 10_000


@guarded
def explain_verb(
    model: ModelFile,
    data: RowsFile,
    rows: Annotated[
        str | None, typer.Option(help="Which rows, counted from 0: 0,5,7-9.", show_default="0")
    ] = None,
    ids: Annotated[str | None, typer.Option(help="Which rows, by the model's column of ids: R7,R12.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label to explain, predicted or not: its score beside the threshold, and what speaks for "
            "it and against it. Repeatable; by default the predicted labels."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many words and labeled rows to list for each label.",
            show_default="8 words and 3 rows, of a matrix 10 rows",
        ),
    ] = None,
    index_base: IndexBase = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show which labelled instances decided, for each predicted label and for the number of labels."""
    from simlabel.cli._models import FittedModel

    if rows is not None and ids is not None:
        raise typer.BadParameter("say which rows, with one of --rows and --ids.")
    asked = _rows(rows or "0")
    fitted = FittedModel.open(model)
    reading = options.Reading(
        delimiter=delimiter, format=format, max_gib=max_gib, encoding=encoding, sheet=sheet
    )
    source = fitted.rows(data, reading, index_base=index_base)
    wanted, X = (asked, rows_of(source, data, asked)) if ids is None else _called(source, data, ids)
    source.tell()
    names = source.names(X)
    explanation = fitted.explain(X, top, label or None)
    if json:
        frame = explanation.to_frame()
        rows_called: dict[str, Sequence[object]] = {
            "row": wanted,
            **{f"row_{what}": cells for what, cells in names.items()},
        }
        for what, cells in rows_called.items():
            frame[what] = [cells[query] for query in frame["query"]]
        shown = frame["label"].astype(str).isin(label) if label else frame["predicted"]
        described = frame[shown].drop(columns=["query"] if label else ["query", "predicted"]).astype(object)
        show_json(described.where(described.notna(), None).to_dict("records"))
        return
    console = Terminal()
    if names or wanted != list(range(len(wanted))):
        called = [
            "".join(f", {what} {cells[query]}" for what, cells in names.items())
            for query in range(len(wanted))
        ]
        listed = [f"query {query} is row {row}{called[query]}" for query, row in enumerate(wanted)]
        console.print(f"{data}: {'; '.join(listed)}")
    console.print(explanation)


def _called(source: RowSource, path: Path, ids: str) -> tuple[list[int], Rows]:
    """The rows of a file with these ids, and their numbers."""
    if "id" not in source.called:
        raise typer.BadParameter(
            f"--ids: {path} has no column of ids that the model knows (fit --id names it); use --rows."
        )
    from simlabel.cli._rows import stacked, taken

    names = list(dict.fromkeys(filter(None, (name.strip() for name in ids.split(",")))))
    places: dict[str, list[int]] = {name: [] for name in names}
    blocks: dict[int, Rows] = {}
    first = 0
    for X in source.blocks():
        for at, name in enumerate(source.names(X)["id"]):
            if name in places:
                places[name].append(first + at)
                blocks[first + at] = taken(X, [at])
        first += X.shape[0]
    absent = [name for name in names if not places[name]]
    if absent or not names:
        raise typer.BadParameter(
            f"--ids: {path} has no row with the id {some_names(list(map(repr, absent)))}."
        )
    found = [row for name in names for row in places[name]]
    return found, stacked([blocks[row] for row in found])


def _rows(text: str) -> list[int]:
    rows: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise typer.BadParameter(f"rows are numbers and ranges, such as 0,5,7-9; got {text!r}.")
        several = range(int(first), int(last if dash else first) + 1)
        if len(rows) + len(several) > _MOST_ROWS:
            raise typer.BadParameter(f"at most {_MOST_ROWS:,} rows are explained at a time; got {text!r}.")
        rows |= dict.fromkeys(several)
    return list(rows)
