"""Which columns of a table are labels; shared by CSV, Parquet and OpenML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import scipy.sparse as sp

from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._gather import SparseRows


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
    """

    def __init__(self, separator: str) -> None:
        self._separator = separator
        self._position: dict[str, int] = {}
        self._rows = SparseRows(with_values=False)

    def add(self, cell: str | Sequence[str]) -> None:
        """Add a row: a text, or the labels themselves."""
        parts = cell.split(self._separator) if isinstance(cell, str) else cell
        labels = [label for label in (part.strip() for part in parts) if label]
        self._rows.add(self._position.setdefault(label, len(self._position)) for label in labels)

    def finish(self) -> tuple[sp.csr_array, tuple[str, ...]]:
        """The indicator and the names of its columns."""
        names = sorted(self._position)
        place = {label: k for k, label in enumerate(names)}
        Y = self._rows.finish(len(names), order=[place[label] for label in self._position])
        return Y, tuple(names)
