"""Write predictions to a file block by block: CSV, xlsx, Parquet or JSON lines."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

import typer

from simlabel._utils.replacing import replacing

ENDINGS = {
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
BINARY = ("parquet", "xlsx")  # which do not go to stdout


@dataclass(frozen=True)
class WrittenColumns:
    """The columns of the output beside the number of a row and its labels.

    Attributes
    ----------
    names : sequence of str
        Those before the labels, which hold texts: "id" and "title" if rows have them, "abstained".
    notes : dict of str to type
        Those after the labels, "confidence" and so on, with `float` or `str` for their cells.
    labels : sequence of str
        The labels of the model.
    kinds : sequence of str
        The requested ones of "score" and "probability".
    """

    names: Sequence[str]
    notes: Mapping[str, type]
    labels: Sequence[str]
    kinds: Sequence[str]

    @property
    def figures(self) -> list[str]:
        """One column for each label and kind, such as ``score:sea``."""
        return [f"{kind}:{label}" for kind in self.kinds for label in self.labels]

    @property
    def header(self) -> list[str]:
        """All columns of a file whose cells hold one value each."""
        return ["row", *self.names, "labels", *self.notes, *self.figures]


@dataclass(frozen=True)
class PredictedRows:
    """The predictions for some rows.

    Attributes
    ----------
    first : int
        Number of the first row in the input.
    sets : list of tuple of str
        The labels of each row, strongest first.
    names, notes : dict of str to sequence
        The cells of the columns of those names in `WrittenColumns`; None is an empty cell.
    figures : dict of str to array, (n_rows, n_labels)
        "score", "probability".
    """

    first: int
    sets: Sequence[tuple[str, ...]]
    names: Mapping[str, Sequence[str]]
    notes: Mapping[str, Sequence[Any]]
    figures: Mapping[str, Any]

    def flat(self, separator: str) -> Iterator[list[Any]]:
        """Rows whose cells hold one value each, in the order of `WrittenColumns.header`."""
        for i, labels in enumerate(self.sets):
            names = [column[i] for column in self.names.values()]
            notes = [column[i] for column in self.notes.values()]
            numbers = [float(value) for matrix in self.figures.values() for value in matrix[i]]
            yield [self.first + i, *names, separator.join(labels), *notes, *numbers]


class TableWriter(Protocol):
    """Takes predictions, block by block."""

    def write(self, rows: PredictedRows) -> None:
        """Add rows."""


class CsvWriter:
    """Write the columns of `WrittenColumns.header`."""

    def __init__(self, stream: TextIO, columns: WrittenColumns, separator: str) -> None:
        from simlabel.datasets.tables import CsvRecords

        _check_separator(columns.labels, separator)
        self._records, self._separator = CsvRecords(stream), separator
        self._records.append(columns.header)

    def write(self, rows: PredictedRows) -> None:
        """Add rows."""
        for row in rows.flat(self._separator):
            self._records.append([_short(cell) if isinstance(cell, float) else cell for cell in row])


class ExcelWriter:
    """Write the columns of a CSV file to the one sheet of a workbook."""

    def __init__(self, columns: WrittenColumns, separator: str) -> None:
        from simlabel.datasets.tables import Sheet

        _check_separator(columns.labels, separator)
        self._sheet, self._separator = Sheet(), separator
        self._sheet.append(columns.header)

    def write(self, rows: PredictedRows) -> None:
        """Add rows."""
        for row in rows.flat(self._separator):
            self._sheet.append(row)

    def save(self, file: IO[bytes]) -> None:
        """Write the workbook."""
        self._sheet.save(file)


class JsonLinesWriter:
    """Write one object per line, with the labels as a list, and scores and probabilities by label."""

    def __init__(self, stream: TextIO, labels: Sequence[str]) -> None:
        self._stream, self._labels = stream, labels

    def write(self, rows: PredictedRows) -> None:
        """Add rows."""
        for i, labels in enumerate(rows.sets):
            names = {what: column[i] for what, column in rows.names.items()}
            line: dict[str, Any] = {"row": rows.first + i, **names, "labels": list(labels)}
            for what, column in rows.notes.items():
                cell = column[i]
                line[what] = float(_short(cell)) if isinstance(cell, float) else cell
            for kind, matrix in rows.figures.items():
                line[kind] = {
                    label: float(_short(value)) for label, value in zip(self._labels, matrix[i], strict=True)
                }
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


class ParquetWriter:
    """Write the columns of a CSV file, with ``labels`` as lists."""

    def __init__(self, file: IO[bytes], columns: WrittenColumns) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        types = {str: pa.string(), float: pa.float64()}
        fields = [("row", pa.int64()), *((name, pa.string()) for name in columns.names)]
        fields += [("labels", pa.list_(pa.string()))]
        fields += [(name, types[kind]) for name, kind in columns.notes.items()]
        fields += [(name, pa.float64()) for name in columns.figures]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(file, self._schema)

    def write(self, rows: PredictedRows) -> None:
        """Add rows."""
        import pyarrow as pa

        columns: list[Any] = [range(rows.first, rows.first + len(rows.sets)), *rows.names.values()]
        columns += [[list(labels) for labels in rows.sets], *rows.notes.values()]
        columns += [column for matrix in rows.figures.values() for column in matrix.astype("float64").T]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


def _check_separator(labels: Sequence[str], separator: str) -> None:
    clash = next((label for label in labels if separator in label), None)
    if clash is not None:
        raise typer.BadParameter(
            f"the label {clash!r} has the separator {separator!r} in it; choose another with --separator."
        )


def _short(value: float) -> str:
    return f"{value:.7g}"


@contextmanager
def open_writer(output: Path, kind: str, columns: WrittenColumns, separator: str) -> Iterator[TableWriter]:
    """Open a writer to a file, which is there only when it is whole; ``-`` is stdout."""
    if str(output) == "-":
        yield _text_writer(sys.stdout, kind, columns, separator)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as file:
        if kind == "parquet":
            writer = ParquetWriter(file, columns)
            try:
                yield writer
            finally:
                writer.close()
        elif kind == "xlsx":
            book = ExcelWriter(columns, separator)
            try:
                yield book
            finally:
                book.save(file)  # after an error too: openpyxl then removes its temporary files
        else:
            stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
            try:
                yield _text_writer(stream, kind, columns, separator)
            finally:
                stream.detach()  # the file is not ours to close


def _text_writer(stream: TextIO, kind: str, columns: WrittenColumns, separator: str) -> TableWriter:
    if kind == "jsonl":
        return JsonLinesWriter(stream, columns.labels)
    return CsvWriter(stream, columns, separator)
