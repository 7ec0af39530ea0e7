"""ARFF, dense and sparse, with labels as Mulan or MEKA mark them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import arff
import numpy as np
import scipy.sparse as sp

from simlabel.datasets._arff_columns import Columns, Place
from simlabel.datasets._arff_header import Header, read_header, unescape, without_comment
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import Missing, check_missing, impute
from simlabel.datasets._lines import numbered_lines
from simlabel.datasets._meka import label_count, label_positions
from simlabel.datasets._mulan import part_stem, read_label_names, xml_beside

_WIDE = 4  # columns for each attribute from which on X is sparse
_IMPLIED_ALWAYS = 1 << 22  # entries that a small file may imply without writing them

Labels = int | str | PathLike[str] | Sequence[str] | None


def read_arff(path: Path, *, labels: Labels = None, missing: Missing = "error") -> Dataset:
    """Read an ARFF file.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    labels : int, path or sequence of str, optional
        Which attributes are labels: the first n, or the last n for ``-n``; the path of a Mulan XML file;
        or their names. By default, ``-C n`` in the relation name or else the XML file beside the file.
    missing : {"error", "mean", "median", "most_frequent"}
        What becomes of a missing feature.
    """
    check_missing(missing)
    lines = numbered_lines(path)
    header = read_header(lines, path)
    positions = _label_positions(header, path, labels)
    columns = Columns(header.attributes, positions, path, missing)
    rows = _Rows(lines, len(header.attributes), path)
    X, Y = _gather(rows, columns)
    return Dataset(
        name=part_stem(path),
        X=impute(X, missing),
        Y=Y,
        label_names=columns.label_names,
        feature_names=columns.feature_names,
        n_attributes=len(header.attributes) - len(positions),
        source=str(path),
    )


def _label_positions(header: Header, path: Path, labels: Labels) -> list[int]:
    n_attributes = len(header.attributes)
    if labels is None:
        count = label_count(header.relation)
        if count is not None:
            return label_positions(count, n_attributes, path)
        beside = xml_beside(path)
        if beside is None:
            raise DatasetError(
                f"expected to learn which attributes are labels: from {part_stem(path)}.xml beside it (Mulan), "
                "from '-C n' in its @relation (MEKA), or from labels= (an XML file, a number, or names)",
                path,
            )
        labels = beside
    if isinstance(labels, int):
        return label_positions(labels, n_attributes, path)
    if isinstance(labels, str | PathLike):
        xml = Path(labels)
        return _positions_of(header, read_label_names(xml), path, xml)
    return _positions_of(header, dict.fromkeys(labels, 0), path, None)


def _positions_of(header: Header, names: dict[str, int], path: Path, xml: Path | None) -> list[int]:
    """Positions of the named attributes, in the order of the file."""
    position = {attribute.name: j for j, attribute in enumerate(header.attributes)}
    # Mulan's tools copy a quoted name into the XML file with its backslashes.
    plain = {unescape(name): j for name, j in position.items()}
    found = set()
    for name, line in names.items():
        j = position.get(name, plain.get(unescape(name)))
        if j is None:
            where = (xml, line) if xml is not None else (path, None)
            raise DatasetError(
                f"expected labels that are attributes of {path.name}; {quote(name)} is none", *where
            )
        found.add(j)
    return sorted(found)


class _Rows:
    """Rows of the data section, read by liac-arff; knows the line it is on."""

    def __init__(self, lines: Iterator[tuple[int, str]], n_attributes: int, path: Path) -> None:
        self._lines = lines
        self._n_attributes = n_attributes
        self.path = path
        self.size = path.stat().st_size
        self.line = 0
        self._text = ""
        self._next = next(self._data(), None)
        self.sparse = self._next is not None and self._next.startswith("{")

    def _data(self) -> Iterator[str]:
        for self.line, line in self._lines:
            self._text = without_comment(line).strip()
            if self._text:
                yield self._text

    def _declared(self) -> Iterator[str]:
        """A header in which all is text, so that conversion and its errors are ours, and then the rows."""
        yield "@relation rows"
        for j in range(self._n_attributes):
            yield f"@attribute a{j} string"
        yield "@data"
        if self._next is not None:
            yield self._next
            yield from self._data()

    def __iter__(self) -> Iterator[Any]:
        kind = arff.LOD_GEN if self.sparse else arff.DENSE_GEN
        decoded = iter(arff.ArffDecoder().decode(self._declared(), return_type=kind)["data"])
        while True:
            try:
                row = next(decoded)
            except StopIteration:
                return
            except (arff.ArffException, ValueError, IndexError, arff.csv.Error):
                raise self._malformed() from None
            if self._text.startswith("{") != self.sparse:
                raise self._malformed()
            if self.sparse:
                self._check_sparse(row)
            yield row

    def _malformed(self) -> DatasetError:
        if self.sparse:
            expected = f"a sparse row {{index value, ...}} with indices below {self._n_attributes}"
        else:
            expected = f"{self._n_attributes} values separated by commas"
        return DatasetError(f"expected {expected}, found {quote(self._text)}", self.path, self.line)

    def _check_sparse(self, row: dict[int, str]) -> None:
        # liac-arff keeps the last of several values for one index
        if len(row) <= self._text.count(",") and "'" not in self._text and '"' not in self._text:
            raise DatasetError(
                f"expected each index once in a sparse row, found {quote(self._text)}", self.path, self.line
            )


def _gather(rows: _Rows, columns: Columns) -> tuple[Any, sp.csr_array]:
    """Read all rows into X and Y."""
    # One-hot columns of an attribute with very many values are kept sparse whatever the file is.
    sparse = rows.sparse or columns.width > _WIDE * len(columns.convert)
    limit = max(_IMPLIED_ALWAYS, rows.size)
    gathered = _Gathered(columns.width, sparse)
    for row in rows:
        places = _places(row.items() if rows.sparse else enumerate(row), columns, rows.line)
        if rows.sparse and columns.implied:
            places += [(column, 1.0) for j, column in columns.implied.items() if j not in row]
            limit -= len(columns.implied)
            if limit < 0:
                raise DatasetError(
                    "expected sparse rows; they leave out so many values of nominal attributes whose first "
                    "value is not 0 that the data set is far larger than the file. Write 0 first",
                    rows.path,
                    rows.line,
                )
        gathered.add(places)
    return gathered.finish(len(columns.label_names))


def _places(items: Iterable[tuple[int, str]], columns: Columns, line: int) -> list[Place]:
    places = []
    convert = columns.convert
    for j, text in items:
        try:
            places.append(convert[j](text))
        except (ValueError, KeyError, TypeError):
            places.append(columns.explain(j, text, line))
    return places


class _Gathered:
    """X and Y as they grow; machine numbers only, so that they stay as small as the result."""

    def __init__(self, width: int, sparse: bool) -> None:
        self._width = width
        self._sparse = sparse
        self._values = array("d")
        self._columns, self._bounds = array("i"), array("q", [0])
        self._labels, self._label_bounds = array("i"), array("q", [0])

    def add(self, places: list[Place]) -> None:
        """Add one row."""
        width = self._width
        self._labels.extend([column - width for column, value in places if column >= width and value])
        self._label_bounds.append(len(self._labels))
        if self._sparse:
            kept = [place for place in places if place[0] < width and place[1]]
            self._columns.extend([column for column, _ in kept])
            self._values.extend([value for _, value in kept])
            self._bounds.append(len(self._values))
        else:
            row = [0.0] * width
            for column, value in places:
                if column < width:
                    row[column] = value
            self._values.extend(row)

    def finish(self, n_labels: int) -> tuple[Any, sp.csr_array]:
        """X and Y of all rows."""
        n_rows = len(self._label_bounds) - 1
        ones = np.ones(len(self._labels), dtype=np.int8)
        Y = _csr(ones, self._labels, self._label_bounds, (n_rows, n_labels))
        values = np.frombuffer(self._values, dtype=np.float64)
        if not self._sparse:
            return values.reshape(n_rows, self._width), Y
        return _csr(values, self._columns, self._bounds, (n_rows, self._width)), Y


def _csr(values: Any, columns: array[int], bounds: array[int], shape: tuple[int, int]) -> sp.csr_array:
    indices = np.frombuffer(columns, dtype=np.int32)
    indptr = np.frombuffer(bounds, dtype=np.int64)
    if bounds[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    matrix = sp.csr_array((values, indices, indptr), shape=shape)
    matrix.sort_indices()
    return matrix
