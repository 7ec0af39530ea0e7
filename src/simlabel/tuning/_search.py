"""Searches: resolve what is "auto" by scoring training rows against the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, assign_folds, n_copies, sample_copies, sample_rows
from simlabel._utils.validation import FloatArray, IntArray, check_flag, check_number
from simlabel.ridge import Problem, knowledge, patterns, work
from simlabel.similarities import Grid
from simlabel.sums import AllPairs, References
from simlabel.tuning._measure import (
    Candidate,
    CriterionSpec,
    Measurement,
    best_of,
    check_criterion,
    criterion_of,
    grids_of,
    is_every_row,
    measure,
    measure_folds,
    on_rows,
    resolved,
    two_sided,
)
from simlabel.tuning._result import TuningResult
from simlabel.tuning._ridge import RidgeSearch, SearchSchedule

_FEWEST_TUNED = 200  # rows
_FULL_SCHEDULE = SearchSchedule()
_REFINED = tuple(2.0**power for power in (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75))


def rows_for_patterns(references: References) -> int:
    """Return on how many rows learned influence can be tuned if labels are known in many sets of rows."""
    n, known = references.n_rows, knowledge(references)
    if known is None:
        return n
    share = (limits().tuned_pattern_operations / max(1.0, work(patterns(known)))) ** (1 / 3)
    return n if share >= 1 else max(_FEWEST_TUNED, int(share * n))


@dataclass(frozen=True)
class Tuned:
    """The result of a search.

    Attributes
    ----------
    problem : Problem
        With a value for everything that was "auto".
    curve : TuningResult
    sums : array, (n_references, n_labels + n_sizes), or None
        Leave-one-out sums of the best candidate, if they were to be kept and cover all references.
    """

    problem: Problem
    curve: TuningResult
    sums: FloatArray | None = None


class Search(BaseEstimator):
    """Base class: scores candidates on training rows."""

    name: ClassVar[str]
    notes_sample: ClassVar[bool] = False  # whether the curve has a note on a sample of rows
    criterion: CriterionSpec

    def check(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check_criterion(type(self).__name__, self.criterion)

    def queries(self, references: References, seed: int) -> IntArray:
        """Return which references are scored."""
        raise TypeError(f"{type(self).__name__} does not define which rows it scores.")

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray, keep: bool = False
    ) -> list[Measurement]:
        """Measure each candidate; with `keep`, return its sums too if they fit in memory."""
        raise TypeError(f"{type(self).__name__} does not define how it measures candidates.")

    def run(
        self,
        problem: Problem,
        schedule: SearchSchedule = _FULL_SCHEDULE,
        pairs: AllPairs | None = None,
        *,
        always: bool = False,
        keep: bool = False,
    ) -> Tuned:
        """Choose a value for everything that is "auto".

        Parameters
        ----------
        schedule : SearchSchedule
            How learned influence is searched.
        pairs : AllPairs, optional
            Statistics of the references that other searches share.
        always : bool
            Whether to measure even if there is one candidate only.
        keep : bool
            Whether to keep the leave-one-out sums of the best candidate.
        """
        stages = problem.stages
        stages.influence.check_similarity(stages.similarity, stages.weighting)
        if stages.influence.learned:
            return self._run_learned(problem, schedule, pairs, always)
        grids, references = grids_of(problem), problem.references
        tried = _product(grids)
        if len(tried) == 1 and not always:
            return self._result(problem, grids, tried)
        rows, ranked = self.queries(references, stages.seed), two_sided(problem)
        keep = keep and is_every_row(rows, problem) and ranked.references is references
        measured = self.measure(ranked, tried, rows, keep)
        best = best_of([one.value for one in measured], criterion_of(self.criterion).higher_is_better)
        if best is None and len(tried) > 1:
            note = "the criterion cannot tell the candidates apart: 1 / (mean distance) is taken"
            at = tried.index({name: grid.values[grid.at_mean] for name, grid in grids.items()})
            return self._result(problem, grids, tried, measured, len(rows), note, at)
        measured = [one if i == best else one._replace(sums=None) for i, one in enumerate(measured)]
        finer: list[Candidate] = []
        if best is not None:  # values between the best candidate and its neighbors, for one scale at a time
            scales = [name for name, grid in grids.items() if grid.refine]
            finer = [tried[best] | {name: tried[best][name] * by} for name in scales for by in _REFINED]
        measured += self.measure(ranked, finer, rows, keep) if finer else []
        note = ""
        if self.notes_sample and not is_every_row(rows, problem):
            note = f"{len(rows):,} of {references.n_rows:,} rows were scored, against all others"
        return self._result(problem, grids, tried + finer, measured, len(rows), note)

    def _run_learned(
        self, problem: Problem, schedule: SearchSchedule, pairs: AllPairs | None, always: bool
    ) -> Tuned:
        references, note, part = problem.references, "", problem
        n, most = references.n_rows, min(limits().tuned_rows, rows_for_patterns(references))
        if n > most:
            part, pairs = on_rows(problem, sample_rows(references.order, most, problem.stages.seed)), None
            note = f"chosen on a sample of {most:,} of {n:,} rows"
        grids = grids_of(part)
        tried = _product(grids)
        if len(tried) == 1 and not always:
            return self._result(problem, grids, tried)
        search = RidgeSearch(two_sided(part), criterion_of(self.criterion), pairs)
        tried, measured = search.run(grids, schedule)
        return self._result(problem, grids, tried, measured, part.references.n_rows, note)

    def _result(
        self,
        problem: Problem,
        grids: dict[str, Grid],
        tried: list[Candidate],
        measured: list[Measurement] | None = None,
        n_queries: int = 0,
        note: str = "",
        at: int | None = None,
    ) -> Tuned:
        """Return the result; `at` is the chosen candidate, by default the best."""
        criterion = criterion_of(self.criterion)
        if measured is None:
            measured = [Measurement(math.nan, math.nan)] if grids else []
            tried, note = tried[: len(measured)], "" if grids else "nothing is 'auto'"
        values, errors, sums = zip(*measured, strict=True) if measured else ((), (), (None,))
        if at is None:
            at = (best_of(values, criterion.higher_is_better) if values else None) or 0
        best = tried[at] if tried else {}
        notes = "; ".join(dict.fromkeys(filter(None, (*(grid.note for grid in grids.values()), note))))
        curve = TuningResult(
            tuple(grids),
            tuple(tried),
            criterion.name,
            values,
            errors,
            best,
            n_queries,
            notes,
            problem.references.n_rows,
        )
        return Tuned(resolved(problem, best), curve, sums[at])


def _product(grids: dict[str, Grid]) -> list[Candidate]:
    combinations = itertools.product(*(grid.values for grid in grids.values()))
    return [dict(zip(grids, values, strict=True)) for values in combinations]


class LeaveOneOut(Search):
    """Score every labeled row against all others.

    Inner products or distances of a pair are computed once, for all candidates and for both rows
    of the pair.

    Parameters
    ----------
    criterion : str or callable
        Metric to optimize: the name of one that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    max_rows : int
        If there are more rows, a seeded sample of this size is scored, against all others.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> model = SMLClassifier("rbf", tuning="loo").fit(X, [{"a"}, {"a"}, {"b"}, {"b"}])
    >>> model.tuning_.n_queries
    4
    """

    name = "loo"
    notes_sample = True
    file_key = "tuning.LeaveOneOut"

    def __init__(self, criterion: CriterionSpec = "average_precision", max_rows: int = 20_000) -> None:
        self.criterion = criterion
        self.max_rows = max_rows

    def check(self) -> None:
        """Raise ValueError if the criterion or the number of rows is invalid."""
        super().check()
        check_number("LeaveOneOut", "max_rows", self.max_rows, at_least=1, integer=True)

    def queries(self, references: References, seed: int) -> IntArray:
        """Return all rows, or a seeded sample of them."""
        if n_copies(references.weights) <= self.max_rows:
            return np.arange(references.n_rows)
        return sample_copies(references.order, references.weights, self.max_rows, seed)

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray, keep: bool = False
    ) -> list[Measurement]:
        """Measure each candidate, visiting each pair of rows once."""
        all_rows = is_every_row(rows, problem) and not isinstance(problem.references.X, Stack)
        criterion = criterion_of(self.criterion)
        return measure(problem, candidates, rows, criterion, symmetric=all_rows, keep=keep)


class Validation(Search):
    """Score a random share of the labeled rows against all other labeled rows.

    The paper's "cross-validation on 10% of the labeled data", interpreted so that the bandwidth suits the
    number of references of the model: 10% are the queries, and each is compared with all rows
    but itself.

    Parameters
    ----------
    share : float
        Share of the rows, weights counted as copies, that are queries. Up to 1,000, all are; there are never
        more than 2,000, nor, above 50, more than give a candidate 4 million scores
        (for 100,000 labels, 50 rows).
    criterion : str or callable
        Metric to optimize: the name of one that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    literal : bool
        True: as the paper says literally, `folds` folds inside the share, compared with each other
        only. The resulting bandwidth suits a tenth of the references. Groups are not split.
    folds : int
        Number of folds if `literal`.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> model = SMLClassifier("rbf", tuning=Validation(criterion="ranking_loss"))
    >>> model.fit(X, [{"a"}, {"a"}, {"b"}, {"b"}]).tuning_.criterion
    'ranking_loss'
    """

    name = "validation"
    file_key = "tuning.Validation"

    _ALL_UP_TO, _AT_MOST, _FEWEST = 1000, 2000, 50
    _SCORES = 1 << 22  # of a candidate: with more labels, each row says more

    def __init__(
        self,
        share: float = 0.1,
        criterion: CriterionSpec = "average_precision",
        literal: bool = False,
        folds: int = 10,
    ) -> None:
        self.share = share
        self.criterion = criterion
        self.literal = literal
        self.folds = folds

    def check(self) -> None:
        """Raise ValueError if the share, the folds or the criterion is invalid."""
        super().check()
        check_number("Validation", "share", self.share, above=0)
        check_flag("Validation", "literal", self.literal)
        check_number("Validation", "folds", self.folds, at_least=2, integer=True)
        if self.share > 1:
            raise ValueError(f"Validation: share must be at most 1, got {self.share!r}.")
        if self.literal and not criterion_of(self.criterion).needs_scores:
            raise ValueError(
                "Validation: literal folds score labels, not sets: choose a criterion of scores."
            )

    def queries(self, references: References, seed: int) -> IntArray:
        """Return a seeded sample of the rows, in increasing order; a row of weight 2 may be in it twice."""
        n = references.n_rows if self.literal else n_copies(references.weights)
        most = min(self._AT_MOST, max(self._FEWEST, self._SCORES // max(1, references.n_labels)))
        if n <= min(self._ALL_UP_TO, most) and not self.literal:
            return np.arange(references.n_rows)
        fewest = min(n, self.folds) if self.literal else 1
        size = min(n, most, max(fewest, round(self.share * n)))
        if self.literal:
            return sample_rows(references.order, size, seed)
        return sample_copies(references.order, references.weights, size, seed)

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray, keep: bool = False
    ) -> list[Measurement]:
        """Measure each candidate, by leave-one-out or with literal folds."""
        parts, criterion = np.zeros(len(rows), dtype=np.int64), criterion_of(self.criterion)
        if self.literal:
            parts = assign_folds(problem.references.units[rows], self.folds, problem.stages.seed)
        if parts.max(initial=0) == 0:
            return measure(problem, candidates, rows, criterion, keep=keep)
        folds = [(rows[parts != part], rows[parts == part]) for part in range(int(parts.max()) + 1)]
        return measure_folds(problem, candidates, folds, criterion)
