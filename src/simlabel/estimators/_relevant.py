"""The best configuration with columns weighed by relevance, taken where folds say that it helps.

The weights have seen the labels, so that leave-one-out flatters them a little. Where they do not gain even
so, that is the end of it; where they do, five folds decide, in each of which the weights are learnt anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simlabel._utils.rows import fold_numbers, transformed
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.estimators._problem import make_problem
from simlabel.estimators._trials import Shared, Trial, Trials, record_of_trial
from simlabel.metrics import Criterion, Truth
from simlabel.ridge import positive_definite_inverse, ridge_targets, similarity_matrix
from simlabel.sums import References, prepare
from simlabel.tuning import Judge, Walk, learned_scores, two_sided

_ROWS = 800  # on which it is judged: the weights of more are better still
_FEWEST = 100  # rows: what fewer say of columns is mostly chance
_FOLDS = 5
_SURE = 2.0  # standard errors of the gain: five folds say little
_FIRST, _LAST = Walk(steps=(1.0,), rough=True, exact_best=False), Walk(steps=(1.0, 0.5), rough=True)


@dataclass(frozen=True)
class Weighed:
    """A configuration with weighed columns, tuned on all rows, and the criterion by folds."""

    trial: Trial
    value: float
    error: float
    folds: int

    @property
    def record(self) -> dict[str, Any]:
        """A row of the leaderboard."""
        return record_of_trial(self.trial, self.value, self.error, f"{self.folds} folds")


def best_weighed(
    ranking: Sequence[Trial], trials: Trials, n_rows: int, criterion: Criterion
) -> Weighed | None:
    """The best configuration with weighed columns where that surely gains; else None.

    Parameters
    ----------
    ranking : sequence of Trial
        The best first.
    trials : Trials
        With all rows.
    n_rows : int
        Of the last trial.
    """
    best, X = ranking[0], trials.batch.X
    possible = isinstance(X, np.ndarray) and X.shape[1] > 1 and trials.batch.is_complete
    if not (possible and best.best.stages.influence.learned and trials.n_rows >= _FEWEST):
        return None
    some, start = trials.sampled(_ROWS), best.curve.best
    weighed = replace(best.configuration, normalizer=with_relevance(best.configuration.normalizer))
    plain = some.run(best.configuration, replace(_FIRST, steps=(), start=start), Shared())
    found = some.run(weighed, replace(_FIRST, start=start), Shared())
    sign = 1.0 if criterion.higher_is_better else -1.0
    if not sign * (found.value - plain.value) > 0:
        return None
    values = np.array([_by_folds(trial, some, criterion) for trial in (plain, found)])
    gains = sign * (values[1] - values[0])
    if len(gains) < 3 or not gains.mean() > _SURE * gains.std(ddof=1) / np.sqrt(len(gains)):
        return None
    last = trials.sampled(n_rows).run(weighed, replace(_LAST, start=found.curve.best), Shared())
    spread = values[1].std(ddof=1) / np.sqrt(len(gains))
    return Weighed(last, float(values[1].mean()), float(spread), len(gains))


def with_relevance(normalizer: Any) -> list[Any]:
    """A normalizer that weighs columns too, before rows are brought to one length.

    Examples
    --------
    >>> with_relevance("zscore"), with_relevance(["zscore", "l2"])
    (['zscore', 'relevance'], ['zscore', 'relevance', 'l2'])
    """
    steps = list(normalizer) if isinstance(normalizer, list | tuple) else [normalizer]
    steps = [step for step in steps if step is not None]
    at = len(steps) - (steps[-1:] == ["l2"])
    return [*steps[:at], "relevance", *steps[at:]]


def _by_folds(trial: Trial, trials: Trials, criterion: Criterion) -> list[float]:
    """The criterion on each of five folds, with the values that were found and all else learnt anew."""
    references, batch = two_sided(trial.best).references, trials.batch
    stages = replace(trial.best.stages, similarity=trial.similarity)
    values = []
    parts = fold_numbers(references.units, _FOLDS, trials.seed)  # a group is never split
    for part in range(int(parts.max()) + 1):
        rest, held = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        if not len(rest):
            continue
        normalizer, problem = make_problem(
            batch.part(rest), trial.configuration.normalizer, stages, trials.names
        )
        rows = batch.X[held] if normalizer is None else transformed(normalizer, batch.X[held])
        S, prepared = similarity_matrix(problem), prepare(problem.references.X, [problem.stages.similarity])
        penalty = float(stages.influence.get_params()["penalty"])
        across = problem.stages.similarities(rows, prepared)
        values.append(_judged(S, across, penalty, references, (rest, held), criterion))
    return values


def _judged(
    S: FloatArray,
    across: FloatArray,
    penalty: float,
    references: References,
    fold: tuple[IntArray, IntArray],
    criterion: Criterion,
) -> float:
    """Return the criterion of a fold, from similarities of the rest to itself and of the fold to it."""
    rest, held = fold
    weights, targets = references.weights[rest], ridge_targets(references).toarray()[rest]
    mean = weights @ targets / weights.sum()
    V = positive_definite_inverse(S, penalty / weights) @ (targets - mean)
    truth, judge = Truth.of(references.settled_Y[held]), Judge(criterion, references.sizes)
    judge.add(truth, learned_scores(np.asarray(across @ V + mean), references.n_labels))
    return judge.result(truth, references.weights[held])[0]
