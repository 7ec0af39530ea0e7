"""Sums of the best configurations, and of a forest's proximity with them, taken where folds say so.

All of it is judged by the same five folds, since a forest has seen the labels; a sum is taken only if it
gains more than one standard error of its gain on the best configuration by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np

from simlabel.estimators._trials import Trial, record
from simlabel.influence import Problem, Ridge, Stages
from simlabel.influence._by_folds import fold_scores, fold_similarities, folds_of
from simlabel.influence._linear import fits_in_matrix
from simlabel.influence._pairs import ridge_targets
from simlabel.metrics import Criterion, Truth
from simlabel.rows import References
from simlabel.similarities import ForestProximity, OnColumns, Similarity, Sum
from simlabel.support.validation import FloatArray, IntArray
from simlabel.tuning import two_sided
from simlabel.tuning._criterion import Judge, learned_scores

_FACTORS = (0.5, 1.0, 2.0)  # of the sum of the parts' penalties


@dataclass(frozen=True)
class Part:
    """A similarity with all values, on rows that are normalized in its own way."""

    normalizer: Any
    similarity: Similarity
    penalty: float
    stages: Stages
    references: References


@dataclass(frozen=True)
class Blend:
    """A sum of parts, with the criterion by folds."""

    parts: tuple[Part, ...]
    penalty: float
    value: float
    error: float

    @property
    def normalizer(self) -> Any:
        """That of all parts, where they have one."""
        return self.parts[0].normalizer if self._same else None

    @property
    def similarity(self) -> Similarity:
        """The sum; where the parts' normalizers differ, each brings its own."""
        parts = [
            each.similarity if self._same else OnColumns(each.similarity, slice(None), each.normalizer)
            for each in self.parts
        ]
        return reduce(Sum, parts)

    @property
    def _same(self) -> bool:
        return len({str(each.normalizer) for each in self.parts}) == 1


def best_blend(
    ranking: Sequence[Trial], n_rows: int, criterion: Criterion, advance: Callable[[], None]
) -> Blend | None:
    """The best sum of parts that gains enough on the best configuration; None where none does."""
    parts = _parts(ranking, n_rows)
    if len(parts) < 2:
        return None
    first, seed = parts[0].references, parts[0].stages.seed
    together = [
        chosen for size in range(2, len(parts) + 1) for chosen in combinations(range(len(parts)), size)
    ]
    tried: list[tuple[tuple[int, ...], float]] = [((0,), parts[0].penalty)]
    for chosen in together:
        if 0 in chosen:
            total = sum(parts[i].penalty for i in chosen)
            tried += [(chosen, factor * total) for factor in _FACTORS]
    values: list[list[float]] = []
    for rest, held in folds_of(first, seed):
        if len(rest) == 0:
            return None
        made = [fold_similarities(each.stages, each.references, rest, held) for each in parts]
        # one after the other: each is as large as all pairs of rows
        sums = ([np.sum([made[i][side] for i in chosen], axis=0) for side in (0, 1)] for chosen, _ in tried)
        both = zip(sums, tried, strict=True)
        values.append([judged(S, Q, p, first, (rest, held), criterion) for (S, Q), (_, p) in both])
        advance()
    return _chosen(np.array(values), tried, parts, criterion.higher_is_better)


def _parts(ranking: Sequence[Trial], n_rows: int) -> list[Part]:
    """The best two configurations with learned influence, and a forest beside the best."""
    most = ranking[0].n_rows
    good = [each for each in ranking if each.n_rows == most and each.best.stages.influence.learned][:2]
    if not good or good[0] is not ranking[0]:
        return []
    parts = [_part(each.best, each.configuration.normalizer, each.similarity) for each in good]
    best = good[0].best
    if isinstance(best.references.X, np.ndarray) and fits_in_matrix(n_rows):
        forest = ForestProximity()
        parts.append(
            _part(
                Problem(replace(best.stages, similarity=forest), best.references), parts[0].normalizer, forest
            )
        )
    return parts


def _part(problem: Problem, normalizer: Any, similarity: Similarity) -> Part:
    assert isinstance(problem.stages.influence, Ridge)
    penalty = float(problem.stages.influence.penalty)
    return Part(normalizer, similarity, penalty, problem.stages, two_sided(problem).references)


def judged(
    S: FloatArray,
    across: FloatArray,
    penalty: float,
    references: References,
    fold: tuple[IntArray, IntArray],
    criterion: Criterion,
) -> float:
    """The criterion on the rows of a fold, from similarities of the rest to itself and of the fold to it."""
    rest, held = fold
    targets, n = ridge_targets(references).toarray(), references.n_labels
    scores = fold_scores(S, across, targets[rest], references.weights[rest], penalty)
    truth, judge = Truth.of(references.Y[held]), Judge(criterion, references.sizes)
    judge.add(truth, learned_scores(scores, n))
    return judge.result(truth, references.weights[held])[0]


def _chosen(
    values: FloatArray, tried: Sequence[tuple[tuple[int, ...], float]], parts: Sequence[Part], higher: bool
) -> Blend | None:
    gains = (values - values[:, :1]) * (1.0 if higher else -1.0)
    mean = gains.mean(axis=0)
    error = gains.std(axis=0, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.full(len(mean), np.inf)
    beyond = np.where(np.nan_to_num(mean, nan=-np.inf) > error, mean, -np.inf)
    beyond[0] = -np.inf
    at = int(np.argmax(beyond))
    if not np.isfinite(beyond[at]):
        return None
    chosen, penalty = tried[at]
    spread = values[:, at].std(ddof=1) / np.sqrt(len(values))
    return Blend(tuple(parts[i] for i in chosen), penalty, float(values[:, at].mean()), float(spread))


def record_of(blend: Blend, criterion: str, n_rows: int) -> dict[str, Any]:
    """A row of the leaderboard."""
    steps = blend.normalizer
    return record(
        "+".join(steps) if isinstance(steps, list) else steps,
        blend.similarity,
        Ridge(blend.penalty),
        {criterion: blend.value, "standard_error": blend.error, "rows": n_rows, "judged": "5 folds"},
    )
