"""The command `predict`: label sets for the rows of a file, written as they are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from simlabel._utils.progress import Listener, progress_bar
from simlabel.cli import _options as options
from simlabel.cli._console import command, note, say

if TYPE_CHECKING:
    from simlabel._utils.validation import Rows
    from simlabel.cli._models import FittedModel
    from simlabel.cli._rows import RowSource
    from simlabel.guarantees import FittedGuarantee, Guarantee

_ENDINGS = {".csv": "csv", ".xlsx": "xlsx", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_CLUSTER_ROWS = 8192  # rows per request to a cluster: a task should compute longer than it travels


@dataclass(frozen=True)
class Output:
    """Options that describe the output file."""

    output: Annotated[
        Path, typer.Option("--output", "-o", help="Output file: .csv, .xlsx, .parquet, .jsonl; - is stdout.")
    ] = Path("-")
    to: Annotated[
        Literal["csv", "xlsx", "parquet", "jsonl"] | None,
        typer.Option(help="Output format; by default it is derived from the file name."),
    ] = None
    scores: Annotated[bool, typer.Option("--scores", help="Also write the weight of each label.")] = False
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Also write the probability of each label.")
    ] = False
    label_probabilities: Annotated[
        bool,
        typer.Option(
            "--label-probabilities",
            help="Also write the labels with their probabilities in one cell: 'crude:0.93; gas:0.41'.",
        ),
    ] = False
    separator: Annotated[
        str | None,
        typer.Option(
            help="Separator of the labels of a row, in CSV and xlsx.",
            show_default="that of the training table, else ';'",
        ),
    ] = None
    spreadsheet_safe: options.SpreadsheetSafe = False

    @property
    def kind(self) -> str:
        """The output format; one that cannot be written there is an error."""
        to_stdout = str(self.output) == "-"
        kind = self.to or _ENDINGS.get(self.output.suffix.lower(), "csv" if to_stdout else None)
        if kind is None:
            endings = ", ".join(_ENDINGS)
            raise typer.BadParameter(
                f"--output must end in {endings}, got {str(self.output)!r}; or add --to."
            )
        if kind in ("parquet", "xlsx") and to_stdout:
            raise typer.BadParameter(f"{kind} cannot be written to stdout; give a file with --output.")
        if self.spreadsheet_safe and kind != "csv":
            raise typer.BadParameter(f"--spreadsheet-safe requires CSV output, got {kind}.")
        return kind

    def header(self, name_columns: Sequence[str], labels: Sequence[str], guaranteed: bool) -> list[str]:
        """Return the names of the columns."""
        values = ["score"] * self.scores + ["probability"] * self.probabilities
        if self.kind != "jsonl":
            values = [f"{value}:{label}" for value in values for label in labels]
        return [
            *("row", *name_columns, *["abstained"] * guaranteed, "labels", "confidence"),
            *([] if guaranteed else ["forced"]),
            *["label_probabilities"] * self.label_probabilities,
            *values,
        ]


@dataclass(frozen=True)
class Cluster:
    """Options that select where to compute."""

    cluster: Annotated[
        str | None,
        typer.Option(help="Compute on a Dask cluster: the address of its scheduler, tcp://host:8786."),
    ] = None
    workers: Annotated[
        int | None, typer.Option(min=1, help="Compute on this number of local Dask worker processes.")
    ] = None

    @contextmanager
    def computing(self, estimator: Any, on_block: Callable[[int, int], None]) -> Iterator[int | None]:
        """Let a model compute on a Dask cluster, if one is given; yield the number of rows per request."""
        if self.cluster is not None and self.workers is not None:
            raise typer.BadParameter("--cluster and --workers exclude each other.")
        if self.cluster is None and self.workers is None:
            yield None
            return
        from simlabel.sums.dask import DaskEngine, find_client, local_client

        with ExitStack() as stack:
            if self.workers is not None:
                client = stack.enter_context(local_client(self.workers))
            else:
                client = find_client(self.cluster)
                stack.callback(client.close)
            say(f"dashboard: {client.dashboard_link}")
            estimator.set_engine(DaskEngine(client, on_block=on_block))
            yield _CLUSTER_ROWS


@command
def predict_command(
    model: options.ModelArgument,
    data: options.RowsArgument,
    *,
    target: Output,
    levels: options.Levels,
    chunk_rows: Annotated[int, typer.Option(min=1, help="Number of rows to read at a time.")] = 4096,
    index_base: options.IndexBase = None,
    reading: options.FileReading,
    cluster: Cluster,
) -> None:
    """Predict label sets for the rows of a file, which may be larger than memory.

    The column "confidence" holds the smallest probability of the labels of a
    row (empty if no label is predicted). "forced" is "yes" if labels are
    written only because the model assigns a minimum number of labels to every
    row: their scores alone predict fewer labels, or a label of the smallest set
    that the label rule returns has a probability below one half.

    If the model knows a column of ids or titles, it is written too. With a
    guarantee the column "abstained" replaces "forced": "yes" marks rows for
    which no useful set satisfies the guarantee. Label them by hand.
    """
    from simlabel.cli._models import FittedModel
    from simlabel.cli._writing import write_table

    guarantee, kind = _only_guarantee(levels), target.kind
    fitted = FittedModel.open(model)
    source = fitted.rows(data, reading, chunk_rows, index_base)
    header = target.header(source.name_columns, fitted.labels, guarantee is not None)
    predictions = _Predictions(fitted, source, kind, target.separator or fitted.separator or ";", data.name)
    with (
        cluster.computing(fitted.estimator, predictions.on_block) as size,
        progress_bar("predicting", announced=False) as predictions.progress,
    ):
        fitted_guarantee = None if guarantee is None else fitted.estimator.guarantee(guarantee)
        rows = predictions.rows(header, fitted_guarantee, size)
        write_table(target.output, kind, header, rows, spreadsheet_safe=target.spreadsheet_safe)
    source.report()
    if predictions.warning:
        say(f"warning: {predictions.warning}")
    if fitted_guarantee is not None:
        note(str(fitted_guarantee))
    if str(target.output) != "-":
        say(f"wrote {predictions.done:,} rows to {target.output}")


def _only_guarantee(levels: options.Levels) -> Guarantee | None:
    found = levels.guarantees()
    if len(found) > 1:
        names = " and ".join(f"--{each.name.replace(' ', '-')}" for each in found)
        raise typer.BadParameter(f"{names}: a label set satisfies one guarantee; give one of them.")
    return found[0] if found else None


class _Predictions:
    """The cells of the output file, computed block by block."""

    def __init__(self, fitted: FittedModel, source: RowSource, kind: str, separator: str, name: str) -> None:
        self._fitted, self._source, self._kind, self._separator = fitted, source, kind, separator
        from simlabel.tables import LISTS

        self._title = f"predicting {name}"
        self.progress: Listener = lambda done, total, what: None
        self.done = self._now = 0  # rows
        self.warning = ""
        clash = next((label for label in fitted.labels if separator in label), None)
        if kind in ("csv", "xlsx") and separator != LISTS and clash is not None:
            raise typer.BadParameter(
                f"the label {clash!r} contains the separator {separator!r}; choose another with --separator."
            )

    def rows(
        self, header: Sequence[str], fitted_guarantee: FittedGuarantee | None, size: int | None
    ) -> Iterator[list[Any]]:
        """Yield the cells of each row."""
        for X in self._source.blocks(size):
            self._now = X.shape[0]
            columns = self._columns(X, fitted_guarantee, header)
            yield from zip(*(columns[name] for name in header), strict=True)
            self.done += self._now
            self._show_progress(0)

    def _columns(
        self, X: Rows, fitted_guarantee: FittedGuarantee | None, header: Sequence[str]
    ) -> dict[str, Sequence[Any]]:
        from simlabel.tables import join

        fitted = self._fitted
        outputs = fitted.outputs(X)
        self.warning = self.warning or outputs.warning
        sets: Sequence[Any] = fitted.sets(outputs)
        columns: dict[str, Sequence[Any]] = {"row": range(self.done, self.done + self._now)}
        columns |= self._source.names(X)
        if fitted_guarantee is not None:
            sets = fitted.guaranteed_sets(fitted_guarantee, X)
            columns["abstained"] = ["yes" if each is None else "no" for each in sets]
            sets = [each or () for each in sets]
        likely = fitted.probabilities_of(outputs, sets)
        lists = self._kind in ("jsonl", "parquet")
        columns["labels"] = [[*labels] if lists else join(labels, self._separator) for labels in sets]
        columns["confidence"] = self._rounded([min(each, default=None) for each in likely])
        columns["forced"] = ["yes" if each else "no" for each in outputs.forced]
        columns["label_probabilities"] = list(map(_together, sets, likely))
        for value, matrix in {"score": outputs.weights, "probability": outputs.probabilities}.items():
            if value in header:
                rows = map(self._rounded, matrix.tolist())
                columns[value] = [dict(zip(fitted.labels, row, strict=True)) for row in rows]
            elif any(name.startswith(f"{value}:") for name in header):
                cells = map(self._rounded, matrix.T.tolist())
                columns |= {
                    f"{value}:{label}": column for label, column in zip(fitted.labels, cells, strict=True)
                }
        return columns

    def _rounded(self, numbers: Sequence[float | None]) -> list[float | None]:
        """Return numbers with the digits that text files hold."""
        if self._kind in ("xlsx", "parquet"):
            return list(numbers)
        return [None if number is None else float(f"{number:.7g}") for number in numbers]

    def on_block(self, pairs: int, all_pairs: int) -> None:
        """Show how far the workers are with the current rows."""
        self._show_progress(self._now * pairs // max(1, all_pairs))

    def _show_progress(self, rows: int) -> None:
        total = max(self._source.total, self.done + (self._now if rows else 0))
        self.progress(self.done + rows, total, self._title)


def _together(labels: Sequence[str], probabilities: Sequence[float]) -> str:
    pairs = zip(labels, probabilities, strict=True)
    return "; ".join(f"{label}:{probability:.2f}" for label, probability in pairs)
