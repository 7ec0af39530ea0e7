"""How every loop is compiled: one place for the flags."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
import numba.extending
from numba.core.compiler_lock import global_compiler_lock

from simlabel._utils.kernels._cache import KernelCache


def _kept(**flags: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator that compiles with these flags, at the first call, and keeps what it compiled."""

    def compiled(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(nogil=True, **flags)(function)
        dispatcher._cache = KernelCache(function)  # what cache=True does with numba's own
        return dispatcher

    return compiled


# NaN and infinity keep their meaning everywhere: a non-finite score must reach the check that reports it.
kernel: Any = _kept(fastmath={"contract", "reassoc", "nsz", "arcp"})
# Where the order of operations carries the meaning, sums may be fused but not rearranged.
ordered_kernel: Any = _kept(fastmath={"contract"})
# What is written in terms of registers; see `_lanes`.
intrinsic: Any = numba.extending.intrinsic
inlined: Any = numba.njit(inline="always")

if hasattr(os, "register_at_fork"):
    # A fork waits for a compilation to end: in the child nobody would end it and give back LLVM's locks.
    os.register_at_fork(
        before=global_compiler_lock.acquire,
        after_in_parent=global_compiler_lock.release,
        after_in_child=global_compiler_lock.release,
    )
