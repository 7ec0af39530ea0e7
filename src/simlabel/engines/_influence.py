"""V, and its product with a block of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._kernels import add_by_label, add_by_reference, turn_over
from simlabel._validation import FloatArray

FEW_QUERIES = 8  # with fewer, a loop over queries is too short to vectorise: loop over references


def turned_over(S: FloatArray) -> FloatArray:
    """A contiguous copy of S transposed, or S.T itself where that is contiguous."""
    if S.T.flags.c_contiguous:
        return S.T
    out: FloatArray = np.empty(S.shape[::-1], dtype=S.dtype)
    turn_over(np.ascontiguousarray(S), out)
    return out


class Influence:
    """V, dense or sparse, and the product of a block of similarities with some of its rows.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        What each reference contributes per unit of similarity.
    """

    #: adding one entry of V costs about as much as this many columns of a dense product
    DENSE_COLUMNS_PER_ENTRY = 2.5

    def __init__(self, V: Any) -> None:
        self.V: Any = sp.csr_array(V) if sp.issparse(V) else np.asarray(V)
        n, self.width = self.V.shape
        #: entries of V in a row, on average
        self.entries_per_row = V.nnz / max(1, n) if sp.issparse(V) else float(self.width)
        self.by_entry = sp.issparse(V) and self.width > self.DENSE_COLUMNS_PER_ENTRY * self.entries_per_row
        self._columns: dict[tuple[int, int], Any] = {}

    def add_product(self, S: FloatArray, part: slice, out: FloatArray) -> None:
        """out += (S.T @ V[part]).T.

        Parameters
        ----------
        S : array, (references in `part`, n_queries)
            Similarities, in rows or in columns contiguous.
        out : array of float64, (width, n_queries)
            What is added to.
        """
        if not self.by_entry:
            rows = self.V[part]
            rows = np.asarray(rows.toarray() if sp.issparse(rows) else rows, dtype=S.dtype)
            out += rows.T @ S
        elif S.shape[1] < FEW_QUERIES:
            V = self._by_label(part, S.dtype)
            add_by_label(turned_over(S), V.indptr, V.indices, V.data, out)
        else:
            self._add_entries(S if S.flags.c_contiguous else turned_over(S.T), part, out)

    def _add_entries(self, S: FloatArray, part: slice, out: FloatArray) -> None:
        V = self.V
        indptr = V.indptr[part.start : part.stop + 1]
        # sums of one block may be float32, which is half the traffic, where adding them up pays
        short = S.dtype == np.float32 and int(indptr[-1] - indptr[0]) > 2 * self.width
        total: FloatArray = np.zeros(out.shape, dtype=np.float32) if short else out
        add_by_reference(S, indptr, V.indices, V.data, total)
        if short:
            out += total

    def _by_label(self, part: slice, dtype: Any) -> Any:
        """The rows `part`, column by column; kept, since single queries come one after the other."""
        key = (part.start, part.stop)
        if key not in self._columns:
            self._columns[key] = sp.csc_array(self.V[part]).astype(dtype)
        return self._columns[key]

    def weighted_rows(self, W: Any) -> FloatArray:
        """W @ V for a sparse W, (n_queries, n_references)."""
        product = W @ self.V
        return np.asarray(product.toarray() if sp.issparse(product) else product)
