"""`simlabel explain`: why a model gives the labels it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import Terminal, guarded, show_json
from simlabel.cli._predict import IndexBase, ModelFile, RowsFile, rows_of

_MOST_ROWS = 10_000


@guarded
def explain_verb(
    model: ModelFile,
    data: RowsFile,
    rows: Annotated[str, typer.Option(help="Which rows, counted from 0: 0,5,7-9.")] = "0",
    top: Annotated[int, typer.Option(min=1, help="Labelled instances to list for each label.")] = 5,
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

    wanted = _rows(rows)
    fitted = FittedModel.open(model)
    reading = options.Reading(
        delimiter=delimiter, format=format, max_gib=max_gib, encoding=encoding, sheet=sheet
    )
    source = fitted.rows(data, reading, index_base=index_base)
    X = rows_of(source, data, wanted)
    source.tell()
    names = source.names(X)
    explanation = fitted.explain(X, top)
    if json:
        frame = explanation.to_frame()
        rows_called: dict[str, Sequence[object]] = {
            "row": wanted,
            **{f"row_{what}": cells for what, cells in names.items()},
        }
        for what, cells in rows_called.items():
            frame[what] = [cells[query] for query in frame["query"]]
        predicted = frame[frame["predicted"]].drop(columns=["query", "predicted"]).astype(object)
        show_json(predicted.where(predicted.notna(), None).to_dict("records"))
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
