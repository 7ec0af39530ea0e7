"""How far a reduction has come."""

from __future__ import annotations

import threading
import time
import warnings

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.limits import limits
from simlabel.sums._contract import Progress
from simlabel.sums._prepared import Prepared


class SlowSimilarityWarning(SimlabelWarning):
    """A similarity given as a Python function is going to take long."""


class Ticker:
    """Counts pairs, tells the caller, and warns of a function that will take long."""

    def __init__(self, total: int, on_block: Progress | None, prepared: Prepared) -> None:
        self.done, self.total = 0, total
        self.on_block = on_block
        self.watching = _calls_python_by_pair(prepared)
        self.lock = threading.Lock()
        self.started = time.perf_counter()

    def tick(self, pairs: int) -> None:
        """So many pairs more are done."""
        with self.lock:
            self.done += pairs
            if self.on_block is not None:
                self.on_block(self.done, self.total)
            if self.watching:
                self._warn_if_slow()

    def _warn_if_slow(self) -> None:
        elapsed = time.perf_counter() - self.started
        left = elapsed / self.done * (self.total - self.done)
        if elapsed >= limits().slow_after and left > limits().slow_seconds:
            self.watching = False
            warnings.warn(
                f"The similarity is a Python function called for each of {self.total:,} pairs; "
                f"at {elapsed / self.done * 1e6:.1f} microseconds a pair this takes about {left:.0f} s more. "
                f"Written for blocks, Function(fn, blockwise=True) with fn(A, B) -> (len(A), len(B)), "
                f"it can be a thousand times as fast.",
                SlowSimilarityWarning,
                stacklevel=2,
            )


def _calls_python_by_pair(prepared: Prepared) -> bool:
    return any(
        leaf.similarity.form == "block" and not getattr(leaf.similarity, "blockwise", False)
        for leaf in prepared.leaves.values()
    )
