"""`simlabel predict`: a model file and a file of rows into a file of label sets, as a stream."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from simlabel._utils.progress import shown_progress
from simlabel._utils.text import for_spreadsheet, for_terminal
from simlabel.cli import _guarantees as guarantees
from simlabel.cli import _options as options
from simlabel.cli import _table_options as tables
from simlabel.cli._cluster import on_cluster
from simlabel.cli._console import guarded, note, say
from simlabel.cli._writers import BINARY, ENDINGS, PredictedRows, WrittenColumns, open_writer

if TYPE_CHECKING:
    from simlabel._utils.validation import Rows
    from simlabel.cli._rows import RowSource

ModelFile = Annotated[Path, typer.Argument(help="A model file that fit wrote.")]
RowsFile = Annotated[Path, typer.Argument(help="A file of rows; labels in it are not looked at.")]
IndexBase = Annotated[
    int | None, typer.Option(min=0, max=1, help="Number of the first feature in an svmlight file.")
]


@guarded
def predict_verb(
    model: ModelFile,
    data: RowsFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to: .csv, .xlsx, .parquet, .jsonl, or - for stdout.")
    ] = Path("-"),
    to: Annotated[
        str | None, typer.Option(help="csv, xlsx, parquet or jsonl, if not as the ending says.")
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Write each label's weight too.")] = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write each label's probability too.")
    ] = False,
    label_probabilities: Annotated[
        bool,
        typer.Option(
            "--label-probabilities",
            help="Write the labels with their probabilities in one cell: 'crude:0.93; gas:0.41'.",
        ),
    ] = False,
    separator: Annotated[
        str | None,
        typer.Option(
            help="Between the labels of a set, in CSV and xlsx.",
            show_default="as in the table of fit, else ';'",
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe/--raw",
            help="In CSV, put an apostrophe before what a spreadsheet would take for a formula.",
        ),
    ] = False,
    recall: guarantees.Recall = None,
    precision: guarantees.Precision = None,
    label_coverage: guarantees.LabelCoverage = None,
    set_coverage: guarantees.SetCoverage = None,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Rows that are read at a time.")] = 4096,
    index_base: IndexBase = None,
    delimiter: options.Delimiter = None,
    format: options.Format = None,
    encoding: tables.Encoding = None,
    sheet: tables.Sheet = None,
    max_gib: options.MaxGib = None,
    cluster: Annotated[
        str | None, typer.Option(help="Compute on a Dask cluster: the scheduler's address, tcp://host:8786.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Compute on so many worker processes, started here with Dask.")
    ] = None,
    debug: options.Debug = False,
) -> None:
    """Predict label sets for the rows of a file, a few at a time, so that it may be larger than memory.

    Beside the labels of a row, ``confidence`` is the smallest of their probabilities (empty where no label
    is predicted). ``forced`` is "yes" where labels are written only because the model gives every row a
    minimum number of labels: no label, or too few, are predicted by their scores, or a label of the
    smallest set that the label rule gives is less likely than not.

    Where the model knows a column of ids or titles, they are written too. With a guarantee a column
    ``abstained`` takes the place of ``forced`` and says of which rows no useful set keeps it: they are left
    to a person.
    """
    from simlabel.cli._models import FittedModel

    wanted = guarantees.only_one(
        guarantees.asked_for(
            recall=recall, precision=precision, label_coverage=label_coverage, set_coverage=set_coverage
        )
    )
    kind = _kind(output, to)
    shown = _shown(output, kind, spreadsheet_safe)
    fitted = FittedModel.open(model)
    reading = options.Reading(
        delimiter=delimiter, format=format, max_gib=max_gib, encoding=encoding, sheet=sheet
    )
    source = fitted.rows(data, reading, chunk_rows, index_base)
    figures = ["score"] * scores + ["probability"] * probabilities
    called = [*source.called, *(["abstained"] if wanted else [])]
    notes: dict[str, type] = {"confidence": float}
    notes |= {} if wanted else {"forced": str}
    notes |= {"label_probabilities": str} if label_probabilities else {}
    columns = WrittenColumns(called, notes, list(map(shown, fitted.labels)), figures)
    total, done, now, warned = source.total, 0, 0, ""

    def show(pairs: int, all_pairs: int) -> None:
        """What workers have done of the rows that they have now."""
        bar(done + now * pairs // max(1, all_pairs), max(total, done + now), f"predicting {data.name}")

    with (
        on_cluster(fitted.estimator, cluster, workers, show) as size,
        open_writer(output, kind, columns, separator or fitted.separator or ";") as writer,
        shown_progress("predicting", announced=False) as bar,
    ):
        promise = None if wanted is None else fitted.estimator.guarantee(wanted)
        for X in source.blocks(size):
            now = X.shape[0]
            outputs = fitted.outputs(X)
            names = {what: list(map(shown, cells)) for what, cells in source.names(X).items()}
            found = fitted.sets(outputs)
            if promise is not None:
                kept = guarantees.promised_sets(fitted, promise, X)
                names["abstained"] = ["yes" if each is None else "no" for each in kept]
                found = [each or () for each in kept]
            sets = [tuple(map(shown, labels)) for labels in found]
            likely = fitted.probabilities_of(outputs, found)
            about: dict[str, list[Any]] = {
                "confidence": [min(each, default=None) for each in likely],
                "forced": ["yes" if each else "no" for each in outputs.forced],
                "label_probabilities": list(map(_together, sets, likely)),
            }
            warned = warned or outputs.warning
            given = {"score": outputs.weights, "probability": outputs.probabilities}
            writer.write(
                PredictedRows(
                    done,
                    sets,
                    names,
                    {name: about[name] for name in notes},
                    {name: given[name] for name in figures},
                )
            )
            done += X.shape[0]
            bar(done, max(total, done), f"predicting {data.name}")
    source.tell()
    if warned:
        say(f"warning: {warned}")
    if promise is not None:
        note(str(promise))
    if str(output) != "-":
        say(f"wrote {done:,} rows to {output}")


def _kind(output: Path, to: str | None) -> str:
    kind = to or ENDINGS.get(output.suffix.lower(), "csv" if str(output) == "-" else "")
    if kind not in ENDINGS.values():
        raise typer.BadParameter(f"predictions go to {', '.join(ENDINGS)}; got {str(output)!r}. Or use --to.")
    if kind in BINARY and str(output) == "-":
        raise typer.BadParameter(f"{kind} does not go to a terminal; give a file with --output.")
    return kind


def _together(labels: Sequence[str], probabilities: Sequence[float]) -> str:
    """Labels with their probabilities as one text."""
    pairs = zip(labels, probabilities, strict=True)
    return "; ".join(f"{label}:{probability:.2f}" for label, probability in pairs)


def _shown(output: Path, kind: str, spreadsheet_safe: bool) -> Callable[[str], str]:
    """How a label is written: as it is, but for spreadsheets and for eyes."""
    if spreadsheet_safe and kind != "csv":
        raise typer.BadParameter(f"--spreadsheet-safe is for CSV; got {kind}.")
    seen = for_terminal if str(output) == "-" and sys.stdout.isatty() else str
    return (lambda label: for_spreadsheet(seen(label))) if spreadsheet_safe else seen


def rows_of(source: RowSource, path: Path, rows: list[int]) -> Rows:
    """Chosen rows of a file, in the model's columns."""
    from simlabel.cli._rows import stacked, taken

    chosen: dict[int, Rows] = {}
    first = 0
    for X in source.blocks():
        chosen |= {row: taken(X, [row - first]) for row in rows if first <= row < first + X.shape[0]}
        first += X.shape[0]
        if len(chosen) == len(set(rows)):
            break
    absent = [row for row in rows if row not in chosen]
    if absent:
        raise ValueError(f"{path} has {first:,} rows, counted from 0; there is no row {absent[0]}.")
    return stacked([chosen[row] for row in rows])
