"""V, and its product with a block of similarities."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.kernels import (
    WORD,
    add_by_label,
    add_by_reference,
    add_present,
    panel_width,
    sort_by_label,
    transpose,
)
from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows

ArrayTuple = tuple[AnyArray, ...]

_FEW = 4096  # entries: numpy's loop is fast enough for them


def transposed(S: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Return a contiguous copy of S transposed, in `out` if given, or S.T if that is contiguous."""
    if out is None and S.T.flags.c_contiguous:
        return S.T
    out = np.empty(S.shape[::-1], dtype=S.dtype) if out is None else out
    if S.size < _FEW or S.T.flags.c_contiguous or out.dtype != S.dtype:
        out[:] = S.T
    else:
        transpose(np.ascontiguousarray(S), out)
    return out


class InfluenceColumns:
    """V, dense or sparse or a stack of such, and the product of similarities with some of its rows.

    Parameters
    ----------
    V : array, sparse or Stack, (n_references, width)
        What each reference contributes per unit of similarity.
    """

    #: adding one entry of V costs about as much as this many columns of a dense product
    DENSE_COLUMNS_PER_ENTRY = 2.5
    #: transposing a block, so that entries can be added, costs about as much as this many columns
    DENSE_COLUMNS_PER_TURN = 16
    #: for one query, looking up an entry costs about as much as reading this many columns
    DENSE_COLUMNS_PER_LOOKUP = 12

    def __init__(self, V: Rows) -> None:
        if not isinstance(V, Stack):
            V = sp.csr_array(V) if sp.issparse(V) else np.asarray(V)
        self.n_references, self.width = V.shape
        self.stack = V if isinstance(V, Stack) else Stack([V])
        sparse = sp.issparse(self.stack.pieces[0])
        #: entries of V in a row, on average
        self.entries_per_row = V.nnz / max(1, self.n_references) if sparse else float(self.width)
        self.by_entry = sparse and self.width > self.DENSE_COLUMNS_PER_ENTRY * self.entries_per_row
        self._columns: dict[tuple[int, int], Rows] = {}
        self._cache: dict[Hashable, ArrayTuple] = {}
        self._cached_bytes = 0

    def _cached(self, key: Hashable, compute: Callable[[], ArrayTuple]) -> ArrayTuple:
        """Return cached arrays, or compute them; at most 64 MiB are cached."""
        arrays = self._cache.get(key)
        if arrays is None:
            arrays = compute()
            size = sum(array.nbytes for array in arrays)
            if self._cached_bytes + size <= limits().cache_bytes:
                self._cache[key] = arrays
                self._cached_bytes += size
        return arrays

    @property
    def V(self) -> Rows:
        """All rows; a copy if they are in pieces."""
        return self.stack.whole() if len(self.stack.pieces) > 1 else self.stack.pieces[0]

    def rows(self, rows: slice | IntArray) -> Rows:
        """Return some rows."""
        return self.stack[rows]

    def add_product(self, S: FloatArray, part: slice, out: FloatArray) -> None:
        """Compute out += (S.T @ V[part]).T.

        Parameters
        ----------
        S : array, (references in `part`, n_queries)
            Similarities, contiguous by row or by column.
        out : array of float64, (width, n_queries)
            Sums.
        """
        if self.by_entry and S.shape[1] < limits().few_queries:
            _add_few(transposed(S), self._by_label(part, S.dtype), out)
            return
        entries = self.DENSE_COLUMNS_PER_ENTRY * self.entries_per_row
        for V, here, rows in self.stack.parts(part):
            block = S[here]
            if self.by_entry and block.flags.c_contiguous:
                _add_entries(block, V, rows, out)
            elif self.by_entry and self.width > entries + self.DENSE_COLUMNS_PER_TURN:
                _add_entries(transposed(block.T), V, rows, out)
            else:
                out += self._dense(V, rows, S.dtype).T @ block

    def _dense(self, V: Rows, rows: slice, dtype: npt.DTypeLike) -> FloatArray:
        """Return some rows of a piece as dense array; a sparse piece's are cached."""
        if not sp.issparse(V):
            return np.asarray(V[rows], dtype=dtype)
        (dense,) = self._cached((id(V), rows.start, rows.stop), lambda: (V[rows].toarray().astype(dtype),))
        return dense

    def _by_label(self, part: slice, dtype: npt.DTypeLike) -> Rows:
        """Return the rows `part` by column; cached, since single queries follow each other.

        Dense, (width, rows), if that is faster to read and does not take much memory; 0/1 labels as a bit
        mask by row.
        """
        key = (part.start, part.stop)
        if key not in self._columns:
            V = self.stack[part]
            size = V.shape[0] * self.width * np.dtype(dtype).itemsize * (len(self._columns) + 1)
            lookup = self.width >= self.DENSE_COLUMNS_PER_LOOKUP * self.entries_per_row
            if lookup or size > limits().cache_bytes:
                self._columns[key] = sp.csc_array(V, dtype=dtype)
            elif (V.data == 1).all():
                self._columns[key] = _bit_mask(V)
            else:
                self._columns[key] = V.T.toarray(order="C").astype(dtype)
        return self._columns[key]

    def weighted_rows(self, W: sp.csr_array) -> FloatArray:
        """Return W @ V for a sparse W, (n_queries, n_references)."""
        total: FloatArray = np.zeros((W.shape[0], self.width))
        for V, columns, _ in self.stack.parts(slice(0, self.n_references)):
            product = (W if len(self.stack.pieces) == 1 else W[:, columns]) @ V
            total += np.asarray(product.toarray() if sp.issparse(product) else product)
        return total

    def in_tiles(self, part: slice, step: int, dtype: np.dtype[Any]) -> tuple[FloatArray, ArrayTuple]:
        """Return the rows `part` as kernels of panels read them, in tiles of `step` references.

        They are (dense by label, or empty; entries by tile and label).
        """
        if self.by_entry:
            key = ("entries", part.start, part.stop, step, dtype)
            entries = self._cached(key, lambda: self._sorted_entries(part, step, dtype))
            return np.empty((0, 0), dtype=dtype), entries
        V = self.rows(part)
        dense = V.toarray() if sp.issparse(V) else V
        return np.ascontiguousarray(dense.T, dtype=dtype), _empty_entries(part, step, 0, dtype)

    def _sorted_entries(self, part: slice, step: int, dtype: np.dtype[Any]) -> ArrayTuple:
        touched = list(self.stack.parts(part))
        V, _, rows = touched[0] if len(touched) == 1 else (self.rows(part), part, slice(None))
        indptr = V.indptr[rows.start : None if rows.stop is None else rows.stop + 1]
        entries = _empty_entries(part, step, int(indptr[-1] - indptr[0]), dtype)
        sort_by_label(indptr, V.indices, V.data, step, np.full(self.width, -1), entries)
        firsts, labels, begins, *rest = entries
        n_labels = int(firsts[-1])
        return firsts, labels[:n_labels].copy(), begins[: n_labels + 1].copy(), *rest

    def in_panels(self, rows: slice, dtype: np.dtype[Any]) -> FloatArray:
        """Return some rows in panels of rows and labels, (row panels, label panels, width, width)."""
        V = self.rows(rows)
        width, n = panel_width(dtype), V.shape[0]
        n_panels, n_label_panels = -(-n // width), -(-self.width // width)
        filled = np.zeros((n_panels * width, n_label_panels * width), dtype=dtype)
        filled[:n, : self.width] = V.toarray() if sp.issparse(V) else V
        return np.ascontiguousarray(filled.reshape(n_panels, width, n_label_panels, width).swapaxes(1, 2))


def _empty_entries(part: slice, step: int, n: int, dtype: np.dtype[Any]) -> ArrayTuple:
    """Return arrays for n entries, as `sort_by_label` fills them."""
    n_tiles = -(-(part.stop - part.start) // step)
    firsts, labels, begins, rows = (np.zeros(size, np.int64) for size in (n_tiles + 1, n, n + 1, n))
    return firsts, labels, begins, rows, np.empty(n, dtype=dtype)


def _add_few(S: FloatArray, V: Rows, out: FloatArray) -> None:
    """Compute out += (S @ V).T for a few queries, (n_queries, references), and V by column."""
    if sp.issparse(V):
        add_by_label(S, V.indptr, V.indices, V.data, out)
        return
    for i, similarities in enumerate(S):
        if V.dtype == np.uint32:
            sums = np.zeros(WORD * V.shape[1])
            add_present(similarities, V, sums)
            out[:, i] += sums[: len(out)]
        else:
            out[:, i] += V @ similarities  # a product with one vector each, where BLAS is fastest


def _bit_mask(V: sp.csr_array) -> npt.NDArray[np.uint32]:
    """Return a bit for each label of each row, (n_rows, words)."""
    V = V.tocoo()
    rows, labels = V.coords
    words = np.zeros((V.shape[0], -(-V.shape[1] // WORD)), dtype=np.uint32)
    np.bitwise_or.at(words, (rows, labels // WORD), np.left_shift(1, labels % WORD).astype(np.uint32))
    return words


def _add_entries(S: FloatArray, V: Rows, rows: slice, out: FloatArray) -> None:
    indptr = V.indptr[rows.start : rows.stop + 1]
    # sums of one block may be float32, which halves the traffic, where adding them up pays
    short = S.dtype == np.float32 and int(indptr[-1] - indptr[0]) > 2 * out.shape[0]
    total: FloatArray = np.zeros(out.shape, dtype=np.float32) if short else out
    add_by_reference(S, indptr, V.indices, V.data, total)
    if short:
        out += total
