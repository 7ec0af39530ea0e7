"""The commands that change a model file: `teach`, `correct` and `forget`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel._utils.files import not_regular
from simlabel._utils.progress import progress_bar, report_progress_to
from simlabel._utils.text import format_names
from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, command, count, say, show_json

if TYPE_CHECKING:
    from simlabel.cli._models import FittedModel

_MAX_NAMED = 10


@dataclass(frozen=True)
class Saving:
    """Options that describe how a changed model is saved."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the changed model.",
            show_default="the file it was read from",
        ),
    ] = None
    retune: Annotated[
        bool, typer.Option("--retune", help="Then tune the parameters again; takes as long as fit.")
    ] = False
    json: options.Json = False

    def save(self, fitted: FittedModel, model: Path, what: str, rows: int) -> None:
        """Write the model, and print what was changed, and in how many rows."""
        estimator, output = fitted.estimator, self.output or model
        _report_new_labels(fitted)
        if self.retune:
            with progress_bar("tuning") as bar, report_progress_to(bar):
                estimator.retune()
        estimator.save(output)
        facts = {"model": str(output), what: rows}
        facts |= {"rows": estimator.n_references_, "labels": len(estimator.classes_)}
        if self.json:
            show_json(facts)
            return
        size = f"{facts['rows']:,} rows and {facts['labels']:,} labels"
        Terminal().print(f"{count(rows, 'row')} {what}: the model now has {size}.")
        say(f"wrote {output}")


@command
def teach_command(
    model: options.ModelArgument,
    data: options.LabeledDataArgument,
    *,
    columns: options.IdAndGroup,
    index_base: options.IndexBase = None,
    reading: options.LabeledReading,
    saving: Saving,
) -> None:
    """Add labeled rows to a model; they may have new words and new labels.

    Tuned parameters stay as they are. Row ids are read from the id column of
    the model, or from --id.
    """
    import pandas as pd

    from simlabel.cli._models import FittedModel, LabeledRows, extract_label_sets

    fitted = FittedModel.open(model)
    loaded = fitted.labeled(data, reading, index_base, columns.id_column or fitted.id_column)
    options.check_named_columns(
        loaded.X if isinstance(loaded.X, pd.DataFrame) else [], columns.by_option, data
    )
    named = {"ids": columns.id_column, "groups": columns.group_column}
    companions = {what: loaded.X[name].tolist() for what, name in named.items() if name is not None}
    given = loaded.sets if isinstance(loaded, LabeledRows) else extract_label_sets(loaded)
    sets = fitted.by_name(given)
    fitted.call(lambda X: fitted.estimator.partial_fit(X, sets, **companions), loaded.X)
    saving.save(fitted, model, "taught", loaded.n_rows)


@command
def correct_command(
    model: options.ModelArgument,
    data: Annotated[Path, typer.Argument(help="A table of ids and labels; other columns are ignored.")],
    *,
    columns: options.IdColumn,
    reading: options.LabelCellReading,
    saving: Saving,
) -> None:
    """Replace the labels of rows in a model by those of a table, matched by id.

    The features of the rows do not change. An empty cell means that no label
    applies. The id column is --id, else that of the model, else "id"; the label
    column is --label-column, else that of the model if the table has it, else
    "labels".
    """
    from simlabel.cli._models import FittedModel
    from simlabel.cli._rows import check_has_rows, check_unique_ids, label_cells, open_table

    fitted = FittedModel.open(model)
    id_column = columns.id_column or fitted.id_column or "id"
    table = open_table(data, reading)
    frame = table.frame
    check_has_rows(len(frame), data)
    known = fitted.label_column if fitted.label_column in frame.columns else "labels"
    label_column = reading.label_column or known
    options.check_named_columns(frame, {"--id": id_column, "--label-column": label_column}, data)
    cells = label_cells(frame[id_column])
    check_unique_ids(cells, table.lines, id_column, data)
    ids = fitted.ids_by_name([str(cell) for cell in cells], str(data))
    sets = fitted.by_name(fitted.label_sets(label_cells(frame[label_column]), reading.separator))
    fitted.estimator.correct(ids, sets)
    saving.save(fitted, model, "corrected", len(ids))


@command
def forget_command(
    model: options.ModelArgument,
    *,
    ids: Annotated[str | None, typer.Option(help="Ids of the rows, separated by commas.")] = None,
    ids_file: Annotated[Path | None, typer.Option(help="A text file with one id per line.")] = None,
    saving: Saving,
) -> None:
    """Remove labeled rows from a model, exactly: no trace of them is left in the file.

    Words and labels that only these rows have are removed too; if a label
    cannot be removed, a message names it. Without --retune, the parameters that
    were tuned with these rows stay.
    """
    from simlabel.cli._models import FittedModel

    if (ids is None) == (ids_file is None):
        raise typer.BadParameter("give the rows with one of --ids and --ids-file.")
    given = (ids or "").split(",") if ids_file is None else _read_lines(ids_file)
    names = list(dict.fromkeys(filter(None, map(str.strip, given))))
    if not names:
        raise typer.BadParameter("no ids were given.")
    fitted = FittedModel.open(model)
    before = fitted.labels_in_use()
    fitted.estimator.forget(fitted.ids_by_name(names, "--ids" if ids is not None else str(ids_file)))
    if not saving.retune:
        _remove_labels(fitted, before - fitted.labels_in_use())
    saving.save(fitted, model, "forgotten", len(names))


def _read_lines(path: Path) -> list[str]:
    problem = not_regular(path)  # opening a pipe may block for ever
    if problem is not None:
        raise ValueError(f"{path}: {problem}")
    try:
        return path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not a UTF-8 text with one id per line.") from None


def _remove_labels(fitted: FittedModel, unused: set[str]) -> None:
    """Remove labels that no row has any more from the model, and print which."""
    if not unused:
        return
    named = ", ".join(map(repr, sorted(unused)))
    try:
        fitted.estimator.remove_labels([name for name in fitted.estimator.classes_ if str(name) in unused])
    except ValueError as error:
        say(
            f"no row has {named} any more, but the file still holds the name: {error} "
            f"Use --retune, or fit again."
        )
    else:
        say(f"no row has {named} any more: removed from the model")


def _report_new_labels(fitted: FittedModel) -> None:
    """Print labels that the model did not have: a label with another separator in it is noticed at once."""
    from simlabel.cli._rows import how_separated

    known = set(fitted.labels)  # when the file was opened
    new = [repr(name) for name in map(str, fitted.estimator.classes_) if name not in known]
    if new:
        separator = fitted.separator
        between = "" if separator is None else f" (labels of this model are {how_separated(separator)})"
        say(f"{count(len(new), 'new label')}{between}: {format_names(new, _MAX_NAMED)}")
