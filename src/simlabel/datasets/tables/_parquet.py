"""Parquet as a table: numbers and truths with a place for none, all else as objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from simlabel.datasets._errors import DatasetError, check_memory, quote
from simlabel.datasets._parquet import (
    checked,
    claimed,
    damaged,
    largest_group,
    open_parquet,
    read_groups,
    values,
    written_out,
)
from simlabel.datasets.tables._reading import TableReading
from simlabel.datasets.tables._values import as_cell


def read(reading: TableReading) -> Iterator[pd.DataFrame]:
    """Frames whose types are those of the file, in every chunk the same."""
    try:
        with open_parquet(reading.path) as file:
            names = reading.named(map(str, file.schema_arrow.names))
            kept = [j for j, field in enumerate(file.schema_arrow) if not _is_bytes(field.type)]
            left = sorted(set(range(len(names))) - set(kept))
            if left:
                told = quote(", ".join(names[j] for j in left), 200)
                reading.notes.append(f"columns of bytes were left out: {told}")
            start = 0
            for table in _parts(file, reading):
                check_memory(sum(map(written_out, _arrays(table))), reading.path, reading.max_gib)
                index = pd.RangeIndex(start, start + table.num_rows)
                reading.lines.extend(index + 1)
                series = {names[j]: _series(table.column(j), index) for j in kept}
                yield pd.DataFrame(series, index=index)
                start += table.num_rows
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        raise damaged(error, reading.path) from None


def _parts(file: Any, reading: TableReading) -> Iterator[pa.Table]:
    """The whole file, or a few rows at a time; at least one part."""
    if reading.rows is None or not file.metadata.num_rows:
        check_memory(claimed(file.metadata, file.schema), reading.path, reading.max_gib)
        yield read_groups(file)
        return
    check_memory(largest_group(file.metadata), reading.path, reading.max_gib)
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(reading.rows, row_groups=[group], use_threads=False):
            yield checked(pa.Table.from_batches([batch]))


def _arrays(table: pa.Table) -> Iterator[pa.Array]:
    return (array for column in table.columns for array in column.chunks)


def _is_bytes(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    return any(check(kind) for check in binary)


def _series(column: pa.ChunkedArray, index: pd.RangeIndex) -> pd.Series[Any]:
    """Whole numbers and truths keep their type where some are missing, in whichever chunk that is."""
    kind = column.type
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        column = column.cast(pa.float64()) if pa.types.is_decimal(kind) else column
        return pd.Series(np.array(column.to_numpy(), dtype=np.float64), index=index)
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        absent = np.array(column.is_null().to_numpy())
        held = np.array(column.fill_null(pa.scalar(0).cast(kind)).to_numpy())
        made = pd.arrays.IntegerArray if pa.types.is_integer(kind) else pd.arrays.BooleanArray
        return pd.Series(made(held, absent), index=index)
    cells = [as_cell(value) for array in column.chunks for value in values(array)]
    return pd.Series(cells, index=index, dtype=object)
