"""What all searches share: candidates from grids, the best of them, refined once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from sklearn.base import BaseEstimator

from simlabel._utils.limits import limits
from simlabel._utils.rows import drawn_rows
from simlabel._utils.validation import IntArray
from simlabel.ridge import Problem, knowledge, patterns, work
from simlabel.similarities import Grid
from simlabel.sums import AllPairs, References
from simlabel.tuning._criterion import Judgement, check_criterion, criterion_of
from simlabel.tuning._masked import best_of, measure
from simlabel.tuning._problem import Candidate, grids_of, on_rows, resolved, two_sided
from simlabel.tuning._result import TuningResult
from simlabel.tuning._ridge import RidgeSearch, Walk

_FEWEST_TUNED = 200  # rows
_WHOLE_WALK = Walk()
_REFINED = tuple(2.0**power for power in (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75))


def rows_for_patterns(references: References) -> int:
    """On how many rows learned influence can be searched where labels are known in many sets of rows."""
    n, known = references.n_rows, knowledge(references)
    if known is None:
        return n
    share = (limits().tuned_pattern_operations / max(1.0, work(patterns(known)))) ** (1 / 3)
    return n if share >= 1 else max(_FEWEST_TUNED, int(share * n))


class Search(BaseEstimator):
    """Base class: resolves what is "auto" by scoring training rows against the others."""

    name: ClassVar[str]
    criterion: Judgement

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""
        check_criterion(type(self).__name__, self.criterion)

    def queries(self, references: References, seed: int) -> IntArray:
        """Which references are scored."""
        raise TypeError(f"{type(self).__name__} does not say which rows it scores.")

    def run(
        self,
        problem: Problem,
        walk: Walk = _WHOLE_WALK,
        pairs: AllPairs | None = None,
        *,
        always: bool = False,
    ) -> tuple[Problem, TuningResult]:
        """Return the problem with every "auto" replaced, and the curve.

        Parameters
        ----------
        walk : Walk
            How learned influence is looked for.
        pairs : AllPairs, optional
            Of the references, where others look at them too.
        always : bool
            Whether to measure even if there is one candidate only.
        """
        stages = problem.stages
        stages.influence.check_similarity(stages.similarity, stages.weighting)
        if stages.influence.learned:
            return self._run_ridge(problem, walk, pairs, always)
        grids = grids_of(problem)
        rows = self.queries(problem.references, stages.seed)
        tried = _product(grids)
        if len(tried) == 1 and not always:
            return self._finished(problem, grids, tried, [(math.nan, math.nan)], 0, _note(grids, ""))
        ranked = two_sided(problem)
        measured = self.measure(ranked, tried, rows)
        best = best_of([value for value, _ in measured], criterion_of(self.criterion).higher_is_better)
        if best is None:
            note = "the criterion cannot tell the candidates apart: 1 / (mean distance) is taken"
            at = _middle(tried, grids)
            return self._finished(problem, grids, tried, measured, len(rows), _note(grids, note), at)
        finer = _refine(tried[best], grids)
        measured += self.measure(ranked, finer, rows) if finer else []
        return self._finished(
            problem, grids, tried + finer, measured, len(rows), _note(grids, self.note(rows, problem))
        )

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray
    ) -> list[tuple[float, float]]:
        """Mean and standard error of the criterion for each candidate."""
        return measure(problem, candidates, rows, criterion_of(self.criterion))

    def note(self, rows: IntArray, problem: Problem) -> str:
        """What a reader of the curve should know."""
        return ""

    def _run_ridge(
        self, problem: Problem, walk: Walk, pairs: AllPairs | None, always: bool
    ) -> tuple[Problem, TuningResult]:
        n, note = problem.references.n_rows, ""
        most = min(limits().tuned_rows, rows_for_patterns(problem.references))
        part = problem
        if n > most:
            rows = drawn_rows(problem.references.order, most, problem.stages.seed)
            part, pairs = on_rows(problem, rows), None
            note = f"chosen on a sample of {most:,} of {n:,} rows"
        grids = grids_of(part)
        tried = _product(grids)
        if len(tried) == 1 and not always:
            return self._finished(problem, grids, tried, [(math.nan, math.nan)], 0, _note(grids, ""))
        looked = RidgeSearch(two_sided(part), criterion_of(self.criterion), pairs)
        tried, measured = looked.run(grids, walk)
        return self._finished(problem, grids, tried, measured, part.references.n_rows, _note(grids, note))

    def _finished(
        self,
        problem: Problem,
        grids: dict[str, Grid],
        tried: list[Candidate],
        measured: list[tuple[float, float]],
        n_queries: int,
        note: str,
        at: int | None = None,
    ) -> tuple[Problem, TuningResult]:
        values, errors = zip(*measured, strict=True)
        if at is None:
            at = best_of(values, criterion_of(self.criterion).higher_is_better) or 0
        result = TuningResult(
            tuple(grids),
            tuple(tried),
            criterion_of(self.criterion).name,
            values,
            errors,
            tried[at],
            n_queries,
            note,
            problem.references.n_rows,
        )
        if not grids and not n_queries:
            result = replace(result, candidates=(), values=(), errors=(), best={}, note="nothing is 'auto'")
        return resolved(problem, tried[at]), result


def _note(grids: dict[str, Grid], note: str) -> str:
    notes = [grid.note for grid in grids.values() if grid.note]
    return "; ".join(dict.fromkeys([*notes, note] if note else notes))


def _product(grids: dict[str, Grid]) -> list[Candidate]:
    combinations = itertools.product(*(grid.values for grid in grids.values()))
    return [dict(zip(grids, values, strict=True)) for values in combinations]


def _refine(best: Candidate, grids: dict[str, Grid]) -> list[Candidate]:
    """Values between the best candidate and its neighbours, for one scale at a time."""
    scales = [name for name, grid in grids.items() if grid.refine]
    return [best | {name: best[name] * factor} for name in scales for factor in _REFINED]


def _middle(tried: list[Candidate], grids: dict[str, Grid]) -> int:
    """The candidate at 1 / (mean distance), or in the middle of a grid."""
    return tried.index({name: grid.values[grid.at_mean] for name, grid in grids.items()})
