"""Where rows live: in memory, in chunks, in files, on other machines; and the references."""

from simlabel._utils.rows._containers import blocks, dense_rows, n_rows, row_width, take_rows
from simlabel._utils.rows._groups import Codes, Groups, equal_groups, group_codes, group_sums
from simlabel._utils.rows._lazy import Columns, LazyRows, is_collection, is_lazy, is_remote, transformed
from simlabel._utils.rows._merged import MergedColumns, alone_in_rows, merged_columns, n_shared_columns
from simlabel._utils.rows._moments import lazy_moments
from simlabel._utils.rows._open import as_rows, open_rows
from simlabel._utils.rows._order import (
    content_order,
    content_units,
    drawn_copies,
    drawn_rows,
    fold_numbers,
    spaced_rows,
)
from simlabel._utils.rows._stack import Stack, by_parts, check_lazy, fold, joined, pieces, spliced, stacked

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
    "is_collection",
    "is_lazy",
    "is_remote",
    "joined",
    "lazy_moments",
    "LazyRows",
    "open_rows",
    "spaced_rows",
    "Stack",
    "stacked",
    "transformed",
    "spliced",
]
