"""Where rows live: in memory, in chunks, in files, on other machines; and the references."""

from simlabel.rows._lazy import BLOCK_BYTES, Columns, LazyRows, is_collection, is_lazy, is_remote, transformed
from simlabel.rows._moments import lazy_moments
from simlabel.rows._open import as_rows, open_rows
from simlabel.rows._references import Chunk, Ids, References, number_after
from simlabel.rows._stack import Stack, by_parts, check_lazy, fold, joined, pieces, stacked

__all__ = [
    "as_rows",
    "BLOCK_BYTES",
    "by_parts",
    "check_lazy",
    "Chunk",
    "Columns",
    "fold",
    "Ids",
    "is_collection",
    "is_lazy",
    "is_remote",
    "joined",
    "lazy_moments",
    "LazyRows",
    "number_after",
    "open_rows",
    "pieces",
    "References",
    "Stack",
    "stacked",
    "transformed",
]
