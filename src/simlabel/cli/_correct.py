"""`simlabel correct`: other labels for rows that a model has."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._changes import Output, save_changed
from simlabel.cli._console import guarded
from simlabel.cli._predict import ModelFile


@guarded
def correct_verb(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="A table with ids and labels; other columns do not matter.")],
    output: Output = None,
    retune: tables.Retune = False,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The column of ids; by default the model's own, or id.")
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(
            help="The column of labels.", show_default="that of fit, if the table has it, or labels"
        ),
    ] = None,
    separator: options.Separator = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Give rows that a model was fitted on other labels: those of a table, by id.

    Nothing else of the rows changes. An empty cell means no label.
    """
    from simlabel.cli._label_cells import label_cells
    from simlabel.cli._models import FittedModel
    from simlabel.cli._rows import check_ids, check_rows
    from simlabel.cli._table_fit import opened

    fitted = FittedModel.open(model)
    id_column = id_column or getattr(fitted.estimator, "id_column", None) or "id"
    reading = options.Reading(
        separator=separator,
        delimiter=delimiter,
        format=format,
        max_gib=max_gib,
        encoding=encoding,
        sheet=sheet,
    )
    table = opened(data, reading)
    frame = table.frame
    check_rows(len(frame), data)
    if label_column is None:
        label_column = fitted.label_column if fitted.label_column in frame.columns else "labels"
    tables.check_columns(frame, {"id_column": id_column, "label_column": label_column}, data)
    cells = label_cells(frame[id_column])
    check_ids(cells, table.lines, id_column, data)
    ids = fitted.ids_by_name([str(cell) for cell in cells], str(data))
    sets = fitted.by_name(fitted.label_sets(label_cells(frame[label_column]), separator))
    fitted.estimator.correct(ids, sets)
    save_changed(fitted, model, output, retune, json, ("corrected", len(ids)))
