"""Features of a file a few rows at a time, in the columns of a fitted model: for files beyond memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from simlabel.datasets._arff import _ArffRows
from simlabel.datasets._arff_header import read_header
from simlabel.datasets._columns import Place
from simlabel.datasets._csv import _CsvRows
from simlabel.datasets._detect import format_of
from simlabel.datasets._errors import DatasetError, check_memory, check_regular
from simlabel.datasets._feature_map import FeatureMap
from simlabel.datasets._gather import WIDE, SparseRows
from simlabel.datasets._lines import numbered_lines
from simlabel.datasets._npz import open_features
from simlabel.datasets._parquet import largest_group, open_parquet, texts_of
from simlabel.datasets._sparse_text import split_row
from simlabel.datasets._xmc import HEADER

Features = Sequence[str] | int  # names, or only how many where the model knows no names


class FeatureChunks:
    """The features of a file, `rows` rows at a time.

    What the columns mean comes from the model, so that a chunk looks the same wherever it begins; labels in
    the file are not read.

    Parameters
    ----------
    path : path
        CSV, Parquet, ARFF, svmlight, XMC or npz.
    features : sequence of str, or int
        Names of the features that the model was fitted on; their number where it knows no names.
    rows : int
        How many at a time.
    format : str, optional
        By default as the content says.
    delimiter : str, optional
        Of a CSV file.
    index_base : {0, 1}, optional
        Number of the first feature of an svmlight file, where the file does not show it.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.

    Attributes
    ----------
    unknown : int
        How many texts the model did not know; they are none of its categories.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("hue,size\\nred,2\\nblue,3\\nred,4\\n")
    >>> [chunk.tolist() for chunk in FeatureChunks(path, ["size", "hue=blue", "hue=red"], 2)]
    [[[2.0, 0.0, 1.0], [3.0, 1.0, 0.0]], [[4.0, 0.0, 1.0]]]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        features: Features,
        rows: int,
        *,
        format: str | None = None,
        delimiter: str | None = None,
        index_base: int | None = None,
        max_gib: float | None = None,
    ) -> None:
        self.path, self._max_gib = Path(path), max_gib
        check_regular(self.path)
        self.format = format_of(self.path, format)
        self._features, self._rows = features, rows
        self._delimiter, self._index_base = delimiter, index_base
        self._map: FeatureMap | None = None

    @property
    def unknown(self) -> int:
        return 0 if self._map is None else self._map.unknown

    def __iter__(self) -> Iterator[Any]:
        """Arrays or CSR arrays, (at most `rows`, n_features)."""
        if self.format in ("npz", "parquet"):
            yield from self._npz() if self.format == "npz" else self._parquet()
            return
        read = {"csv": self._csv, "arff": self._arff, "svmlight": self._svmlight, "xmc": self._xmc}
        rows, dense = read[self.format]()
        chunk = SparseRows(with_values=True)
        for places in rows:
            chunk.add([column for column, _ in places], [number for _, number in places])
            if len(chunk) == self._rows:
                yield _finished(chunk, self._width, dense)
                chunk = SparseRows(with_values=True)
        if len(chunk):
            yield _finished(chunk, self._width, dense)

    @property
    def _width(self) -> int:
        return self._features if isinstance(self._features, int) else len(self._features)

    def _mapped(self, names: Sequence[str]) -> FeatureMap:
        if isinstance(self._features, int):
            raise DatasetError(
                f"has names of columns, but the model knows only that it has {self._features} features; "
                "give it svmlight, XMC or npz, as it was fitted on",
                self.path,
            )
        self._map = FeatureMap(self._features, names, self.path)
        return self._map

    def _is_dense(self, n_columns: int) -> bool:
        return self._width <= WIDE * max(1, n_columns)

    def _csv(self) -> tuple[Iterator[list[Place]], bool]:
        rows = _CsvRows(self.path, self._delimiter, self._max_gib)
        found = self._mapped(rows.names)
        places = (found.places(enumerate(row), rows.names, rows.line) for row in rows)
        return places, self._is_dense(len(rows.names))

    def _arff(self) -> tuple[Iterator[list[Place]], bool]:
        lines = numbered_lines(self.path, self._max_gib)
        header = read_header(lines, self.path)
        names = [attribute.name for attribute in header.attributes]
        found = self._mapped(names)
        rows = _ArffRows(lines, len(names), self.path)
        if not rows.sparse:
            dense = self._is_dense(len(names))
            return (found.places(enumerate(row), names, rows.line) for row in rows), dense
        # what a sparse row leaves out is the first value of a nominal attribute, and 0 of a numeric one
        implied = {
            j: attribute.values[0] for j, attribute in enumerate(header.attributes) if attribute.values
        }
        return (found.places((implied | row).items(), names, rows.line) for row in rows), False

    def _svmlight(self) -> tuple[Iterator[list[Place]], bool]:
        base = self._base()
        return (self._numbered(row, base, line) for line, row in self._svmlight_rows()), False

    def _svmlight_rows(self) -> Iterator[tuple[int, str]]:
        for line, raw in numbered_lines(self.path, self._max_gib):
            text = raw.partition("#")[0]
            if text.strip() or ("#" not in raw and raw):
                yield line, text

    def _base(self) -> int:
        """Number of the first feature; a whole pass over the file, since the first rows may not show it."""
        if self._index_base is not None:
            return self._index_base
        highest = 0
        for line, text in self._svmlight_rows():
            indices = split_row(text, self.path, line)[1]
            if 0 in indices:
                return 0
            highest = max([highest, *indices])
        if highest == self._width:
            return 1
        raise DatasetError(
            "the rows do not show whether features are numbered from 0 or from 1; say it with index_base",
            self.path,
        )

    def _numbered(self, text: str, base: int, line: int) -> list[Place]:
        _, indices, values = split_row(text, self.path, line)
        for index in indices:
            if not base <= index < self._width + base:
                expected = f"a feature from {base} to {self._width + base - 1}, as the model has"
                raise DatasetError(f"expected {expected}, found {index}", self.path, line)
        return [(index - base, value) for index, value in zip(indices, values, strict=True) if value]

    def _xmc(self) -> tuple[Iterator[list[Place]], bool]:
        lines = (
            (line, text)
            for line, text in numbered_lines(self.path, self._max_gib)
            if not text.startswith("#")
        )
        line, text = next(lines, (1, ""))
        header = HEADER.fullmatch(text)
        if header is None or int(header[2]) != self._width:
            raise DatasetError(
                f"expected a header 'N {self._width} L', as the model has features", self.path, line
            )
        count = int(header[1])

        def rows() -> Iterator[list[Place]]:
            for number, (line, text) in enumerate(lines):
                if number < count or text.strip():
                    yield self._numbered(text, 0, line)

        return rows(), False

    def _npz(self) -> Iterator[Any]:
        X, names = open_features(self.path, self._max_gib)
        if not isinstance(self._features, int) and tuple(names) != tuple(self._features):
            raise DatasetError(
                "expected the features that the model was fitted on, in their order", self.path
            )
        if X.shape[1] != self._width:
            message = f"expected {self._width} features, as the model has, found {X.shape[1]}"
            raise DatasetError(message, self.path)
        for start in range(0, X.shape[0], self._rows):
            yield X[start : start + self._rows]

    def _parquet(self) -> Iterator[Any]:
        try:
            with open_parquet(self.path) as file:
                check_memory(largest_group(file.metadata), self.path, self._max_gib)
                names = [str(name) for name in file.schema_arrow.names]
                found = self._mapped(names)
                wanted = [names[j] for j in found.convert]
                for batch in file.iter_batches(self._rows, columns=wanted, use_threads=False):
                    yield self._batch(batch, found, names)
        except (pa.ArrowException, OSError) as error:
            summary = str(error).strip().partition("\n")[0]
            raise DatasetError(f"expected a Parquet file, and it is damaged: {summary}", self.path) from None

    def _batch(self, batch: pa.RecordBatch, found: FeatureMap, names: list[str]) -> Any:
        """A batch, column by column: numbers as they are, texts by the model's categories."""
        X: Any = np.zeros((batch.num_rows, self._width))
        for j in found.convert:
            name = names[j]
            column = batch.column(batch.schema.get_field_index(name))
            if column.null_count:
                raise DatasetError(
                    f"expected a value for {name!r}, found a missing one; fill it in", self.path
                )
            kind = column.type
            if j in found.numbers and (pa.types.is_floating(kind) or pa.types.is_integer(kind)):
                X[:, found.numbers[j]] = self._finite(column.to_numpy(zero_copy_only=False), name)
                continue
            for row, value in enumerate(texts_of(column)):
                for place, number in found.places([(j, str(value))], names, row):
                    X[row, place] = number
        return X if self._is_dense(len(names)) else sp.csr_array(X)

    def _finite(self, values: Any, name: str) -> Any:
        if not np.isfinite(values).all():
            raise DatasetError(f"expected finite numbers for {name!r}, found NaN or infinity", self.path)
        return values


def _finished(chunk: SparseRows, width: int, dense: bool) -> Any:
    X = chunk.finish(width)
    return X.toarray() if dense else X
