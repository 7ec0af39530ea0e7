"""Parquet, read by pyarrow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError
from simlabel.datasets._features import Missing, check_missing
from simlabel.datasets._frame import from_frame
from simlabel.datasets._label_columns import LabelColumns
from simlabel.datasets._lines import binary_limit, set_name

_CELL = 8  # bytes of a number


def read_parquet(
    path: Path,
    *,
    labels: Sequence[str] | None = None,
    label_prefix: str | None = None,
    label_column: str | None = None,
    separator: str = ";",
    missing: Missing = "error",
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
    """
    check_missing(missing)
    choice = LabelColumns(labels, label_prefix, label_column, separator)
    try:
        with pq.ParquetFile(path) as file:
            _check_size(file.metadata, path)
            choice.positions(file.schema_arrow.names, path)
            table = file.read(use_threads=False)
        # types that Arrow knows and numpy does not become objects, which are refused by name later
        frame = table.to_pandas(ignore_metadata=True)
    except DatasetError:
        raise
    except (pa.ArrowException, OSError, ValueError, TypeError, OverflowError) as error:
        summary = str(error).strip().partition("\n")[0]
        raise DatasetError(f"expected a Parquet file, and it is damaged: {summary}", path) from None
    return from_frame(frame, choice, path, set_name(path), missing)


def _check_size(metadata: pq.FileMetaData, path: Path) -> None:
    """Equal cells pack to almost nothing, so the size of the file bounds nothing by itself."""
    packed = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    size = max(packed, metadata.num_rows * metadata.num_columns * _CELL)
    if size > binary_limit(path):
        raise DatasetError(f"unpacks to {size} bytes, more than {binary_limit(path)}; read it in parts", path)
