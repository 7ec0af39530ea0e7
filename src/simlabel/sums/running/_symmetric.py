"""The queries are the references: each pair of rows is compared once and counts for both.

Blocks of rows meet as in a tournament: in every round each block has one opponent. No two threads add to
the same block at once, and the order of the sums does not depend on the threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray
from simlabel.sums._contract import Plan, Progress, ReduceCall
from simlabel.sums.reducers import finish_into
from simlabel.sums.running._panels import sums_of_block
from simlabel.sums.running._progress import Ticker
from simlabel.sums.running._tasks import run_tasks
from simlabel.sums.running._tiles import empty_outputs


def rounds(n: int) -> Iterator[list[tuple[int, int]]]:
    """Every pair of range(n) once, in rounds in which nobody appears twice; first all with themselves.

    Examples
    --------
    >>> list(rounds(3))
    [[(0, 0), (1, 1), (2, 2)], [(1, 2)], [(0, 2)], [(0, 1)]]
    """
    yield [(i, i) for i in range(n)]
    circle: list[int] = list(range(n + n % 2))  # an odd one out meets nobody
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < n]
        circle = [circle[0], circle[-1], *circle[1:-1]]


def _block_size(plan: Plan) -> int:
    """The side of a square of the planned size, or a little less, so that no thread waits for another."""
    side = max(1, math.isqrt(plan.queries * plan.references))
    most = max(1, plan.n_references // limits().smallest_side)
    at_once = min(2 * plan.threads, most)  # blocks that meet in pairs, one pair on each thread
    count = -(-plan.n_references // side)
    return -(-plan.n_references // (-(-count // at_once) * at_once)) if count > 1 else side


class SymmetricRun:
    """Blocks against blocks; a row can leave out itself, and nothing else."""

    def __init__(self, call: ReduceCall, plan: Plan, on_block: Progress | None) -> None:
        own = None if call.exclude is None else call.exclude.own
        if plan.n_queries != plan.n_references:
            raise ValueError(
                f"A symmetric pass needs the references as queries; got {plan.n_queries} queries "
                f"and {plan.n_references} references."
            )
        if own is not None and not ((own < 0) | (own == np.arange(plan.n_queries))).all():
            raise ValueError("In a symmetric pass a row can leave out itself only: own must be i or -1.")
        self.jobs, self.plan = call.jobs, plan
        self.ticker = Ticker(plan.n_queries * plan.n_references, on_block, call.prepared)
        self.blocks = list(blocks(plan.n_references, _block_size(plan)))
        self.sums = [sums_of_block(call, part, plan) for part in self.blocks]

    def results(self) -> list[FloatArray]:
        """Play all rounds and gather."""
        pairs = [pair for some in rounds(len(self.blocks)) for pair in some]
        run_tasks(self._meet, pairs, self.plan.threads, alone_with=lambda pair: pair)
        outputs = empty_outputs(self.plan, self.jobs)
        for part, sums in zip(self.blocks, self.sums, strict=True):
            for output, partial in zip(outputs, sums.partials(), strict=True):
                finish_into(partial, output[part])
        return outputs

    def _meet(self, pair: tuple[int, int], stopped: Callable[[], bool]) -> None:
        if stopped():
            return
        one, other = pair
        here, there = self.blocks[one], self.blocks[other]
        self.sums[one].meet(self.sums[other], here, there)
        pairs = (here.stop - here.start) * (there.stop - there.start)
        self.ticker.tick(pairs if one == other else 2 * pairs)
