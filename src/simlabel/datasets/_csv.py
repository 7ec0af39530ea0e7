"""CSV with a line of names, read twice: once for what the columns hold, once for the values."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from simlabel._utils.validation import Rows
from simlabel.datasets._columns import Attribute, TableColumns
from simlabel.datasets._dataset import Dataset
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import Missing, check_missing, finite_number, impute
from simlabel.datasets._format import NAMES, Format, Wanted
from simlabel.datasets._gather import gather
from simlabel.datasets._label_columns import LabelColumns, LabelLists
from simlabel.datasets._lines import open_text, set_name

_ABSENT = frozenset(["", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"])
_DELIMITERS = ",;\t|"


def read_csv(
    path: Path,
    *,
    labels: Sequence[str] | None = None,
    label_prefix: str | None = None,
    label_column: str | None = None,
    separator: str = ";",
    delimiter: str | None = None,
    missing: Missing = "error",
    max_gib: float | None = None,
) -> Dataset:
    """Read a CSV file whose first line names the columns.

    A column of numbers is a feature; a column of texts is a feature per text, or one of 0 and 1 where they
    mean that (``true``, ``false``). A column of texts of which nearly every row has its own is left out.

    Parameters
    ----------
    path : path
        The file, plain or gzip.
    labels, label_prefix, label_column, separator
        Which columns are labels: their names, how their names begin, or one column that holds lists of
        labels with a separator between them.
    delimiter : str, optional
        What stands between the cells; by default the commonest of comma, semicolon, tab and bar in the
        first line.
    missing : {"error", "mean", "median", "most_frequent"}
        What becomes of a missing feature.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    """
    check_missing(missing)
    rows = _CsvRows(path, delimiter, max_gib)
    choice = LabelColumns(labels, label_prefix, label_column, separator)
    positions = choice.positions(rows.names, path)
    if label_column is not None:
        rows.peel(positions[0], separator)
        positions = []
    attributes = _infer(rows)
    columns = TableColumns(attributes, positions, path, missing)
    X, Y = gather(rows, columns)
    names = columns.label_names
    if rows.lists is not None:
        Y, names = rows.lists.finish()
    return Dataset(
        name=set_name(path),
        X=impute(X, missing),
        Y=Y,
        label_names=names,
        feature_names=columns.feature_names,
        n_attributes=columns.n_features,
        source=str(path),
    )


def check_delimiter(delimiter: str | None) -> None:
    """Refuse what cannot stand between cells."""
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"\0'):
        raise ValueError(
            f"delimiter must be one character, neither a quote nor a line end; got {delimiter!r}."
        )


class _CsvRows:
    """Rows of a CSV file; None is a missing cell."""

    sparse = False

    def __init__(self, path: Path, delimiter: str | None, max_gib: float | None = None) -> None:
        check_delimiter(delimiter)
        self.path, self._max_gib = path, max_gib
        self.size = path.stat().st_size
        self.line = 1
        self.lists: LabelLists | None = None
        self._peeled: int | None = None
        self._separator = ""
        with open_text(path, max_gib) as stream:
            first = stream.readline()
        self._delimiter = delimiter or max(_DELIMITERS, key=first.count)
        self.names = next(self._records(), [])
        self._check_names()

    def _check_names(self) -> None:
        if "" in self.names:
            column = self.names.index("") + 1
            raise DatasetError(f"expected a name for column {column}, found none", self.path, 1)
        if len(set(self.names)) < len(self.names):
            raise DatasetError("expected different names of columns, found one twice", self.path, 1)
        if not self.names:
            raise DatasetError("expected a line with the names of the columns, found none", self.path, 1)

    def peel(self, position: int, separator: str) -> None:
        """Take the cells at `position` for lists of labels; the rows are without them from now on."""
        self._peeled, self._separator = position, separator
        del self.names[position]

    def _records(self) -> Iterator[list[str]]:
        with open_text(self.path, self._max_gib) as stream:
            reader = csv.reader(stream, delimiter=self._delimiter, strict=True)
            while True:
                try:
                    record = next(reader, None)
                except csv.Error as error:
                    message = f"expected cells separated by {self._delimiter!r}; {error}"
                    raise DatasetError(message, self.path, reader.line_num) from None
                if record is None:
                    return
                self.line = reader.line_num
                if record:
                    yield [cell.strip() for cell in record]

    def __iter__(self) -> Iterator[list[str | None]]:
        records = self._records()
        width = len(next(records))
        if self._peeled is not None:
            self.lists = LabelLists(self._separator)
        for record in records:
            if len(record) != width:
                raise DatasetError(f"expected {width} cells, found {len(record)}", self.path, self.line)
            if self.lists is not None and self._peeled is not None:
                self.lists.add(record.pop(self._peeled))
            yield [None if cell in _ABSENT else cell for cell in record]


def _infer(rows: _CsvRows) -> list[Attribute]:
    """What each column holds, numbers or texts; one that holds both is more likely wrong than meant."""
    first: dict[int, tuple[bool, int]] = {}  # position -> whether its first cell is a number, and the line
    texts: dict[int, set[str]] = {}
    for row in rows:
        for j, cell in enumerate(row):
            if cell is None:
                continue
            numeric = _is_number(cell)
            was_numeric, line = first.setdefault(j, (numeric, rows.line))
            if numeric != was_numeric:
                expected = f"a {'finite number' if was_numeric else 'text'} for {quote(rows.names[j])}"
                raise DatasetError(
                    f"expected {expected}, as on line {line}, found {quote(cell)}", rows.path, rows.line
                )
            if not numeric:
                texts.setdefault(j, set()).add(cell)
    values = [tuple(sorted(texts[j])) if j in texts else None for j in range(len(rows.names))]
    return [Attribute(name, found, 1) for name, found in zip(rows.names, values, strict=True)]


def _is_number(cell: str) -> bool:
    try:
        finite_number(cell)
    except ValueError:
        return False
    return True


def _chunks(wanted: Wanted) -> Iterator[Rows]:
    rows = _CsvRows(wanted.path, wanted.delimiter, wanted.max_gib)
    columns = wanted.mapped(rows.names)
    places = (columns.places(enumerate(row), rows.names, rows.line) for row in rows)
    return wanted.blocks(places, dense=wanted.is_dense(len(rows.names)))


CSV = Format(
    name="csv",
    title="CSV with a line of names",
    endings=(".csv",),
    sniff=lambda head: bool(head.lines) and not head.begins("<"),
    read=read_csv,
    chunks=_chunks,
    labels=NAMES,
)
