"""Encoder of whole tables: one block of features for each column, and one for all numbers and dates."""

from __future__ import annotations

import copy
import unicodedata
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import scipy.sparse as sp
from rich import box
from rich.table import Table
from sklearn.base import BaseEstimator

from simlabel._utils.advice import SimlabelWarning, warn_user
from simlabel._utils.registry import Registry
from simlabel._utils.text import for_terminal, format_names
from simlabel._utils.validation import AnyArray, IntArray, check_number
from simlabel.tables._cells import Cell, Cells, Row
from simlabel.tables._column_encoders import (
    EmbeddedColumn,
    Embedding,
    FittedColumn,
    NumberColumn,
    Readable,
    TermColumn,
)
from simlabel.tables._detection import EXCLUDED_KINDS, Column, detect_columns
from simlabel.tables._text import plain

if TYPE_CHECKING:
    import pandas as pd

#: name of the block of all numbers and dates
NUMBERS = "numbers and dates"
AnyColumn = TermColumn | NumberColumn | EmbeddedColumn
_SPARE = 4096  # least number of columns that are reserved for new terms
_ENOUGH = 20  # rows: in fewer, all values may differ by chance
_NEARLY_ALL = 0.8  # share of rows with a value of their own


class TableWarning(SimlabelWarning):
    """A table differs from the one at fit, or a column is of little use."""


class TableEncoder(BaseEstimator):
    """Encode the rows of a table as sparse features.

    Every column of texts, categories or lists becomes a block of unit length: words and characters weighted
    by inverse document frequency, one feature for each category or item. All numbers and dates together are
    one block, of mean squared length about 1. The inner product of two rows is the weighted sum of the
    similarities of their blocks; an empty cell adds nothing.

    Parameters
    ----------
    columns : dict of name to kind or Embedding, optional
        Kinds of columns, where they are not to be detected: "number", "yes/no", "category", "multi", "date",
        "text", "url", "id", "ignore".
    weights : dict of name to float, optional
        Weight of a block, 1 by default: names of columns, and ``"numbers and dates"``.

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
        """Raise an error if a parameter, or what was learned, is invalid."""
        for what, given in (("columns", self.columns), ("weights", self.weights)):
            if given is not None and not isinstance(given, Mapping):
                raise TypeError(f"TableEncoder: {what} must be a dict by column names, got {given!r}.")
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
        names = getattr(self, "names_", None)
        if not isinstance(names, tuple) or not all(isinstance(name, str) for name in names):
            raise ValueError("TableEncoder: column names must be texts.")
        if not all(isinstance(part, FittedColumn) for part in self.fitted_) or len(set(names)) < len(names):
            raise ValueError("TableEncoder: its columns are invalid.")
        if not all(isinstance(part, Column) for part in self.columns_):
            raise ValueError("TableEncoder: descriptions of columns are invalid.")
        described = [*self.columns_, *(part.column for part in self.fitted_)]
        if not {column.name for column in described} <= set(names):
            raise ValueError("TableEncoder: it reads columns that the table does not have.")
        used = _slots(self.fitted_)
        if len(np.unique(used)) < len(used) or not used.max(initial=-1) < self.used_slots_ <= self.width_:
            raise ValueError("TableEncoder: two terms share a column, or one has none.")

    def fit(self, cells: Cells) -> Self:
        """Return a copy that has learned the columns, the terms and the quantiles of numbers."""
        self.check()
        fitted = copy.copy(self)
        given = dict(self.columns or {})
        embeddings = {name: each for name, each in given.items() if isinstance(each, Embedding)}
        kinds = given | dict.fromkeys(embeddings, "text")
        fitted.names_, fitted.unicode_ = cells.names, unicodedata.unidata_version
        fitted.columns_ = [
            Column(c.name, "embedding", f"{embeddings[c.name]!r}"[:60]) if c.name in embeddings else c
            for c in detect_columns(cells, kinds)
        ]
        created: list[AnyColumn] = []
        for column in fitted.columns_:
            if column.kind in EXCLUDED_KINDS:
                continue
            values, first = cells.column(column.name), _end(created)
            if column.name in embeddings:
                created.append(EmbeddedColumn.learn(column, embeddings[column.name], values, first))
            else:
                numeric = column.kind in ("number", "date")
                created.append((NumberColumn if numeric else TermColumn).learn(column, values, first))
        fitted.fitted_, fitted.used_slots_ = created, _end(created)
        fitted.width_ = _reserved(fitted.used_slots_)
        unknown = sorted(set(self.weights or {}) - set(fitted.block_names))
        if unknown:
            known = ", ".join(map(repr, fitted.block_names))
            raise ValueError(f"TableEncoder: weights: there is no block {unknown[0]!r}; there are {known}.")
        return fitted

    def _grouped(self) -> dict[str, list[AnyColumn]]:
        """Return the columns of each block, that of numbers and dates last."""
        numbers = [each for each in self.fitted_ if isinstance(each, NumberColumn)]
        found = {each.column.name: [each] for each in self.fitted_ if not isinstance(each, NumberColumn)}
        return found | {NUMBERS: [*numbers]} if numbers else found

    @property
    def block_names(self) -> list[str]:
        """Names of the blocks: columns, and the numbers together."""
        return list(self._grouped())

    @property
    def numeric_slots(self) -> IntArray:
        """Columns of the encoded rows of numbers and dates; changes of rows leave them as they are."""
        return _slots([each for each in self.fitted_ if isinstance(each, NumberColumn)])

    def _cells(self, rows: Sequence[Row], column: FittedColumn) -> list[Cell]:
        at = self.names_.index(column.column.name)
        return [row[at] for row in rows]

    def blocks(self, rows: Sequence[Row]) -> Iterator[tuple[str, sp.csr_array]]:
        """Yield the name and the features of each block, unweighted, (n_rows, width)."""
        for name, columns in self._grouped().items():
            parts = [each.encoded(self._cells(rows, each), self.width_) for each in columns]
            block = sum(parts[1:], start=parts[0])
            yield name, sp.csr_array(block * (1.0 / np.sqrt(len(parts)))) if len(parts) > 1 else block

    def encode(self, rows: Sequence[Row]) -> sp.csr_array:
        """Encode rows of a table, their cells in the order of `names_`, (n_rows, width)."""
        weights = self.weights or {}
        whole = sp.csr_array((len(rows), self.width_))
        for name, block in self.blocks(rows):
            weight = weights.get(name, 1.0)
            if weight > 0:
                weighted = block if weight == 1.0 else block * np.sqrt(weight)
                whole = whole + weighted if whole.nnz else weighted
        whole.sort_indices()
        return whole

    def aligned(self, cells: Cells) -> list[Row]:
        """Return the rows of another table with the columns of this one; warn of missing and new columns."""
        if cells.names == self.names_:
            return cells.rows
        used = [column.name for column in self.columns_ if column.kind not in EXCLUDED_KINDS]
        at = {name: i for i, name in enumerate(cells.names)}
        if len(cells.names) == 1 and len(used) == 1 and cells.names[0] not in self.names_:
            at = {used[0]: 0}  # a plain list of texts
        absent = [name for name in used if name not in at]
        if used and len(absent) == len(used):
            raise ValueError(
                f"X has none of the columns that the model was fitted on: {_named(used)}; it has "
                f"{_named(cells.names)}."
            )
        new = [name for name in at if name not in self.names_]
        for names, what in ((absent, "is missing and is treated as empty"), (new, "is new and is ignored")):
            if names:
                warnings.warn(f"column {_named(names)} {what}.", TableWarning, stacklevel=5)
        places = [at.get(name) for name in self.names_]
        return [tuple(None if k is None else row[k] for k in places) for row in cells.rows]

    def taught(self, rows: Sequence[Row]) -> tuple[Self, sp.csr_array]:
        """Return an encoder with the terms of more rows, and these rows encoded."""
        taught, first = copy.copy(self), self.used_slots_
        taught.fitted_ = []
        for each in self.fitted_:
            taught.fitted_.append(each.taught(self._cells(rows, each), first))
            first = max(first, _end(taught.fitted_[-1:]))
        taught.used_slots_ = first
        if first > self.width_:
            taught.width_ = _reserved(first)
        return taught, taught.encode(rows)

    def forgotten(self, rows: Sequence[Row]) -> Self:
        """Return an encoder without the terms that only these rows had."""
        fewer = copy.copy(self)
        fewer.fitted_ = [each.forgotten(self._cells(rows, each)) for each in self.fitted_]
        # the reason of a constant quotes its value, which perhaps only these rows had
        fewer.columns_ = [
            replace(each, reason="always the same") if each.kind == "constant" else each
            for each in self.columns_
        ]
        return fewer

    def unseen(self, rows: Sequence[Row]) -> dict[str, int]:
        """Return the number of rows, by column, whose cell is not empty but has no known term."""
        counts = {}
        for name, block in self.blocks(rows):
            if name in self.names_:
                at = self.names_.index(name)
                counts[name] = sum(
                    row[at] is not None and not n for row, n in zip(rows, np.diff(block.indptr), strict=True)
                )
        return {name: count for name, count in counts.items() if count}

    def feature_names(self) -> AnyArray:
        """Return (column, term) for each column of the encoded rows; None for a free one."""
        names: AnyArray = np.full(self.width_, None, dtype=object)
        for each in self.fitted_:
            for slot, term in each.names():
                names[slot] = (each.column.name, term)
        return names

    def readable(self, row: Row) -> Iterator[tuple[str, Readable]]:
        """Yield the name of a column, and the part of its cell that each encoded column stands for."""
        for each in self.fitted_:
            (cell,) = self._cells([row], each)
            yield from ((each.column.name, part) for part in each.readable(cell))

    def direction(self, column: str, row: Row) -> str:
        """Return how a number or date compares with those at fit; "" if it is missing or neither."""
        for each in self.fitted_:
            if isinstance(each, NumberColumn) and each.column.name == column:
                return each.direction(*self._cells([row], each))
        return ""

    def row_share(self, column: str, term: str) -> float:
        """Return the share of labeled rows with a word in a column of texts; of a pair, the rarer word."""
        for each in self.fitted_:
            if each.column.name == column and isinstance(each, TermColumn) and each.column.kind == "text":
                words = each.vocabularies[0]
                at = words.positions(plain(term).split())
                known = (at >= 0).all() and words.n_rows > 0
                return float(words.counts[at].min(initial=words.n_rows)) / words.n_rows if known else 0.0
        return 0.0

    def _weight(self, column: Column) -> float:
        block = NUMBERS if column.kind in ("number", "date") else column.name
        return 0.0 if column.kind in EXCLUDED_KINDS else float((self.weights or {}).get(block, 1.0))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each column: ``column``, ``kind``, ``weight``, ``reason``."""
        import pandas as pd

        rows = [(column.name, column.kind, self._weight(column), column.reason) for column in self.columns_]
        return pd.DataFrame(rows, columns=["column", "kind", "weight", "reason"])

    def __rich__(self) -> Table:
        table = Table("Column", "Kind", "Weight", "Why", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for column in getattr(self, "columns_", ()):
            shown = "" if column.kind in EXCLUDED_KINDS else f"{self._weight(column):g}"
            table.add_row(for_terminal(column.name), column.kind, shown, for_terminal(column.reason))
        return table


def warn_about_categories(cells: Cells, encoder: TableEncoder) -> None:
    """Warn of categories, as named by the user, with a different value in nearly every row."""
    for column in encoder.columns_:
        if column.kind != "category" or len(cells.rows) < _ENOUGH:
            continue
        distinct = len(set(cells.column(column.name)))
        if distinct >= _NEARLY_ALL * len(cells.rows):
            warn_user(
                f"column {column.name!r} has {distinct:,} values in {len(cells.rows):,} rows: as a category "
                f"it identifies rows but says nothing else. Use columns={{{column.name!r}: 'text'}}.",
                TableWarning,
            )


def _slots(columns: Sequence[FittedColumn]) -> IntArray:
    return np.concatenate([np.zeros(0, dtype=np.int64), *(each.slots for each in columns)])


def _end(columns: Sequence[FittedColumn]) -> int:
    return int(_slots(columns).max(initial=-1)) + 1


def _reserved(used: int) -> int:
    """Return the width of encoded rows: new terms seldom change it."""
    return used + max(_SPARE, used // 4)


def _named(names: Sequence[str]) -> str:
    return format_names([repr(name) for name in names])


ENCODERS: Registry[TableEncoder] = Registry("encoder", TableEncoder, [TableEncoder])
