"""`simlabel suggest`: which unlabelled rows to label next."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import guarded
from simlabel.cli._listing import ListFile, show_list
from simlabel.cli._predict import IndexBase, ModelFile, RowsFile


@guarded
def suggest_verb(
    model: ModelFile,
    data: RowsFile,
    n: Annotated[int, typer.Option("-n", min=1, help="How many to pick.")] = 10,
    output: ListFile = None,
    spreadsheet_safe: tables.SpreadsheetSafe = True,
    index_base: IndexBase = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Pick the unlabelled rows that are most worth a person's time, the first to be labelled first."""
    import pandas as pd

    from simlabel.cli._models import FittedModel
    from simlabel.cli._rows import all_of, taken

    fitted = FittedModel.open(model)
    reading = options.Reading(
        delimiter=delimiter, format=format, max_gib=max_gib, encoding=encoding, sheet=sheet
    )
    source = fitted.rows(data, reading, index_base=index_base)
    pool = all_of(source, data)
    picked = fitted.ask(partial(fitted.estimator.suggest, n=n), pool).tolist()
    rows = taken(pool, picked)
    sets = [", ".join(labels) for labels in fitted.sets(fitted.outputs(rows))]
    columns = {"row": picked, **source.names(rows), "predicted": sets}
    show_list(pd.DataFrame(columns), output, json, spreadsheet_safe)
