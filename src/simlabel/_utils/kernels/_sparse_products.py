"""Sparse rows times dense columns, many of them at once."""

from __future__ import annotations

from simlabel._utils.kernels._compile import kernel
from simlabel._utils.kernels._types import Floats, Ints


@kernel
def sparse_times_dense(indptr: Ints, indices: Ints, data: Floats, M: Floats, out: Floats) -> None:
    """out[i] = sum over the entries of row i of a CSR matrix of entry * M[column].

    Four entries at a time: their rows of M are fetched side by side, and `out` is passed over once for
    all of them. What is added up is of the dtype of M.
    """
    number = M.dtype.type
    for i in range(len(out)):
        total = out[i]
        total[:] = 0.0
        entry, end = indptr[i], indptr[i + 1]
        while entry + 4 <= end:
            a, b = number(data[entry]), number(data[entry + 1])
            c, d = number(data[entry + 2]), number(data[entry + 3])
            A, B = M[indices[entry]], M[indices[entry + 1]]
            C, D = M[indices[entry + 2]], M[indices[entry + 3]]
            for k in range(len(total)):
                total[k] += a * A[k] + b * B[k] + c * C[k] + d * D[k]
            entry += 4
        while entry < end:
            a, A = number(data[entry]), M[indices[entry]]
            for k in range(len(total)):
                total[k] += a * A[k]
            entry += 1
