"""The normalizer that does best on leave-one-out scores."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import LazyRows, drawn_rows, is_remote
from simlabel.estimators._problem import make_problem
from simlabel.metrics import Truth
from simlabel.model import Batch, Scorer, training_blocks
from simlabel.normalizers import resolve_normalizer
from simlabel.ridge import Problem, Stages
from simlabel.tables import TableEncoder
from simlabel.tuning import Judge, Judgement, LeaveOneOut, Search, best_of, criterion_of, two_sided

Spec = str | list[str] | None

_ALL: tuple[Spec, ...] = (
    "l2",
    "zscore",
    "minmax",
    "quantile",
    ["zscore", "l2"],
    ["minmax", "l2"],
    ["quantile", "l2"],
)  # the paper's first: of equals the first is taken


def choose_normalizer(
    batch: Batch,
    stages: Stages,
    names: npt.NDArray[Any] | None,
    encoder: TableEncoder | None,
    search: Search,
) -> tuple[Spec, str]:
    """The best of unit length, z-score, min-max, quantile and chains of them, and what was found, in words.

    Each is fitted on at most 1,500 of the rows, with what is "auto" in the stages resolved for it by
    leave-one-out, for the criterion of the search.
    """
    if is_remote(batch.X):
        raise ValueError("normalizer='auto' compares rows on this machine; X is on a cluster. Give one.")
    n, most = len(batch.weights), limits().normalizer_rows
    if n > most:
        batch = batch.part(drawn_rows(batch.order, most, stages.seed))
    _, plain = make_problem(batch, None, stages, names, encoder)
    if stages.similarity.form == "precomputed" or not hasattr(plain.references.X, "shape"):
        return None, ""  # nothing is normalized there
    specs = _candidates(plain)
    values = [
        _judged(make_problem(batch, spec, stages, names, encoder)[1], search.criterion) for spec in specs
    ]
    best = specs[best_of(values, criterion_of(search.criterion).higher_is_better) or 0]
    told = ", ".join(f"{_shown(spec)} {value:.4f}" for spec, value in zip(specs, values, strict=True))
    n = len(batch.weights)
    return best, f"normalizer {_shown(best)} by leave-one-out on {n:,} rows ({told})"


def _candidates(problem: Problem) -> list[Spec]:
    """Those that suit the rows and the similarity."""
    X, similarity = problem.references.X, problem.stages.similarity
    sparse = sp.issparse(X) or isinstance(X, LazyRows)
    rows = problem.references.nonnegative if similarity.nonnegative_input else True
    return [
        spec
        for spec in _ALL
        if not (sparse and "quantile" in _shown(spec)) and _suits(spec, rows, similarity.nonnegative_input)
    ]


def _suits(spec: Spec, rows: bool, wanted: bool) -> bool:
    normalizer = resolve_normalizer(spec)
    return not wanted or (normalizer is not None and normalizer.keeps_nonnegative(rows))


def _judged(problem: Problem, criterion: Judgement) -> float:
    """The criterion by leave-one-out, with what is "auto" in the stages resolved for it."""
    best, curve = LeaveOneOut(criterion=criterion).run(problem)
    if curve.candidates:
        return curve.values[curve.candidates.index(curve.best)]
    best = two_sided(best)  # nothing was left open, and nothing measured
    judge = Judge(criterion_of(criterion), best.references.sizes)
    for block in training_blocks(Scorer(best.stages, best.references, best.solve())):
        judge.add(Truth(Truth.of(block.Y).Y, block.unknown), block.scores)
    return judge.result(best.truth, best.references.weights)[0]


def _shown(spec: Spec) -> str:
    return "+".join(spec) if isinstance(spec, list) else str(spec)
