"""`simlabel suspicious`: labels of a model's rows that are probably wrong or missing."""

from __future__ import annotations

from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._console import guarded
from simlabel.cli._listing import ListFile, show_list
from simlabel.cli._predict import ModelFile


@guarded
def suspicious_verb(
    model: ModelFile,
    top: Annotated[int, typer.Option(min=1, help="How many to list.")] = 100,
    output: ListFile = None,
    spreadsheet_safe: tables.SpreadsheetSafe = True,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """List labels that the rows like it contradict, the most doubtful first: probably wrong or missing."""
    from simlabel.cli._models import FittedModel

    fitted = FittedModel.open(model)
    show_list(fitted.estimator.suspicious_labels(top), output, json, spreadsheet_safe)
