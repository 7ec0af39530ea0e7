"""What was found out about the columns, as a table to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from simlabel._utils.text import for_terminal
from simlabel.tables._cells import Cells
from simlabel.tables._kinds import LEFT_OUT, Column

if TYPE_CHECKING:
    import pandas as pd

_TITLES = ("title", "name", "subject", "headline", "summary", "titel", "betreff", "titre", "título", "标题")


def columns_frame(columns: Sequence[Column], weights: Mapping[str, float], numbers: str) -> pd.DataFrame:
    """One row for each column: its kind, how much it counts, and the reason."""
    import pandas as pd

    rows = [
        (column.name, column.kind, _weight(column, weights, numbers), column.reason) for column in columns
    ]
    return pd.DataFrame(rows, columns=["column", "kind", "weight", "reason"])


def columns_table(columns: Sequence[Column], weights: Mapping[str, float], numbers: str) -> Table:
    """The same for a terminal."""
    table = Table("Column", "Kind", "Weight", "Why", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for column in columns:
        weight = _weight(column, weights, numbers)
        shown = "" if column.kind in LEFT_OUT else f"{weight:g}"
        table.add_row(for_terminal(column.name), column.kind, shown, for_terminal(column.reason))
    return table


def title_column(cells: Cells, columns: Sequence[Column], given: str | None = "auto") -> str | None:
    """The column by which rows are shown: what is asked for, what is called so, or the shortest text.

    Examples
    --------
    >>> films = Cells(("plot", "Title"), [("a shark hunts swimmers", "Jaws")])
    >>> title_column(films, [Column("plot", "text"), Column("Title", "text")])
    'Title'
    """
    if given != "auto":
        if given is not None and given not in cells.names:
            raise ValueError(f"title_column: there is no column {given!r}; there are {list(cells.names)}.")
        return given
    useful = [column for column in columns if column.kind != "constant"]
    for title in _TITLES:
        named = [column.name for column in useful if column.name.strip().casefold() == title]
        if named:
            return named[0]
    texts = [column.name for column in useful if column.kind in ("text", "embedding")]
    return min(texts, key=lambda name: sum(len(str(c)) for c in cells.column(name) if c), default=None)


def _weight(column: Column, weights: Mapping[str, float], numbers: str) -> float:
    if column.kind in LEFT_OUT:
        return 0.0
    return float(weights.get(numbers if column.kind in ("number", "date") else column.name, 1.0))
