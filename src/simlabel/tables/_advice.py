"""Columns that are not worth what they are taken for."""

from __future__ import annotations

from simlabel._utils.advice import advise
from simlabel.tables._cells import Cells
from simlabel.tables._encoder import TableEncoder, TableWarning

_ENOUGH = 20  # rows: in fewer, all may be different by chance
_NEARLY_ALL = 0.8  # of the rows have a value of their own


def advise_on_categories(cells: Cells, encoder: TableEncoder) -> None:
    """Warn of categories, which only a user can have asked for, of which nearly every row has its own."""
    for column in encoder.columns_:
        if column.kind != "category" or len(cells.rows) < _ENOUGH:
            continue
        distinct = len(set(cells.column(column.name)))
        if distinct >= _NEARLY_ALL * len(cells.rows):
            advise(
                f"column {column.name!r} has {distinct:,} values in {len(cells.rows):,} rows: as a category "
                f"it tells rows apart but nothing else. Rather columns={{{column.name!r}: 'text'}}.",
                TableWarning,
            )
