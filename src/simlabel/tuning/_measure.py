"""Candidates for what is "auto", and their measurement by masked sums, all in one pass over the rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, blocks, is_lazy, take_rows
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.labels import UnknownLabels
from simlabel.metrics import Criterion, Truth, find_criterion, propensities
from simlabel.ridge import KnownSums, Problem, Rescaling, exclude_self
from simlabel.rules import ScoreBlock, SetSize
from simlabel.similarities import Grid
from simlabel.sums import Job, ReduceCall, References, prepare, reducer_for, run_tasks

Candidate = dict[str, Any]
CriterionSpec = str | Callable[[Any, FloatArray], float]

_CACHED_BYTES = 1 << 24  # of scores in one pass: summed, transposed, rounded and ranked, they stay in cache
_FEWEST_QUERIES = 16


class Measurement(NamedTuple):
    """Criterion of a candidate, its standard error, and its masked sums where they are kept."""

    value: float
    error: float
    sums: FloatArray | None = None


def grids_of(problem: Problem) -> dict[str, Grid]:
    """Return candidates for everything that is "auto", by nested names."""
    stages, references = problem.stages, problem.references
    grids = dict(stages.similarity.grids(references.X, references.weights, stages.seed))
    for name in stages.similarity.auto_parameters:
        if name not in grids:
            raise ValueError(
                f"{stages.similarity!r} has {name}='auto', but no values to try for it: pass a value, or "
                f"define a method grids(X, sample_weight, seed) in its class that returns "
                f"{{{name.rpartition('__')[2]!r}: Grid((0.5, 1.0, 2.0))}} (simlabel.similarities.Grid)."
            )
    own = {"influence": stages.influence.grids()}
    if stages.weighting is not None:
        own = {"weighting": stages.weighting.grids(references.n_rows), **own}
    return grids | {f"{stage}__{name}": Grid(v) for stage, of in own.items() for name, v in of.items()}


def resolved(problem: Problem, candidate: Candidate) -> Problem:
    """Return the problem with these values in place of "auto"."""
    stages, own = problem.stages, {}
    nested: dict[str, Candidate] = {}
    for name, value in candidate.items():
        stage, _, rest = name.partition("__")
        if stage in ("weighting", "influence"):
            nested.setdefault(stage, {})[rest] = value
        else:
            own[name] = value
    changed = {stage: clone(getattr(stages, stage)).set_params(**values) for stage, values in nested.items()}
    return replace(problem, stages=replace(stages, similarity=stages.similarity.replaced(own), **changed))


def on_rows(problem: Problem, rows: IntArray) -> Problem:
    """Return the problem on some of the rows."""
    known, stages = problem.references, problem.stages
    X, raw = take_rows(known.X, rows), None if known.raw is known.X else take_rows(known.raw, rows)
    some = References(
        X[:, rows] if known.pairwise else X,
        known.Y[rows],
        known.weights[rows],
        raw=raw,
        groups=None if known.groups is None else known.groups[rows],
        unknown=None if known.knowledge is None else known.knowledge.part(rows),
        pairwise=known.pairwise,
    )
    return Problem(stages if stages.scales is None else replace(stages, scales=stages.scales[rows]), some)


def varying(references: References) -> References:
    """Return the references without labels that no row or every row has; unchanged if none varies."""
    constant, knowledge = references.constant, references.knowledge
    if constant is None or constant.all():
        return references
    labels = np.flatnonzero(constant == 0)
    if knowledge is not None:
        knowledge = UnknownLabels(sp.csr_array(knowledge.entries[:, labels]), knowledge.open_rows)
    return references.with_labels(sp.csr_array(references.Y[:, labels]), knowledge)


def two_sided(problem: Problem) -> Problem:
    """Return the problem of ranking the labels that vary: of a single one, its absence and its presence."""
    known = varying(problem.references)
    if known.n_labels == 1:
        present, unknown = known.imputed_Y.toarray(), None
        absent = 1 - present
        if known.unknown is not None:
            absent -= known.unknown.toarray()
            both = sp.csr_array(sp.hstack([known.unknown, known.unknown], format="csr"))
            unknown = UnknownLabels(both, np.zeros(known.n_rows, dtype=bool))
        known = known.with_labels(sp.csr_array(np.hstack([absent, present]).astype(np.int8)), unknown)
    return replace(problem, references=known)


def criterion_of(spec: CriterionSpec) -> Criterion:
    """Return the criterion of a name, or of a function of the truth and the scores, to be maximized."""
    if isinstance(spec, str):
        return find_criterion(spec)
    name = getattr(spec, "__name__", "criterion")

    def function(truth: Truth, scores: FloatArray) -> float:
        return float(spec(truth.Y if truth.unknown is None else truth.with_nan(), scores))

    return Criterion(name, name, function, aggregation="whole")


def check_criterion(owner: str, criterion: Any) -> None:
    """Raise ValueError for what is neither a name nor a function."""
    try:
        criterion_of(criterion if callable(criterion) else str(criterion))
    except ValueError as error:
        raise ValueError(
            f"{owner}: {error} Or pass a function (Y_true, scores) -> float, the higher the better."
        ) from None


class CriterionEvaluator:
    """Collects leave-one-out scores of one candidate, block by block, and computes the criterion."""

    def __init__(self, criterion: Criterion, sizes: IntArray) -> None:
        self.criterion = criterion
        self.rule = None if criterion.needs_scores else SetSize().fit(sizes, ())
        self.values: list[FloatArray] = []
        self.outputs: list[Any] = []  # scores or sets, if the criterion is computed from all rows at once

    def add(self, truth: Truth, scores: ScoreBlock) -> None:
        """Add the scores of some rows."""
        output: Any = without_noise(scores.labels)
        if self.rule is not None:
            if scores.sizes.shape[1]:
                scores = ScoreBlock(output, without_noise(scores.sizes), output)
            output = self.rule.predict(scores)
        if self.criterion.aggregation == "whole":
            self.outputs.append(output)
        else:
            assert self.criterion.rows is not None
            self.values.append(self.criterion.rows(truth, output))

    def result(self, truth: Truth, weights: FloatArray) -> Measurement:
        """Return the mean over the rows and its standard error; NaN as error if there is no mean.

        Parameters
        ----------
        truth, weights : Truth and array, (n_rows,)
            Of all rows, in the order in which they were added.
        """
        one = self.criterion
        if one.aggregation == "mean":
            return _mean_and_error(np.concatenate(self.values), weights)
        output = np.concatenate(self.outputs) if one.needs_scores else sp.vstack(self.outputs, format="csr")
        if one.rows is not None:
            return _mean_and_error(one.rows(truth, output, propensity=propensities(truth)), weights)
        known = {} if one.needs_scores else {"sample_weight": weights}
        return Measurement(one.function(truth, output, **known), math.nan)


def measure_learned(
    criterion: Criterion, references: References, truth: Truth, scores: FloatArray, weights: FloatArray
) -> Measurement:
    """Compute the criterion of scores of learned influence, (n_rows, n_labels + n_sizes)."""
    n, evaluator = references.n_labels, CriterionEvaluator(criterion, references.sizes)
    evaluator.add(truth, ScoreBlock(scores[:, :n], scores[:, n:], scores[:, :n], np.ones(len(scores))))
    return evaluator.result(truth, weights)


def without_noise(scores: FloatArray) -> FloatArray:
    """Round scores to the digits that do not depend on the order of summation, so that ties are ties."""
    highest = scores.max(axis=1, keepdims=True, initial=0.0)
    largest = np.maximum(highest, -scores.min(axis=1, keepdims=True, initial=0.0))
    steps: FloatArray = scores / np.where(largest > 0, largest, 1)
    units = 1e5 if scores.dtype == np.float32 else 1e10
    steps *= units  # in place: there may be a million labels
    np.rint(steps, out=steps)
    steps /= units
    return steps


def _mean_and_error(values: FloatArray, weights: FloatArray) -> Measurement:
    """Return the weighted mean of the defined values, and its standard error."""
    defined = ~np.isnan(values)
    if not defined.any():
        return Measurement(math.nan, math.nan)
    values, weights = values[defined], weights[defined]
    mean, n = float(np.average(values, weights=weights)), float(weights.sum())
    if n <= 1:
        return Measurement(mean, math.nan)
    variance = float(np.average((values - mean) ** 2, weights=weights)) * n / (n - 1)
    return Measurement(mean, math.sqrt(variance / n))


def measure(
    problem: Problem,
    candidates: Sequence[Candidate],
    rows: IntArray,
    criterion: Criterion,
    *,
    symmetric: bool = False,
    keep: bool = False,
) -> list[Measurement]:
    """Measure each candidate by leave-one-out.

    Parameters
    ----------
    rows : array of int
        References that are the queries; each is left out of its own sums.
    symmetric : bool
        Whether they are all references, and each pair is to be visited once.
    keep : bool
        Whether to return the sums too, over labels and set sizes, if they fit in memory.
    """
    references, n = problem.references, len(candidates)
    tried = _Candidates(problem, candidates, criterion, len(rows) if keep else 0)
    symmetric = symmetric and tried.bytes_each * n * len(rows) <= limits().symmetric_bytes
    at_once, size = (n, len(rows)) if symmetric else _chunk(tried.bytes_each, n, len(rows))
    groups = list(blocks(n, at_once))
    threads = 1 if len(groups) == 1 else _threads(problem)
    for part in blocks(len(rows), size):
        queries = references.X if symmetric else take_rows(references.X, rows[part])
        call = queries, problem.truth[rows[part]], rows[part], symmetric, 1 if threads > 1 else None

        def score(some: slice, stopped: Callable[[], bool], call: Any = call) -> None:
            if not stopped():
                tried.score(some, *call)

        run_tasks(score, groups, threads)
    counted = problem.multiplicity[rows]
    if not is_every_row(rows, problem):
        counted = counted / references.weights[rows]
    return tried.results(problem.truth[rows], counted)


def measure_folds(
    problem: Problem,
    candidates: Sequence[Candidate],
    folds: Sequence[tuple[IntArray, IntArray]],
    criterion: Criterion,
) -> list[Measurement]:
    """Measure each candidate by cross-validation: folds are (known rows, held-out rows)."""
    evaluators = None
    for known, held in folds:
        tried = _Candidates(on_rows(problem, known), candidates, criterion)
        evaluators = tried.evaluators = evaluators or [
            CriterionEvaluator(criterion, problem.references.sizes) for _ in candidates
        ]
        queries = take_rows(problem.references.X, held)
        queries = queries[:, known] if problem.references.pairwise else queries
        tried.score(slice(None), queries, problem.truth[held])
    rows = np.concatenate([held for _, held in folds])
    return tried.results(problem.truth[rows], problem.multiplicity[rows])


class _Candidates:
    """Candidates as jobs of the engine, and the evaluators of their scores."""

    def __init__(
        self, problem: Problem, candidates: Sequence[Candidate], criterion: Criterion, n_kept: int = 0
    ) -> None:
        self.problem, references, solved = problem, problem.references, problem.solve()
        V, n = solved.V, references.n_labels
        self.bytes_each = 8 * max(1, V.shape[1])  # of a candidate's scores for one query
        self.keep = 0 < n_kept * self.bytes_each * len(candidates) <= limits().candidate_bytes
        if criterion.needs_scores and references.is_complete and not self.keep:  # set sizes are not needed
            V = Stack([piece[:, :n] for piece in V.pieces]) if isinstance(V, Stack) else V[:, :n]
            self.bytes_each = 8 * max(1, n)
        plain = reducer_for(None, V)  # shared, and so what it caches of V
        self.jobs: list[Job] = []
        self.known: list[KnownSums | None] = []
        for candidate in candidates:
            one = resolved(problem, candidate)
            similarity, weighting = one.stages.similarity, one.stages.weighting
            reducer = plain if weighting is None else reducer_for(weighting, V, references.weights)
            self.jobs.append(Job(similarity, weighting, reducer))
            self.known.append(None if references.is_complete else KnownSums(one, solved.scale is not None))
        self.prepared = prepare(references.X, [job.similarity for job in self.jobs])
        self.evaluators = [CriterionEvaluator(criterion, references.sizes) for _ in candidates]
        self.kept: list[list[FloatArray]] = [[] for _ in candidates]
        self.rescaled = Rescaling(problem, solved.scale)

    def score(
        self,
        some: slice,
        queries: Rows,
        truth: Truth,
        rows: IntArray | None = None,
        symmetric: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        """Score queries for some candidates; `rows` are references, excluded from their own sums."""
        stages, references = self.problem.stages, self.problem.references
        n, own = references.n_labels, None if rows is None else exclude_self(rows, references)
        call = ReduceCall(queries, self.prepared, self.jobs[some], own, symmetric, n_jobs or stages.n_jobs)
        for i, sums in zip(range(len(self.jobs))[some], stages.engine.reduce(call), strict=True):
            if self.keep:
                self.kept[i].append(sums)
            labels, sizes, totals, known = sums[:, :n], sums[:, n:], None, self.known[i]
            if known is not None:
                labels, sizes, totals = known(sums, rows)
            if rows is not None:
                labels = self.rescaled(labels, rows)
            self.evaluators[i].add(truth, ScoreBlock(labels, sizes, labels, totals))

    def results(self, truth: Truth, weights: FloatArray) -> list[Measurement]:
        """Return the criterion of each candidate; `truth` and `weights` are those of all queries."""
        results = []
        for evaluator, sums in zip(self.evaluators, self.kept, strict=True):
            result = evaluator.result(truth, weights)
            results.append(result._replace(sums=np.concatenate(sums)) if self.keep else result)
        return results


def _chunk(each: int, n_candidates: int, n_queries: int) -> tuple[int, int]:
    """Return how many candidates and queries are scored at once, with `each` bytes of scores."""
    most, fewest = limits().candidate_bytes, limits().candidate_queries
    most, fewest = min(most, _CACHED_BYTES), min(fewest, _FEWEST_QUERIES)
    at_once = max(1, min(n_candidates, most // (each * fewest)))
    size = max(1, most // (each * at_once))
    return at_once, -(-n_queries // -(-n_queries // size))  # all chunks of about one size


def _threads(problem: Problem) -> int:
    """Return the number of threads that score candidates: one if the engine is to use them all."""
    engine, leaves = problem.stages.engine, problem.stages.similarity.leaves()
    in_python = any(leaf.similarity.form == "block" for leaf in leaves)
    alone = in_python or engine.local_engine is not engine or is_lazy(problem.references.X)
    return 1 if alone else effective_jobs(problem.stages.n_jobs)


def is_every_row(rows: IntArray, problem: Problem) -> bool:
    """Whether these are all references, and not a sample, in which each is one copy of a row."""
    return np.array_equal(rows, np.arange(problem.references.n_rows))


def best_of(values: Sequence[float], higher: bool) -> int | None:
    """Return the index of the best value, the first of equals; None if all are equal or undefined."""
    goodness: FloatArray = np.array(values) if higher else -np.array(values)
    if np.isnan(goodness).all():
        return None
    top = np.nanmax(goodness)
    if top - np.nanmin(goodness) <= 1e-9:  # a difference by rounding
        return None
    return int(np.argmax(goodness >= top - 1e-9))
