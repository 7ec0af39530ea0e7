"""Cholesky factors and their inverses by LAPACK, without holding the interpreter lock.

SciPy's own wrappers hold the lock, so threads that factorize would wait for each other. These call the same
library in the same process, so limits on BLAS threads apply to them too.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numba.extending
import numpy as np

_PREFIX = {np.dtype(np.float32): "s", np.dtype(np.float64): "d"}
_INT = ctypes.POINTER(ctypes.c_int)


def cholesky_in_place(A: Any) -> int:
    """Overwrite the lower triangle of a column-major matrix with its Cholesky factor; return 0 on success.

    Examples
    --------
    >>> A = np.asfortranarray([[4.0, 2.0], [2.0, 2.0]])
    >>> cholesky_in_place(A), np.tril(A).tolist()
    (0, [[2.0, 0.0], [1.0, 1.0]])
    """
    return _called("potrf", (b"L",), A)


def invert_lower_in_place(A: Any) -> int:
    """Overwrite the lower triangle with its inverse; return 0 on success.

    Examples
    --------
    >>> A = np.asfortranarray([[2.0, 0.0], [1.0, 1.0]])
    >>> invert_lower_in_place(A), np.tril(A).tolist()
    (0, [[0.5, 0.0], [-0.5, 1.0]])
    """
    return _called("trtri", (b"L", b"N"), A)


def _called(name: str, letters: tuple[bytes, ...], A: Any) -> int:
    n, failed = ctypes.c_int(len(A)), ctypes.c_int(0)
    leading, data = ctypes.c_int(max(1, len(A))), A.ctypes.data_as(ctypes.c_void_p)
    routine = _routine(_PREFIX[A.dtype] + name, len(letters))
    routine(*letters, ctypes.byref(n), data, ctypes.byref(leading), ctypes.byref(failed))
    return failed.value


@lru_cache(maxsize=8)
def _routine(name: str, n_letters: int) -> Any:
    address = numba.extending.get_cython_function_address("scipy.linalg.cython_lapack", name)
    letters = [ctypes.c_char_p] * n_letters
    return ctypes.CFUNCTYPE(None, *letters, _INT, ctypes.c_void_p, _INT, _INT)(address)
