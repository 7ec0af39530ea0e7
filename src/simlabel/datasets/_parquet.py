"""Parquet, read by pyarrow: a raw table, and a data set."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from simlabel._utils.validation import AnyArray, Rows
from simlabel.datasets._columns import Missing, read_columns
from simlabel.datasets._dataset import Dataset, LabelColumns, set_name
from simlabel.datasets._errors import DatasetError, check_memory, quote
from simlabel.datasets._format import NAMES, FeatureChunks, Format
from simlabel.datasets._reading import TableChunks, as_cell
from simlabel.datasets._source_table import Attribute, CellBlock, SourceTable

_CELL = 8  # bytes of a number


@contextmanager
def _opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file whose texts are read as dictionaries; errors of pyarrow become `DatasetError`."""
    try:
        with pq.ParquetFile(path) as file:
            columns = [file.schema.column(j) for j in range(len(file.schema))]
        texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            yield file
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        summary = str(error).strip().partition("\n")[0]
        raise DatasetError(f"expected a Parquet file, and it is damaged: {summary}", path) from None


def _parts(file: pq.ParquetFile, path: Path, rows: int | None, max_gib: float | None) -> Iterator[pa.Table]:
    """Yield the whole file, or at most `rows` rows at a time; at least one part.

    Row groups are read one by one: lists of texts with several dictionaries cannot be read otherwise. Texts
    that are not UTF-8, and lists that reach beyond their values, raise an error.
    """
    groups, metadata = range(file.num_row_groups), file.metadata
    if rows is None or not metadata.num_rows:
        check_memory(_claimed(file), path, max_gib)
        tables = [file.read_row_group(group, use_threads=False) for group in groups]
        table = pa.concat_tables(tables) if tables else file.read(use_threads=False)
        table.validate(full=True)
        yield table
        return
    # pages are unpacked whole
    check_memory(max(metadata.row_group(group).total_byte_size for group in groups), path, max_gib)
    for group in groups:
        for batch in file.iter_batches(rows, row_groups=[group], use_threads=False):
            batch.validate(full=True)
            yield pa.Table.from_batches([batch])


def _claimed(file: pq.ParquetFile) -> int:
    """Return the bytes of all columns as numbers; equal cells are packed to almost nothing."""
    size, metadata = 0, file.metadata
    for j in range(metadata.num_columns):
        cell = max(_CELL, file.schema.column(j).length or 0)
        for group in range(metadata.num_row_groups):
            column = metadata.row_group(group).column(j)
            size += max(column.total_uncompressed_size, column.num_values * cell)
    return size


def _check_texts(table: pa.Table, path: Path, max_gib: float | None) -> None:
    """Raise an error if the table needs too much memory with its texts repeated in every row."""
    check_memory(sum(_repeated(part) for column in table.columns for part in column.chunks), path, max_gib)


def _repeated(array: pa.Array) -> int:
    if pa.types.is_struct(array.type):
        return sum(_repeated(field) for field in array.flatten())
    if pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        return _repeated(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def _objects(column: pa.ChunkedArray) -> Iterator[Any]:
    """Yield the values of a column, equal texts as one object."""
    for array in column.chunks:
        if not pa.types.is_dictionary(array.type):
            yield from array.to_pylist()
            continue
        distinct = array.dictionary.to_pylist()
        yield from (None if code is None else distinct[code] for code in array.indices.to_pylist())


def read_parquet_frames(reading: TableChunks) -> Iterator[pd.DataFrame]:
    """Yield frames whose types are those of the file, the same in every chunk."""
    path, start = reading.path, 0
    with _opened(path) as file:
        names = reading.named(map(str, file.schema_arrow.names))
        is_bytes = [_is_bytes(field.type) for field in file.schema_arrow]
        if any(is_bytes):
            listed = quote(", ".join(np.array(names)[is_bytes]), 200)
            reading.notes.append(f"columns of bytes were left out: {listed}")
        for table in _parts(file, path, reading.rows, reading.max_gib):
            _check_texts(table, path, reading.max_gib)
            index = pd.RangeIndex(start, start + table.num_rows)
            reading.lines.extend(index + 1)
            columns = zip(names, table.columns, is_bytes, strict=True)
            series = {name: _series(column, index) for name, column, skipped in columns if not skipped}
            yield pd.DataFrame(series, index=index)
            start += table.num_rows


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)


def _series(column: pa.ChunkedArray, index: pd.RangeIndex) -> pd.Series[Any]:
    """Convert a column; integers and booleans keep their type if some are missing."""
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        column = column.cast(pa.float64()) if pa.types.is_decimal(kind) else column
        return pd.Series(np.array(column.to_numpy(), dtype=np.float64), index=index)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        absent = np.array(column.is_null().to_numpy())
        present = np.array(column.fill_null(pa.scalar(0).cast(kind)).to_numpy())
        extension = pd.arrays.IntegerArray if pa.types.is_integer(kind) else pd.arrays.BooleanArray
        return pd.Series(extension(present, absent), index=index)
    return pd.Series([as_cell(value) for value in _objects(column)], index=index, dtype=object)


def read_parquet(
    path: Path,
    *,
    labels: Sequence[str] | None = None,
    label_prefix: str | None = None,
    label_column: str | None = None,
    separator: str = ";",
    missing: Missing = "error",
    max_gib: float | None = None,
) -> Dataset:
    """Read a Parquet file.

    Parameters
    ----------
    path : path
        The file.
    labels, label_prefix, label_column, separator
        Which columns are labels: their names, how their names begin, or one column that holds lists of
        labels, as lists or as text with a separator.
    missing : {"error", "mean", "median", "most_frequent"}
        How missing features are filled in.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    """
    choice = LabelColumns(labels, label_prefix, label_column, separator)
    with _opened(path) as file:
        table = _table(file, path, None, max_gib)
        if len(set(table.names)) < len(table.names):
            raise DatasetError("expected different names of columns, found one twice", path)
        return read_columns(table, choice, missing, set_name(path))


def _table(file: pq.ParquetFile, path: Path, rows: int | None, max_gib: float | None) -> SourceTable:
    def blocks(used: Sequence[int] | None) -> Iterator[CellBlock]:
        start = 1
        for part in _parts(file, path, rows, max_gib):
            if used is None:
                _check_texts(part, path, max_gib)
            at = np.arange(part.num_rows)
            positions = range(part.num_columns) if used is None else used
            yield CellBlock(
                range(start, start + len(at)), ((j, at, _values(part.column(j))) for j in positions)
            )
            start += len(at)

    attributes = [Attribute(str(name)) for name in file.schema_arrow.names]
    return SourceTable(path, attributes, blocks, in_lines=False)


def _values(column: pa.ChunkedArray) -> AnyArray:
    """Return numbers, NaN if missing, or objects."""
    kind = column.type
    if pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return np.fromiter(_objects(column), dtype=object, count=len(column))
    return np.asarray(column.to_numpy())


def _chunks(chunks: FeatureChunks) -> Iterator[Rows]:
    with _opened(chunks.path) as file:
        yield from chunks.table_blocks(_table(file, chunks.path, chunks.rows, chunks.max_gib))


PARQUET = Format(
    name="parquet",
    title="Parquet",
    endings=(".parquet",),
    sniff=lambda head: head.raw.startswith(b"PAR1"),
    read=read_parquet,
    chunks=_chunks,
    labels=NAMES,
    count_rows=lambda path: int(pq.read_metadata(path).num_rows),
)
