"""V, and its product with a block of similarities."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._kernels import (
    WORD,
    add_by_label,
    add_by_reference,
    add_present,
    transpose,
)
from simlabel.rows import Stack
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows

Arrays = tuple[npt.NDArray[Any], ...]

_FEW = 4096  # entries: a loop for them need not be compiled


def turned_over(S: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """A contiguous copy of S transposed, in `out` where that is given, or S.T where that is contiguous."""
    if out is None and S.T.flags.c_contiguous:
        return S.T
    out = np.empty(S.shape[::-1], dtype=S.dtype) if out is None else out
    if S.size < _FEW or S.T.flags.c_contiguous or out.dtype != S.dtype:
        out[:] = S.T
    else:
        transpose(np.ascontiguousarray(S), out)
    return out


class KeptArrays:
    """Arrays that were made of V and will be wanted again, up to 64 MiB."""

    def __init__(self) -> None:
        self.arrays: dict[Hashable, Arrays] = {}
        self.size = 0

    def get(self, key: Hashable, make: Callable[[], Arrays]) -> Arrays:
        """What is kept under a key, or else what `make` gives."""
        arrays = self.arrays.get(key)
        if arrays is None:
            arrays = make()
            size = sum(array.nbytes for array in arrays)
            if self.size + size <= limits().kept_bytes:
                self.arrays[key], self.size = arrays, self.size + size
        return arrays


class InfluenceColumns:
    """V, dense or sparse or a stack of such, and the product of similarities with some of its rows.

    Parameters
    ----------
    V : array, sparse or Stack, (n_references, width)
        What each reference contributes per unit of similarity.
    """

    #: adding one entry of V costs about as much as this many columns of a dense product
    DENSE_COLUMNS_PER_ENTRY = 2.5
    #: and turning a block over, so that entries can be added, about as much as this many
    DENSE_COLUMNS_PER_TURN = 16
    #: for one query, looking up an entry costs about as much as reading through this many columns
    DENSE_COLUMNS_PER_LOOKUP = 12

    def __init__(self, V: Rows) -> None:
        given = isinstance(V, Stack)
        self.stack: Stack = V if given else Stack([sp.csr_array(V) if sp.issparse(V) else np.asarray(V)])
        self.n_references, self.width = len(self.stack), int(self.stack.shape[1])
        sparse = sp.issparse(self.stack.pieces[0])
        #: entries of V in a row, on average
        self.entries_per_row = self.stack.nnz / max(1, self.n_references) if sparse else float(self.width)
        self.by_entry = sparse and self.width > self.DENSE_COLUMNS_PER_ENTRY * self.entries_per_row
        self._columns: dict[tuple[int, int], Rows] = {}
        self.made = KeptArrays()

    @property
    def _worth_turning(self) -> bool:
        entries = self.DENSE_COLUMNS_PER_ENTRY * self.entries_per_row
        return self.width > entries + self.DENSE_COLUMNS_PER_TURN

    @property
    def V(self) -> Rows:
        """The whole of it; a copy where it is in pieces."""
        return self.stack.whole() if len(self.stack.pieces) > 1 else self.stack.pieces[0]

    def rows(self, rows: slice | npt.NDArray[np.int64]) -> Rows:
        """Some rows of it."""
        return self.stack[rows]

    def add_product(self, S: FloatArray, part: slice, out: FloatArray) -> None:
        """out += (S.T @ V[part]).T.

        Parameters
        ----------
        S : array, (references in `part`, n_queries)
            Similarities, in rows or in columns contiguous.
        out : array of float64, (width, n_queries)
            What is added to.
        """
        if self.by_entry and S.shape[1] < limits().few_queries:
            _add_few(turned_over(S), self._by_label(part, S.dtype), out)
            return
        for V, here, rows in self.stack.parts(part):
            block = S[here]
            if self.by_entry and block.flags.c_contiguous:
                _add_entries(block, V, rows, out)
            elif self.by_entry and self._worth_turning:
                _add_entries(turned_over(block.T), V, rows, out)
            else:
                out += self._dense(V, rows, S.dtype).T @ block

    def _dense(self, V: Rows, rows: slice, dtype: npt.DTypeLike) -> FloatArray:
        """Some rows of a piece; of a sparse one they are kept, up to 64 MiB, for other queries and jobs."""
        if not sp.issparse(V):
            return np.asarray(V[rows], dtype=dtype)
        (dense,) = self.made.get((id(V), rows.start, rows.stop), lambda: (V[rows].toarray().astype(dtype),))
        return dense

    def _by_label(self, part: slice, dtype: npt.DTypeLike) -> Rows:
        """The rows `part`, column by column; kept, since single queries come one after the other.

        Dense, (width, rows), where that is quicker to read through and does not take much memory; plain
        labels, which are there or not, in one bit each and row by row.
        """
        key = (part.start, part.stop)
        if key not in self._columns:
            V = self.stack[part]
            size = V.shape[0] * self.width * np.dtype(dtype).itemsize * (len(self._columns) + 1)
            if (
                self.width >= self.DENSE_COLUMNS_PER_LOOKUP * self.entries_per_row
                or size > limits().kept_bytes
            ):
                self._columns[key] = sp.csc_array(V, dtype=dtype)
            elif (V.data == 1).all():
                self._columns[key] = _presence(V)
            else:
                self._columns[key] = V.T.toarray(order="C").astype(dtype)
        return self._columns[key]

    def weighted_rows(self, W: sp.csr_array) -> FloatArray:
        """W @ V for a sparse W, (n_queries, n_references)."""
        total: FloatArray = np.zeros((W.shape[0], self.width))
        for V, columns, _ in self.stack.parts(slice(0, self.n_references)):
            product = (W if len(self.stack.pieces) == 1 else W[:, columns]) @ V
            total += np.asarray(product.toarray() if sp.issparse(product) else product)
        return total


def _add_few(S: FloatArray, V: Rows, out: FloatArray) -> None:
    """out += (S @ V).T for a handful of queries, (n_queries, references), and V by column."""
    if sp.issparse(V):
        add_by_label(S, V.indptr, V.indices, V.data, out)
        return
    if V.dtype == np.uint32:
        for i, similarities in enumerate(S):
            sums = np.zeros(WORD * V.shape[1])
            add_present(similarities, V, sums)
            out[:, i] += sums[: len(out)]
        return
    for i, similarities in enumerate(S):  # a product with one vector each: BLAS is at its best there
        out[:, i] += V @ similarities


def _presence(V: sp.csr_array) -> npt.NDArray[np.uint32]:
    """A bit for each label of each row, (n_rows, words)."""
    V = V.tocoo()
    rows, labels = V.coords
    words = np.zeros((V.shape[0], -(-V.shape[1] // WORD)), dtype=np.uint32)
    np.bitwise_or.at(words, (rows, labels // WORD), np.left_shift(1, labels % WORD).astype(np.uint32))
    return words


def _add_entries(S: FloatArray, V: Rows, rows: slice, out: FloatArray) -> None:
    indptr = V.indptr[rows.start : rows.stop + 1]
    # sums of one block may be float32, which is half the traffic, where adding them up pays
    short = S.dtype == np.float32 and int(indptr[-1] - indptr[0]) > 2 * out.shape[0]
    total: FloatArray = np.zeros(out.shape, dtype=np.float32) if short else out
    add_by_reference(S, indptr, V.indices, V.data, total)
    if short:
        out += total
