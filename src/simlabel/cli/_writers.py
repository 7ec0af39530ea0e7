"""Predictions into a file as they come: CSV, Parquet or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

import typer

from simlabel.support.replacing import replacing

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
Sets = Sequence[tuple[str, ...]]
Figures = Mapping[str, Any]  # "score" or "probability" -> matrix, (n_rows, n_labels)
Names = Mapping[str, Sequence[str]]  # "id" or "title" -> one for each row


@dataclass(frozen=True)
class WrittenColumns:
    """What is written of each row, beside its number and its labels.

    Attributes
    ----------
    names : sequence of str
        Of "id" and "title" those that rows have.
    labels : sequence of str
        The model's.
    kinds : sequence of str
        Of "score" and "probability" those that are wanted.
    """

    names: Sequence[str]
    labels: Sequence[str]
    kinds: Sequence[str]

    @property
    def figures(self) -> list[str]:
        """One column for each label and kind, such as ``score:sea``."""
        return [f"{kind}:{label}" for kind in self.kinds for label in self.labels]


class TableWriter(Protocol):
    """Takes in predictions, block by block."""

    def write(self, first: int, names: Names, sets: Sets, figures: Figures) -> None:
        """Add the rows from number `first` on; always with the same names and figures."""


class CsvWriter:
    """Columns ``row``, what rows are called, ``labels``, and one for each label and kind of figure."""

    def __init__(self, stream: TextIO, columns: WrittenColumns, separator: str) -> None:
        clash = next((label for label in columns.labels if separator in label), None)
        if clash is not None:
            raise typer.BadParameter(
                f"the label {clash!r} has the separator {separator!r} in it; choose another with --separator."
            )
        self._writer, self._separator = csv.writer(stream, lineterminator="\n"), separator
        self._writer.writerow(["row", *columns.names, "labels", *columns.figures])

    def write(self, first: int, names: Names, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        for i, labels in enumerate(sets):
            called = [column[i] for column in names.values()]
            numbers = [_short(value) for matrix in figures.values() for value in matrix[i]]
            self._writer.writerow([first + i, *called, self._separator.join(labels), *numbers])


class JsonLinesWriter:
    """One object in each line: row, what it is called, labels, and figures by label."""

    def __init__(self, stream: TextIO, labels: Sequence[str]) -> None:
        self._stream, self._labels = stream, labels

    def write(self, first: int, names: Names, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        for i, labels in enumerate(sets):
            called = {what: column[i] for what, column in names.items()}
            line: dict[str, Any] = {"row": first + i, **called, "labels": list(labels)}
            for kind, matrix in figures.items():
                line[kind] = {
                    label: float(_short(value)) for label, value in zip(self._labels, matrix[i], strict=True)
                }
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


class ParquetWriter:
    """Columns as of a CSV file, with ``labels`` as lists."""

    def __init__(self, file: IO[bytes], columns: WrittenColumns) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        fields = [("row", pa.int64()), *((name, pa.string()) for name in columns.names)]
        fields += [("labels", pa.list_(pa.string()))]
        fields += [(name, pa.float64()) for name in columns.figures]
        self._schema = pa.schema(fields)
        self._writer = pq.ParquetWriter(file, self._schema)

    def write(self, first: int, names: Names, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        import pyarrow as pa

        columns: list[Any] = [range(first, first + len(sets)), *names.values()]
        columns += [[list(labels) for labels in sets]]
        columns += [column for matrix in figures.values() for column in matrix.astype("float64").T]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


def _short(value: float) -> str:
    return f"{value:.7g}"


@contextmanager
def open_writer(output: Path, kind: str, columns: WrittenColumns, separator: str) -> Iterator[TableWriter]:
    """A writer to a file, which is there only when it is whole; ``-`` is stdout."""
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
