"""Parquet, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, check_memory
from simlabel.datasets._feature_map import FeatureMap
from simlabel.datasets._features import Missing, check_missing
from simlabel.datasets._format import NAMES, Format, Wanted
from simlabel.datasets._frame import from_frame
from simlabel.datasets._label_columns import LabelColumns
from simlabel.datasets._lines import set_name

_CELL = 8  # bytes of a number


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
        What becomes of a missing feature.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    check_missing(missing)
    choice = LabelColumns(labels, label_prefix, label_column, separator)
    try:
        with open_parquet(path) as file:
            check_memory(claimed(file.metadata, file.schema), path, max_gib)
            choice.positions(file.schema_arrow.names, path)
            table = read_groups(file)
        parts = (part for column in table.columns for part in column.chunks)
        check_memory(sum(map(written_out, parts)), path, max_gib)
        table = _plain(table)
        # types that Arrow knows and numpy does not become objects, which are refused by name later
        frame = table.to_pandas(ignore_metadata=True)
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise damaged(error, path) from None
    return from_frame(frame, choice, path, set_name(path), missing)


def damaged(error: Exception, path: Path) -> DatasetError:
    """What to say of a file that pyarrow cannot read."""
    summary = str(error).strip().partition("\n")[0]
    return DatasetError(f"expected a Parquet file, and it is damaged: {summary}", path)


def open_parquet(path: Path) -> pq.ParquetFile:
    """Open a file so that texts stay as it has them, each once and a number per row."""
    with pq.ParquetFile(path) as file:
        columns = [file.schema.column(j) for j in range(len(file.schema))]
    texts = [column.path for column in columns if column.physical_type == "BYTE_ARRAY"]
    return pq.ParquetFile(path, read_dictionary=texts)


def read_groups(file: pq.ParquetFile) -> pa.Table:
    """All rows, one row group after the other: lists of texts with several dictionaries are read only so."""
    groups = [file.read_row_group(group, use_threads=False) for group in range(file.num_row_groups)]
    return checked(pa.concat_tables(groups) if groups else file.read(use_threads=False))


def checked(table: Any) -> Any:
    """Refuse texts that are not UTF-8, and lists that reach beyond their values."""
    table.validate(full=True)
    return table


def largest_group(metadata: pq.FileMetaData) -> int:
    """Bytes of the largest row group before it was packed: pages are unpacked whole."""
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    return max(sizes, default=0)


def claimed(metadata: pq.FileMetaData, schema: pq.ParquetSchema) -> int:
    """Bytes of all columns as numbers; equal cells pack to almost nothing."""
    size = 0
    for j in range(metadata.num_columns):
        cell = max(_CELL, schema.column(j).length or 0)
        for group in range(metadata.num_row_groups):
            column = metadata.row_group(group).column(j)
            size += max(column.total_uncompressed_size, column.num_values * cell)
    return size


def written_out(array: pa.Array) -> int:
    """Bytes of a column with its texts written out in every row."""
    if pa.types.is_struct(array.type):
        return sum(written_out(field) for field in array.flatten())
    if pa.types.is_nested(array.type) and hasattr(array, "flatten"):
        return written_out(array.flatten())
    if not pa.types.is_dictionary(array.type):
        return int(array.nbytes)
    lengths = pc.cast(pc.binary_length(array.dictionary), pa.int64())
    return int(pc.sum(lengths.take(array.indices)).as_py() or 0)


def _plain(table: pa.Table) -> pa.Table:
    """Texts written out in every row, as pandas wants them in lists."""
    fields = [pa.field(field.name, _plain_type(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return pa.list_(_plain_type(kind.value_type)) if pa.types.is_list(kind) else kind


def values(column: pa.Array) -> Iterator[Any]:
    """The values of a column, equal ones as one object."""
    if not pa.types.is_dictionary(column.type):
        return iter(column.to_pylist())
    different = column.dictionary.to_pylist()
    return (None if code is None else different[code] for code in column.indices.to_pylist())


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    try:
        with open_parquet(wanted.path) as file:
            check_memory(largest_group(file.metadata), wanted.path, wanted.max_gib)
            names = [str(name) for name in file.schema_arrow.names]
            columns = wanted.mapped(names)
            used = [names[j] for j in columns.convert]
            for batch in file.iter_batches(wanted.rows, columns=used, use_threads=False):
                yield _chunk(checked(batch), columns, names, wanted)
    except (pa.ArrowException, OSError) as error:
        raise damaged(error, wanted.path) from None


def _chunk(batch: pa.RecordBatch, columns: FeatureMap, names: list[str], wanted: Wanted) -> Rows:
    """A batch, column by column: numbers as they are, texts by the model's categories."""
    X = np.zeros((batch.num_rows, wanted.width))
    for j in columns.convert:
        name = names[j]
        column = batch.column(batch.schema.get_field_index(name))
        if column.null_count:
            message = f"expected a value for {name!r}, found a missing one; fill it in"
            raise DatasetError(message, wanted.path)
        kind = column.type
        if j in columns.numbers and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
            numbers = column.to_numpy(zero_copy_only=False)
            if not np.isfinite(numbers).all():
                message = f"expected finite numbers for {name!r}, found NaN or infinity"
                raise DatasetError(message, wanted.path)
            X[:, columns.numbers[j]] = numbers
            continue
        for row, value in enumerate(values(column)):
            for place, number in columns.places([(j, str(value))], names, row):
                X[row, place] = number
    return X if wanted.is_dense(len(names)) else sp.csr_array(X)


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
