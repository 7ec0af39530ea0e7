"""`simlabel forget`: labelled rows out of a model, exactly."""

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
def forget_verb(
    model: ModelFile,
    ids: Annotated[str | None, typer.Option(help="What the rows are called, with commas between.")] = None,
    ids_file: Annotated[Path | None, typer.Option(help="A text file with an id on each line.")] = None,
    output: Output = None,
    retune: tables.Retune = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Remove labelled rows from a model, exactly: nothing of them is left in the file.

    Words that only they had go too. Without --retune, what was chosen when they were there stays.
    """
    from simlabel.cli._models import FittedModel

    if (ids is None) == (ids_file is None):
        raise typer.BadParameter("say which rows, with one of --ids and --ids-file.")
    text = ids.split(",") if ids is not None else _lines(ids_file)
    names = list(dict.fromkeys(filter(None, (name.strip() for name in text))))
    if not names:
        raise typer.BadParameter("there are no ids in what was given.")
    fitted = FittedModel.open(model)
    fitted.estimator.forget(fitted.ids_by_name(names, "--ids" if ids is not None else str(ids_file)))
    save_changed(fitted, model, output, retune, json, ("forgotten", len(names)))


def _lines(path: Path | None) -> list[str]:
    from simlabel.datasets._errors import check_regular

    assert path is not None
    check_regular(path)  # to open a pipe may never end
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no UTF-8 text with an id on each line.") from None
