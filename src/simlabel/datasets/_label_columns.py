"""Which columns of a table are labels; shared by CSV, Parquet and OpenML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy.sparse as sp

from simlabel._utils.advice import DataWarning, advise
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._gather import SparseRows
from simlabel.tables import list_form, split


@dataclass(frozen=True)
class LabelColumns:
    """How a table holds its labels; exactly one of the first three is given.

    Parameters
    ----------
    labels : sequence of str, optional
        Names of the columns that are labels, each 0 or 1.
    label_prefix : str, optional
        How the names of such columns begin.
    label_column : str, optional
        Name of one column that holds each row's labels in a list.
    separator : str, default=";"
        What stands between the labels of such a list.
    """

    labels: Sequence[str] | None = None
    label_prefix: str | None = None
    label_column: str | None = None
    separator: str = ";"

    def positions(self, names: Sequence[str], path: Path) -> list[int]:
        """Positions of the columns with labels, in the order of the table."""
        choices = (self.labels, self.label_prefix, self.label_column)
        one = sum(choice is not None for choice in choices) == 1
        if not one or not self.separator or isinstance(self.labels, str | int):
            raise DatasetError(
                "expected to learn which columns are labels, by one of: labels=['sea', 'sunset'] (their "
                "names), label_prefix='label_' (how they begin), label_column='tags' with separator=';' "
                f"(one column of lists). The columns are {quote(', '.join(names), 300)}",
                path,
            )
        if self.label_prefix is not None:
            wanted = [name for name in names if name.startswith(self.label_prefix)]
            if not wanted:
                raise DatasetError(f"expected columns that begin with {quote(self.label_prefix)}", path, 1)
        else:
            wanted = [self.label_column] if self.label_column is not None else list(self.labels or ())
        place = {name: j for j, name in enumerate(names)}
        absent = [name for name in wanted if name not in place]
        if absent or not wanted:
            expected = f"label columns {', '.join(map(quote, absent))}"
            raise DatasetError(f"expected {expected}, found {quote(', '.join(names), 300)}", path, 1)
        return sorted({place[name] for name in wanted})


class LabelLists:
    """An indicator that grows by lists of labels; its columns are the labels that occur, sorted.

    Examples
    --------
    >>> lists = LabelLists(";")
    >>> lists.add("sunset; sea")
    >>> lists.add("")
    >>> Y, names = lists.finish()
    >>> names, Y.toarray().tolist()
    (('sea', 'sunset'), [[1, 1], [0, 0]])

    Lists in brackets or braces, and hashtags, are read as such if nearly all cells hold them.

    >>> lists = LabelLists(";")
    >>> lists.add('["sunset", "sea"]')
    >>> lists.finish()[1]
    ('sea', 'sunset')
    """

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._cells: list[str | Sequence[str]] = []

    def add(self, cell: str | Sequence[str]) -> None:
        """Add a row: a text, or the labels themselves."""
        self._cells.append(cell)

    def finish(self, column: str | None = None) -> tuple[sp.csr_array, tuple[str, ...]]:
        """Return the indicator and the names of its columns; warn of empty cells in a named column."""
        texts = [cell for cell in self._cells if isinstance(cell, str) and cell.strip()]
        empty = sum(isinstance(cell, str) for cell in self._cells) - len(texts)
        if column is not None and empty:
            advise(
                f"{empty:,} of {len(self._cells):,} rows have an empty cell in {column!r} and count as rows "
                "to which no label applies: remove them if they are untagged.",
                DataWarning,
            )
        separator = list_form(texts) or self._separator
        position: dict[str, int] = {}
        rows = SparseRows(with_values=False)
        for cell in self._cells:
            parts = split(cell, separator) if isinstance(cell, str) else [part.strip() for part in cell]
            rows.add(position.setdefault(label, len(position)) for label in parts if label)
        names = sorted(position)
        place = {label: k for k, label in enumerate(names)}
        return rows.finish(len(names), order=[place[label] for label in position]), tuple(names)
