"""How every loop is compiled: one place for the flags."""

from __future__ import annotations

from typing import Any

import numba
import numba.extending

# NaN and infinity keep their meaning everywhere: a non-finite score must reach the check that reports it.
kernel: Any = numba.njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz", "arcp"})
# Where the order of operations carries the meaning, sums may be fused but not rearranged.
ordered_kernel: Any = numba.njit(nogil=True, cache=True, fastmath={"contract"})
# What is written in terms of registers; see `_lanes`.
intrinsic: Any = numba.extending.intrinsic
inlined: Any = numba.njit(inline="always")
