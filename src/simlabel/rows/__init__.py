"""Where rows live: in memory, in chunks, in files, on other machines; and the references."""

from simlabel.rows._chunks import Chunk, Groups, Ids, number_after
from simlabel.rows._containers import blocks, dense_rows, n_rows, row_width, take_rows
from simlabel.rows._groups import Codes, equal_groups, group_codes, group_sums
from simlabel.rows._lazy import Columns, LazyRows, is_collection, is_lazy, is_remote, transformed
from simlabel.rows._merged import MergedColumns, alone_in_rows, merged_columns, n_shared_columns
from simlabel.rows._moments import lazy_moments
from simlabel.rows._open import as_rows, open_rows
from simlabel.rows._order import (
    content_order,
    content_units,
    drawn_copies,
    drawn_rows,
    fold_numbers,
    spaced_rows,
)
from simlabel.rows._references import References
from simlabel.rows._stack import Stack, by_parts, check_lazy, fold, joined, pieces, stacked

__all__ = [
    "alone_in_rows",
    "blocks",
    "dense_rows",
    "MergedColumns",
    "merged_columns",
    "n_rows",
    "n_shared_columns",
    "pieces",
    "row_width",
    "take_rows",
    "as_rows",
    "by_parts",
    "check_lazy",
    "Chunk",
    "Codes",
    "Columns",
    "content_order",
    "content_units",
    "drawn_copies",
    "drawn_rows",
    "equal_groups",
    "fold",
    "fold_numbers",
    "group_codes",
    "group_sums",
    "Groups",
    "Ids",
    "is_collection",
    "is_lazy",
    "is_remote",
    "joined",
    "lazy_moments",
    "LazyRows",
    "number_after",
    "open_rows",
    "References",
    "spaced_rows",
    "Stack",
    "stacked",
    "transformed",
]
