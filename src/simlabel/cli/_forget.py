"""`simlabel forget`: labelled rows out of a model, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._changes import Output, save_changed
from simlabel.cli._console import guarded, say
from simlabel.cli._predict import ModelFile

if TYPE_CHECKING:
    from simlabel.cli._models import FittedModel


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
    """Remove labeled rows from a model, exactly: nothing of them is left in the file.

    Words and labels that only they had are removed too. Where a label cannot be removed, a message names it.
    Without --retune, what was chosen when the rows were there stays.
    """
    from simlabel.cli._models import FittedModel

    if (ids is None) == (ids_file is None):
        raise typer.BadParameter("say which rows, with one of --ids and --ids-file.")
    text = ids.split(",") if ids is not None else _lines(ids_file)
    names = list(dict.fromkeys(filter(None, (name.strip() for name in text))))
    if not names:
        raise typer.BadParameter("there are no ids in what was given.")
    fitted = FittedModel.open(model)
    before = fitted.labels_in_use()
    fitted.estimator.forget(fitted.ids_by_name(names, "--ids" if ids is not None else str(ids_file)))
    if not retune:
        _remove_labels(fitted, before - fitted.labels_in_use())
    save_changed(fitted, model, output, retune, json, ("forgotten", len(names)))


def _remove_labels(fitted: FittedModel, gone: set[str]) -> None:
    """Remove labels that no row has any more from the model, and say which."""
    if not gone:
        return
    named = ", ".join(map(repr, sorted(gone)))
    try:
        fitted.estimator.retire_labels([name for name in fitted.estimator.classes_ if str(name) in gone])
    except ValueError as error:
        say(
            f"no row has {named} any more, but the file still holds the name: {error} "
            f"Use --retune, or fit again."
        )
    else:
        say(f"no row has {named} any more: removed from the model")


def _lines(path: Path | None) -> list[str]:
    from simlabel.datasets import check_regular

    assert path is not None
    check_regular(path)  # to open a pipe may never end
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is no UTF-8 text with an id on each line.") from None
