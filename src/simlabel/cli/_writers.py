"""Predictions into a file as they come: CSV, Parquet or JSON lines."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from simlabel.support.replacing import replacing

ENDINGS = {".csv": "csv", ".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
Sets = Sequence[tuple[str, ...]]
Figures = Mapping[str, Any]  # "score" or "probability" -> matrix, (n_rows, n_labels)


class TableWriter(Protocol):
    """Takes in predictions, block by block."""

    def write(self, first: int, sets: Sets, figures: Figures) -> None:
        """Add the rows from number `first` on."""


class CsvWriter:
    """Columns ``row``, ``labels``, and one for each label and kind of figure, such as ``score:sea``."""

    def __init__(self, stream: TextIO, labels: Sequence[str], kinds: Sequence[str], separator: str) -> None:
        clash = next((label for label in labels if separator in label), None)
        if clash is not None:
            raise typer.BadParameter(
                f"the label {clash!r} has the separator {separator!r} in it; choose another with --separator."
            )
        self._writer, self._separator, self._kinds = csv.writer(stream, lineterminator="\n"), separator, kinds
        self._writer.writerow(["row", "labels", *(f"{kind}:{label}" for kind in kinds for label in labels)])

    def write(self, first: int, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        for i, labels in enumerate(sets):
            numbers = [_short(value) for kind in self._kinds for value in figures[kind][i]]
            self._writer.writerow([first + i, self._separator.join(labels), *numbers])


class JsonLinesWriter:
    """One object in each line: row, labels, and figures by label."""

    def __init__(self, stream: TextIO, labels: Sequence[str]) -> None:
        self._stream, self._labels = stream, labels

    def write(self, first: int, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        for i, labels in enumerate(sets):
            line: dict[str, Any] = {"row": first + i, "labels": list(labels)}
            for kind, matrix in figures.items():
                line[kind] = {
                    label: float(_short(value)) for label, value in zip(self._labels, matrix[i], strict=True)
                }
            self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")


class ParquetWriter:
    """Columns ``row``, ``labels`` (lists), and one for each label and kind of figure."""

    def __init__(self, file: IO[bytes], labels: Sequence[str], kinds: Sequence[str]) -> None:
        fields = [("row", pa.int64()), ("labels", pa.list_(pa.string()))]
        fields += [(f"{kind}:{label}", pa.float64()) for kind in kinds for label in labels]
        self._schema, self._kinds = pa.schema(fields), kinds
        self._writer = pq.ParquetWriter(file, self._schema)

    def write(self, first: int, sets: Sets, figures: Figures) -> None:
        """Add rows."""
        columns: list[Any] = [range(first, first + len(sets)), [list(labels) for labels in sets]]
        columns += [column for kind in self._kinds for column in figures[kind].astype("float64").T]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self._schema, strict=True)]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


def _short(value: float) -> str:
    return f"{value:.7g}"


@contextmanager
def open_writer(
    output: Path, kind: str, labels: Sequence[str], kinds: Sequence[str], separator: str
) -> Iterator[TableWriter]:
    """A writer to a file, which is there only when it is whole; ``-`` is stdout."""
    if str(output) == "-":
        yield _text_writer(sys.stdout, kind, labels, kinds, separator)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as file:
        if kind == "parquet":
            writer = ParquetWriter(file, labels, kinds)
            try:
                yield writer
            finally:
                writer.close()
        else:
            stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
            try:
                yield _text_writer(stream, kind, labels, kinds, separator)
            finally:
                stream.detach()  # the file is not ours to close


def _text_writer(
    stream: TextIO, kind: str, labels: Sequence[str], kinds: Sequence[str], separator: str
) -> TableWriter:
    if kind == "jsonl":
        return JsonLinesWriter(stream, labels)
    return CsvWriter(stream, labels, kinds, separator)
