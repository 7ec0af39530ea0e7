"""Write tables to files or stdout: CSV, xlsx, Parquet and JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from simlabel._utils.files import replacing
from simlabel._utils.text import for_terminal
from simlabel.datasets import table_pieces

_BATCH = 1024  # rows of a Parquet row group


def write_table(
    output: Path,
    kind: str,
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    spreadsheet_safe: bool = False,
) -> None:
    """Write rows to a file, which is replaced only when all rows are written; ``-`` is stdout.

    Parameters
    ----------
    output : Path
    kind : {"csv", "jsonl", "xlsx", "parquet"}
    names : sequence of str
        Column names. In Parquet "row" holds integers, "labels" lists of texts, "confidence" and names with a
        colon numbers, and other columns texts.
    rows : iterable of sequences
        One cell per column.
    spreadsheet_safe : bool
        As in `table_pieces`.
    """
    if str(output) == "-":
        for piece in table_pieces(names, rows, kind, spreadsheet_safe=spreadsheet_safe):
            text = piece.decode()
            sys.stdout.write(_visible(text) if sys.stdout.isatty() else text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as file:
        if kind == "parquet":
            _write_parquet(file, names, rows)
        else:
            file.writelines(table_pieces(names, rows, kind, spreadsheet_safe=spreadsheet_safe))


def _visible(text: str) -> str:
    """Escape what a terminal would interpret, line by line."""
    return "\n".join(map(for_terminal, text.split("\n")))


def _write_parquet(file: IO[bytes], names: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {"row": pa.int64(), "labels": pa.list_(pa.string()), "confidence": pa.float64()}
    numbers = {name: pa.float64() for name in names if ":" in name}
    schema = pa.schema([(name, (types | numbers).get(name, pa.string())) for name in names])
    left = iter(rows)
    with pq.ParquetWriter(file, schema) as writer:
        while batch := list(islice(left, _BATCH)):
            columns = zip(*batch, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
