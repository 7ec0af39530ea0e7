"""Sums into labels, at a cost that follows the labels present."""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import kernel


@kernel
def add_sparse_rows(S: Any, indptr: Any, indices: Any, data: Any, out: Any) -> None:
    """out[i] += sum over j of S[i, j] * (row j of a CSR matrix)."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            s = S[i, j]
            for entry in range(indptr[j], indptr[j + 1]):
                out[i, indices[entry]] += s * data[entry]
