"""Rows of a table -> rows of numbers: one block for each column, and one for all numbers."""

from __future__ import annotations

import copy
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.registry import Registry
from simlabel._utils.validation import check_number
from simlabel.tables._cells import Cell, Cells, Row
from simlabel.tables._columns import NumberColumn, Readable, TermColumn
from simlabel.tables._description import columns_frame, columns_table
from simlabel.tables._embedding import EmbeddedColumn, Embedding
from simlabel.tables._kinds import LEFT_OUT, Column, detect_columns
from simlabel.tables._terms import plain

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

#: the block that all numbers and dates share
NUMBERS = "numbers and dates"
FittedColumn = TermColumn | NumberColumn | EmbeddedColumn
_ROOM = 4096  # columns kept free for terms of rows that are taught, at the least
_MOST_NAMED = 5


class TableWarning(SimlabelWarning):
    """A table is not quite what a model was fitted on, or holds what it should not."""


class TableEncoder(BaseEstimator):
    """From rows of a table to rows of numbers that can be compared.

    Every column of texts, categories or lists becomes a block of length 1: words and characters weighted by
    how rare they are, one place for each category or item. All numbers and dates together are one block, of
    mean squared length about 1. The inner product of two rows is then the weighted sum of how similar they
    are in each block; an empty cell adds nothing.

    Parameters
    ----------
    columns : dict of name to kind or Embedding, optional
        What columns hold, where that is not to be found out: "number", "yes/no", "category", "multi", "date",
        "text", "url", "id", "ignore".
    weights : dict of name to float, optional
        How much a block counts, 1 by default: names of columns, and ``"numbers and dates"``.

    Attributes
    ----------
    columns_ : list of Column
        Every column with its kind and the reason; after fit.

    Examples
    --------
    >>> films = Cells(("title", "genre"), [("The Shark", "film"), ("A Shark Tale", "film"), ("News", "show")])
    >>> encoder = TableEncoder().fit(films)
    >>> rows = encoder.encode(films.rows)
    >>> (rows @ rows.T).toarray().round(1).tolist()
    [[2.0, 1.3, 0.0], [1.3, 2.0, 0.0], [0.0, 0.0, 2.0]]
    """

    name = "table"
    file_key = "tables.TableEncoder"
    fitted_state = ("names_", "columns_", "fitted_", "used_slots_", "width_", "unicode_")

    def __init__(
        self, columns: Mapping[str, Any] | None = None, weights: Mapping[str, float] | None = None
    ) -> None:
        self.columns = columns
        self.weights = weights

    def check(self) -> None:
        """Raise where a parameter, or what was learnt, is not what it must be."""
        for what, given in (("columns", self.columns), ("weights", self.weights)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(f"TableEncoder: {what} must be a dict by names of columns, got {given!r}.")
        for kind in (self.columns or {}).values():
            if isinstance(kind, Embedding):
                kind.check()
        for block, weight in (self.weights or {}).items():
            check_number("TableEncoder", f"weights[{block!r}]", weight, at_least=0)
        if hasattr(self, "fitted_"):
            self._check_fitted()

    def _check_fitted(self) -> None:
        check_number("TableEncoder", "width_", self.width_, at_least=1, integer=True)
        check_number("TableEncoder", "used_slots_", self.used_slots_, at_least=0, integer=True)
        names, parts = getattr(self, "names_", None), [*self.fitted_, *self.columns_]
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError("TableEncoder: the names of its columns are no texts.")
        if not all(isinstance(part, FittedColumn) for part in self.fitted_) or len(set(names)) < len(names):
            raise ValueError("TableEncoder: its columns are not of their kind.")
        if not all(isinstance(part, Column) for part in self.columns_):
            raise ValueError("TableEncoder: its columns are not described.")
        inside = [part.column.name if isinstance(part, FittedColumn) else part.name for part in parts]
        if not set(inside) <= set(names):
            raise ValueError("TableEncoder: it reads columns that the table does not have.")
        slots = [slots for part in self.fitted_ for slots in part.slots]
        every = np.concatenate(slots) if slots else np.zeros(0, dtype=np.int64)
        if len(np.unique(every)) < len(every) or not every.max(initial=-1) < self.used_slots_ <= self.width_:
            raise ValueError("TableEncoder: two terms share a column, or one has none.")

    def fit(self, cells: Cells) -> Self:
        """Return a copy that knows the columns, the terms and the spread of numbers of these rows."""
        self.check()
        fitted = copy.copy(self)
        given = dict(self.columns or {})
        embeddings = {name: each for name, each in given.items() if isinstance(each, Embedding)}
        kinds = {name: "text" if name in embeddings else kind for name, kind in given.items()}
        fitted.names_, fitted.unicode_ = cells.names, unicodedata.unidata_version
        fitted.columns_ = [
            Column(c.name, "embedding", f"{embeddings[c.name]!r}"[:60]) if c.name in embeddings else c
            for c in detect_columns(cells, kinds)
        ]
        made: list[FittedColumn] = []
        first = 0
        for column in fitted.columns_:
            if column.kind in LEFT_OUT:
                continue
            one = _learn(column, cells.column(column.name), embeddings.get(column.name), first)
            made.append(one)
            first = max([first, *(int(slots.max(initial=-1)) + 1 for slots in one.slots)])
        unknown = set(self.weights or {}) - {name for name, _ in fitted._blocks(made)}
        if unknown:
            known = ", ".join(repr(name) for name, _ in fitted._blocks(made))
            raise ValueError(f"TableEncoder: no block {sorted(unknown)[0]!r} to weigh; there are {known}.")
        fitted.fitted_, fitted.used_slots_ = made, first
        fitted.width_ = _with_room(first)
        return fitted

    def _blocks(self, columns: Sequence[FittedColumn]) -> list[tuple[str, list[FittedColumn]]]:
        """Which columns make up each block."""
        numbers = [each for each in columns if isinstance(each, NumberColumn)]
        found: list[tuple[str, list[FittedColumn]]] = [
            (each.column.name, [each]) for each in columns if not isinstance(each, NumberColumn)
        ]
        return [*found, (NUMBERS, [*numbers])] if numbers else found

    @property
    def block_names(self) -> list[str]:
        """What can be weighed: columns, and the numbers together."""
        return [name for name, _ in self._blocks(self.fitted_)]

    @property
    def number_slots(self) -> npt.NDArray[np.int64]:
        """Columns of the encoded rows that numbers and dates have; teaching and forgetting leave them."""
        parts = [slots for each in self.fitted_ if isinstance(each, NumberColumn) for slots in each.slots]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)

    def weighed(self, weights: Mapping[str, float]) -> Self:
        """The same with other weights; what was learnt is shared."""
        changed = copy.copy(self)
        changed.weights = dict(weights)
        return changed

    def blocks(self, rows: Sequence[Row]) -> Iterator[tuple[str, sp.csr_array]]:
        """Each block of the rows by itself, before it is weighed, (n_rows, width)."""
        at = {name: i for i, name in enumerate(self.names_)}
        for name, columns in self._blocks(self.fitted_):
            parts = [
                each.encoded([row[at[each.column.name]] for row in rows], self.width_) for each in columns
            ]
            block = sum(parts[1:], start=parts[0])
            yield name, sp.csr_array(block * (1.0 / np.sqrt(len(parts)))) if len(parts) > 1 else block

    def encode(self, rows: Sequence[Row]) -> sp.csr_array:
        """Rows of a table, their cells in the order of `names_`, as rows of numbers, (n_rows, width)."""
        weights = self.weights or {}
        made = [
            block if weights.get(name, 1.0) == 1.0 else block * np.sqrt(weights[name])
            for name, block in self.blocks(rows)
            if weights.get(name, 1.0) > 0
        ]
        if not made:
            return sp.csr_array((len(rows), self.width_))
        whole = sp.csr_array(sum(made[1:], start=made[0]))
        whole.sort_indices()
        return whole

    def aligned(self, cells: Cells) -> list[Row]:
        """The cells of another table in the order of this one's columns; what is absent or new is told."""
        if cells.names == self.names_:
            return cells.rows
        used = [column.name for column in self.columns_ if column.kind not in LEFT_OUT]
        if len(cells.names) == 1 and len(used) == 1 and cells.names[0] not in self.names_:
            at = {used[0]: 0}  # a plain list of texts
        else:
            at = {name: i for i, name in enumerate(cells.names)}
        absent = [name for name in used if name not in at]
        if used and len(absent) == len(used):
            raise ValueError(
                f"X has none of the columns that the model was fitted on: {_named(used)}; it has "
                f"{_named(cells.names)}."
            )
        new = [name for name in at if name not in self.names_]
        for names, what in (
            (absent, "is not there and counts as empty"),
            (new, "is new and is not looked at"),
        ):
            if names:
                warnings.warn(f"column {_named(names)} {what}.", TableWarning, stacklevel=5)
        places = [at.get(name) for name in self.names_]
        return [tuple(None if k is None else row[k] for k in places) for row in cells.rows]

    def taught(self, rows: Sequence[Row]) -> tuple[Self, sp.csr_array]:
        """The encoder with the terms of more rows, and these encoded."""
        at = {name: i for i, name in enumerate(self.names_)}
        taught, first = copy.copy(self), self.used_slots_
        made: list[FittedColumn] = []
        for each in self.fitted_:
            one = each.taught([row[at[each.column.name]] for row in rows], first)
            made.append(one)
            first = max([first, *(int(slots.max(initial=-1)) + 1 for slots in one.slots)])
        taught.fitted_, taught.used_slots_ = made, first
        if first > self.width_:
            taught.width_ = _with_room(first)
        return taught, taught.encode(rows)

    def forgotten(self, rows: Sequence[Row]) -> Self:
        """The encoder without what only these rows had."""
        at = {name: i for i, name in enumerate(self.names_)}
        fewer = copy.copy(self)
        fewer.fitted_ = [each.forgotten([row[at[each.column.name]] for row in rows]) for each in self.fitted_]
        # the reason of a constant quotes its value, which may have been theirs alone
        fewer.columns_ = [
            replace(each, reason="always the same") if each.kind == "constant" else each
            for each in self.columns_
        ]
        return fewer

    def unseen(self, rows: Sequence[Row]) -> dict[str, int]:
        """For each block, in how many rows there is something in the cells, but nothing that is known."""
        counts = {}
        at = {name: i for i, name in enumerate(self.names_)}
        for name, block in self.blocks(rows):
            if name in at:
                given = np.array([row[at[name]] is not None for row in rows])
                counts[name] = int((given & (np.diff(block.indptr) == 0)).sum())
        return {name: count for name, count in counts.items() if count}

    def feature_names(self) -> npt.NDArray[Any]:
        """(column, term) of each column of the encoded rows; None for one that is free."""
        names: npt.NDArray[Any] = np.full(self.width_, None, dtype=object)
        for each in self.fitted_:
            for slot, term in each.names():
                names[slot] = (each.column.name, term)
        return names

    def readable(self, row: Row) -> Iterator[tuple[str, Readable]]:
        """Name of a column, and what of its cell each column of the encoded row stands for."""
        at = {name: i for i, name in enumerate(self.names_)}
        for each in self.fitted_:
            name = each.column.name
            yield from ((name, part) for part in each.readable(row[at[name]]))

    def direction(self, column: str, row: Row) -> str:
        """Whether a number or date is higher or later than most; "" where it is missing or neither."""
        found = [each for each in self.fitted_ if isinstance(each, NumberColumn)]
        cell = row[self.names_.index(column)] if column in self.names_ else None
        return next((each.direction(cell) for each in found if each.column.name == column), "")

    def row_share(self, column: str, term: str) -> float:
        """In which share of the labelled rows a column of texts has a word; of a pair, the rarer one."""
        for each in self.fitted_:
            if each.column.name == column and isinstance(each, TermColumn) and each.column.kind == "text":
                words = each.vocabularies[0]
                at = words.positions(plain(term).split())
                known = (at >= 0).all() and words.n_rows > 0
                return float(words.counts[at].min(initial=words.n_rows)) / words.n_rows if known else 0.0
        return 0.0

    def to_frame(self) -> pd.DataFrame:
        """One row for each column: ``column``, ``kind``, ``weight``, ``reason``."""
        return columns_frame(self.columns_, self.weights or {}, NUMBERS)

    def __rich__(self) -> Table:
        return columns_table(getattr(self, "columns_", ()), self.weights or {}, NUMBERS)


def _learn(column: Column, cells: Sequence[Cell], embedding: Embedding | None, first: int) -> FittedColumn:
    if embedding is not None:
        return EmbeddedColumn.learn(column, embedding, cells, first)
    numeric = column.kind in ("number", "date")
    return (NumberColumn if numeric else TermColumn).learn(column, cells, first)


def _with_room(used: int) -> int:
    """How wide encoded rows are: with room for terms that are taught, so that the width seldom changes."""
    return used + max(_ROOM, used // 4)


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_NAMED]))
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"


ENCODERS: Registry[TableEncoder] = Registry("encoder", TableEncoder, [TableEncoder])
