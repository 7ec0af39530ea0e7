"""Which engine a name, an object or "auto" means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from simlabel._utils.limits import limits
from simlabel._utils.registry import Registry
from simlabel._utils.validation import FloatArray
from simlabel.sums._collapsed import Collapsed
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Engine, Job, Plan, Progress, ReduceCall
from simlabel.sums._exact import Exact
from simlabel.sums._prepared import Prepared
from simlabel.sums.reducers import Exclude

_PAIRS = "pairs"  # where a job keeps for how many queries of which references pairs were the choice


class Auto(Engine):
    """The exact way with the lowest predicted cost, chosen anew for every call.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory used beyond inputs and outputs, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in all) after each block where pairs are visited.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.0, 1.0]] * 1000, [{"a"}, {"b"}] * 1000
    >>> print(str(SMLClassifier("linear", engine="auto").fit(X, y).plan_).splitlines()[0])
    exact sums, collapsed to 2 columns: 2,000 queries x 2,000 references, in float64
    """

    name = "auto"
    file_key = "engines.Auto"

    def __init__(self, memory_mib: float = DEFAULT_MEMORY_MIB, on_block: Progress | None = None) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block

    def choose(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], exclude: Exclude | None = None
    ) -> Engine:
        """The engine for a call."""
        exact, collapsed = Exact(self.memory_mib, self.on_block), Collapsed(self.memory_mib, self.on_block)
        if exclude is None and collapsed.is_ready(jobs):
            return collapsed  # it was the choice for many queries, and for few it is as cheap
        if exclude is not None:
            return exact
        few = n_queries < limits().few_queries and len(jobs) == 1
        known, asked = jobs[0].kept.get(_PAIRS, (None, None)) if few else (None, None)
        if known is prepared and asked == (n_queries, self.memory_mib):
            return exact  # for few queries the choice takes longer than a good part of their sums
        possible = collapsed.why_not(prepared, jobs) is None and not collapsed.is_too_large(prepared, jobs)
        if possible and collapsed.cost(n_queries, prepared, jobs) < exact.cost(n_queries, prepared, jobs):
            return collapsed
        if few:
            jobs[0].kept[_PAIRS] = prepared, (n_queries, self.memory_mib)
        return exact

    def ready(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """What the choice for as many queries as references wants done."""
        self.choose(prepared.n_rows, prepared, jobs).ready(prepared, jobs)

    def carry(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Where the sums were collapsed they stay so."""
        Collapsed(self.memory_mib).carry(before, old, after, new)

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """The plan of the choice, and what it would cost otherwise."""
        chosen = self.choose(n_queries, prepared, jobs)
        plan = chosen.plan(n_queries, prepared, jobs, n_jobs)
        if isinstance(chosen, Collapsed):
            gain = Exact().cost(n_queries, prepared, jobs) / chosen.cost(n_queries, prepared, jobs)
            words = f"chosen because visiting all pairs is predicted to take {gain:.2g} times as long"
            plan = replace(plan, reasons=(*plan.reasons, words))
        return plan

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """What the choice computes."""
        return self.choose(call.n_queries, call.prepared, call.jobs, call.exclude).reduce(call)


ENGINES: Registry[Engine] = Registry("engine", Engine, [Auto, Exact, Collapsed])


def resolve_engine(spec: Any) -> Engine:
    """Turn a name or an object into an engine, checked."""
    engine = ENGINES.resolve(spec)
    engine.check()
    return engine
