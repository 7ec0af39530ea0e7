"""The run over all pairs, block by block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray
from simlabel.sums._contract import Plan, Progress, ReduceCall
from simlabel.sums.reducers import PartialResult, finish_into
from simlabel.sums.running._panels import sums_of_block
from simlabel.sums.running._progress import Ticker
from simlabel.sums.running._tasks import run_tasks
from simlabel.sums.running._tiles import empty_outputs


class PairsRun:
    """Blocks of queries as tasks, each over all references or a range of them."""

    def __init__(self, call: ReduceCall, plan: Plan, on_block: Progress | None) -> None:
        self.call, self.plan = call, plan
        self.outputs = empty_outputs(plan, call.jobs)
        self.ticker = Ticker(plan.n_queries * plan.n_references, on_block, call.prepared)

    def results(self) -> list[FloatArray]:
        """All sums."""
        plan = self.plan
        per_part = max(1, -(-plan.n_references // plan.parts))
        parts = list(blocks(plan.n_references, per_part)) or [slice(0, 0)]
        tasks = [(queries, part) for queries in blocks(plan.n_queries, plan.queries) for part in parts]
        partials = run_tasks(self._task, tasks, plan.threads)
        for first in range(0, len(tasks), len(parts)):
            queries = tasks[first][0]
            for later in partials[first + 1 : first + len(parts)]:
                for mine, other in zip(partials[first], later, strict=True):
                    mine.merge(other)
            if len(parts) > 1:
                self._finish(queries, partials[first])
        return self.outputs

    def _task(self, task: tuple[slice, slice], stopped: Callable[[], bool]) -> list[PartialResult] | None:
        queries, part = task
        sums = sums_of_block(self.call, queries, self.plan)
        for block in blocks(part.stop - part.start, self.plan.references):
            if stopped():
                return None
            here = slice(part.start + block.start, part.start + block.stop)
            sums.add(here)
            self.ticker.tick((queries.stop - queries.start) * (here.stop - here.start))
        partials = sums.partials()
        if self.plan.parts > 1:
            return partials
        self._finish(queries, partials)
        return None

    def _finish(self, queries: slice, partials: Sequence[PartialResult]) -> None:
        for output, partial in zip(self.outputs, partials, strict=True):
            finish_into(partial, output[queries])
