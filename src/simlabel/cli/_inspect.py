"""The commands that inspect a model: `evaluate`, `explain`, `suggest` and `suspicious`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from simlabel._utils.text import format_names
from simlabel.cli import _options as options
from simlabel.cli._console import Terminal, command, records, show_json, show_table, write_frame

if TYPE_CHECKING:
    import pandas as pd

    from simlabel._utils.validation import Rows
    from simlabel.cli._rows import RowSource
    from simlabel.model.inspection import Explanation

_MAX_ROWS = 10_000


@dataclass(frozen=True)
class Listing:
    """Options that describe how a list is shown or written."""

    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the list to a file (.csv, .xlsx, .jsonl), not to stdout."),
    ] = None
    spreadsheet_safe: options.SpreadsheetSafe = True
    json: options.Json = False

    def show(self, frame: pd.DataFrame) -> None:
        """Print a data frame as a table or as JSON, or write it to a file."""
        if self.output is not None:
            write_frame(frame, self.output, self.spreadsheet_safe)
        if self.json:
            show_json(records(frame))
        elif self.output is None:
            rows = [list(map(_cell_text, row)) for row in frame.itertuples(index=False)]
            show_table(list(map(str, frame)), rows, numbers=False)


def _cell_text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


@command
def evaluate_command(
    model: options.ModelArgument,
    data: options.LabeledDataArgument,
    *,
    criteria: options.Criteria = "usual",
    reports: options.Reports,
    levels: options.Levels,
    index_base: options.IndexBase = None,
    reading: options.LabeledReading,
    json: options.Json = False,
) -> None:
    """Compare the predictions of a model with the true labels of a file.

    Requested guarantees are computed from the rows of the model and measured on the file.
    """
    from simlabel.cli import _evaluation as evaluation
    from simlabel.cli._models import FittedModel
    from simlabel.experiments.reports import evaluation_report
    from simlabel.metrics import find_criterion
    from simlabel.model.inspection import warn_about_duplicates

    guarantees = levels.guarantees()
    names = options.parse_criteria(criteria)
    shown = [name for name in names if not find_criterion(name).needs_propensities]
    fitted = FittedModel.open(model)
    loaded = fitted.labeled(data, reading, index_base)
    unknown = evaluation.unknown_labels(fitted, loaded)
    fitted.call(lambda X: warn_about_duplicates(*fitted.estimator._check_queries(X)), loaded.X)
    result, joint = evaluation.evaluate_model(fitted, loaded)
    measured = evaluation.measure_guarantees(fitted, guarantees, joint)
    reports.write_reports(
        lambda: evaluation_report(fitted.estimator, model.name, joint, result, shown, measured)
    )
    if json:
        evaluation.show_as_json(result, joint, shown, unknown, measured)
    else:
        evaluation.show_as_tables(result, joint, shown, measured)


@command
def explain_command(
    model: options.ModelArgument,
    data: options.RowsArgument,
    *,
    rows: Annotated[
        str | None, typer.Option(help="Row numbers, starting at 0: 0,5,7-9.", show_default="0")
    ] = None,
    ids: Annotated[str | None, typer.Option(help="Row ids, in the id column of the model: R7,R12.")] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(
            help="A label to explain, predicted or not: its score, the threshold, and what counts for and "
            "against it. Repeatable; by default the predicted labels."
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of words and labeled rows to list for each label.",
            show_default="8 words and 3 rows, for a matrix 10 rows",
        ),
    ] = None,
    index_base: options.IndexBase = None,
    reading: options.FileReading,
    json: options.Json = False,
) -> None:
    """Show which labeled rows determine each predicted label and the number of labels."""
    from simlabel.cli._models import FittedModel

    if rows is not None and ids is not None:
        raise typer.BadParameter("give either --rows or --ids, not both.")
    requested = _parse_rows(rows or "0") if ids is None else options.split_option(ids)
    fitted = FittedModel.open(model)
    source = fitted.rows(data, reading, index_base=index_base)
    if ids is not None and "id" not in source.name_columns:
        raise typer.BadParameter(
            f"--ids: {data} does not have the id column of the model (fit --id names it); use --rows."
        )
    numbers, X = _find_rows(source, data, requested, ids is not None)
    source.report()
    names = source.names(X)
    labels = label or []
    explanation = fitted.explain(X, top, labels)
    if json:
        _show_as_json(explanation, numbers, names, labels)
        return
    if names or numbers != list(range(len(numbers))):
        listed = [
            f"query {query} is row {row}" + "".join(f", {what} {names[what][query]}" for what in names)
            for query, row in enumerate(numbers)
        ]
        Terminal().print(f"{data}: {'; '.join(listed)}")
    Terminal().print(explanation)


def _show_as_json(
    explanation: Explanation, numbers: Sequence[int], names: Mapping[str, Sequence[str]], labels: list[str]
) -> None:
    frame = explanation.to_frame()
    frame["row"] = [numbers[query] for query in frame["query"]]
    for what, cells in names.items():
        frame[f"row_{what}"] = [cells[query] for query in frame["query"]]
    shown = frame[frame["label"].astype(str).isin(labels) if labels else frame["predicted"]]
    show_json(records(shown.drop(columns=["query"] if labels else ["query", "predicted"])))


def _parse_rows(text: str) -> list[int]:
    rows: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise typer.BadParameter(f"--rows must be numbers and ranges, such as 0,5,7-9; got {text!r}.")
        several = range(int(first), int(last if dash else first) + 1)
        if len(rows) + len(several) > _MAX_ROWS:
            raise typer.BadParameter(f"--rows selects at most {_MAX_ROWS:,} rows; got {text!r}.")
        rows |= dict.fromkeys(several)
    return list(rows)


def _find_rows(
    source: RowSource, path: Path, wanted: Sequence[int | str], by_id: bool
) -> tuple[list[int], Rows]:
    """Return the numbers and the rows of a file with these numbers or ids."""
    from simlabel.cli._rows import stack_rows, taken

    found: dict[int | str, list[tuple[int, Rows]]] = {key: [] for key in wanted}
    first = 0
    for X in source.blocks():
        keys = source.names(X)["id"] if by_id else range(first, first + X.shape[0])
        for position, key in enumerate(keys):
            if key in found:
                found[key].append((first + position, taken(X, [position])))
        first += X.shape[0]
        if not by_id and all(found.values()):
            break
    missing = [repr(key) for key in wanted if not found[key]]
    if missing and not by_id:
        raise ValueError(f"{path} has {first:,} rows, counted from 0; there is no row {missing[0]}.")
    if missing or not wanted:
        raise typer.BadParameter(f"--ids: {path} has no row with the id {format_names(missing)}.")
    numbers, parts = zip(*(each for key in wanted for each in found[key]), strict=True)
    return list(numbers), stack_rows(parts)


@command
def suggest_command(
    model: options.ModelArgument,
    data: options.RowsArgument,
    *,
    n: Annotated[int, typer.Option("-n", min=1, help="Number of rows to select.")] = 10,
    index_base: options.IndexBase = None,
    reading: options.FileReading,
    listing: Listing,
) -> None:
    """Select the unlabeled rows whose labels would help the model most, the most useful first."""
    import pandas as pd

    from simlabel.cli._models import FittedModel
    from simlabel.cli._rows import all_rows, taken

    fitted = FittedModel.open(model)
    source = fitted.rows(data, reading, index_base=index_base)
    pool = all_rows(source, data)
    selected = fitted.call(partial(fitted.estimator.suggest, n=n), pool).tolist()
    rows = taken(pool, selected)
    sets = [", ".join(labels) for labels in fitted.sets(fitted.outputs(rows))]
    frame = pd.DataFrame({"row": selected, **source.names(rows), "predicted": sets})
    listing.show(frame)


@command
def suspicious_command(
    model: options.ModelArgument,
    *,
    top: Annotated[int, typer.Option(min=1, help="Number of labels to list.")] = 100,
    listing: Listing,
) -> None:
    """List labels of the model's rows that are probably wrong or missing, the most suspicious first."""
    from simlabel.cli._models import FittedModel

    fitted = FittedModel.open(model)
    listing.show(fitted.estimator.suspicious_labels(top))
