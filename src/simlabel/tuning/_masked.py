"""Candidates scored by masked sums, all of them in one pass over the similarities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, blocks, is_lazy, take_rows
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.metrics import Criterion
from simlabel.ridge import KnownSums, Problem, Rescaling, Solved, Stages, own_entries
from simlabel.rules import ScoreBlock
from simlabel.sums import Job, ReduceCall, prepare, reducer_for, run_tasks
from simlabel.tuning._criterion import Judge
from simlabel.tuning._problem import Candidate, on_rows, resolved

_CACHED_BYTES = 1 << 24  # of scores in one go: summed, turned over, rounded and ranked, they stay in cache
_FEWEST_QUERIES = 16


def measure(
    problem: Problem,
    candidates: Sequence[Candidate],
    rows: IntArray,
    criterion: Criterion,
    *,
    symmetric: bool = False,
) -> list[tuple[float, float]]:
    """Mean and standard error of the criterion for each candidate.

    Parameters
    ----------
    rows : array of int
        References that are the queries; each is left out of its own sums.
    symmetric : bool
        Whether they are all references, and each pair is to be touched once.
    """
    references, tried = problem.references, _Tried(problem, candidates, criterion)
    n = len(candidates)
    symmetric = symmetric and tried.bytes_each * n * len(rows) <= limits().symmetric_bytes
    at_once, size = (n, len(rows)) if symmetric else _chunk(tried.bytes_each, n, len(rows))
    some = list(blocks(n, at_once))
    threads = 1 if len(some) == 1 else _threads(problem)
    for part in blocks(len(rows), size):
        queries = references.X if symmetric else take_rows(references.X, rows[part])
        run_tasks(partial(tried.score, queries, rows[part], symmetric, threads > 1), some, threads)
    counted = problem.stands_for[rows]
    if not is_every_row(rows, problem):
        counted = counted / references.weights[rows]
    return _results(problem, tried.judges, rows, counted)


class _Tried:
    """Candidates as jobs of the engine, what makes scores of their sums, and who judges them."""

    def __init__(self, problem: Problem, candidates: Sequence[Candidate], criterion: Criterion) -> None:
        self.problem = problem
        references, solved = problem.references, problem.solve()
        few = criterion.needs_scores and references.is_complete  # else what divides labels is summed too
        V: Any = _label_columns(solved.V, references.n_labels) if few else solved.V
        problems = [resolved(problem, candidate) for candidate in candidates]
        self.jobs = _jobs([one.stages for one in problems], V, references.weights)
        self.prepared = prepare(references.X, [one.stages.similarity for one in problems])
        self.judges = [Judge(criterion, references.sizes) for _ in problems]
        self.finished = [_Finish(one, solved) for one in problems]
        self.rescaled = Rescaling(problem, solved.scale)
        #: of a candidate's scores for one query
        self.bytes_each = 8 * max(1, V.shape[1])

    def score(
        self,
        queries: Rows,
        asked: IntArray,
        symmetric: bool,
        alone: bool,
        some: slice,
        stopped: Callable[[], bool],
    ) -> None:
        """Let some candidates be judged by their scores of the references `asked`; `alone`: on one thread."""
        if stopped():
            return
        stages, own = self.problem.stages, own_entries(asked, self.problem.references)
        n_jobs = 1 if alone else stages.n_jobs
        results = stages.engine.reduce(
            ReduceCall(queries, self.prepared, self.jobs[some], own, symmetric, n_jobs)
        )
        truth = self.problem.truth[asked]
        for judge, finish, sums in zip(self.judges[some], self.finished[some], results, strict=True):
            scores = finish(sums, asked)
            labels = self.rescaled(scores.labels, asked)
            judge.add(truth, replace(scores, labels=labels, ranking=labels))


def _chunk(each: int, n_candidates: int, n_queries: int) -> tuple[int, int]:
    """How many candidates are scored at once, and for how many queries, with `each` bytes of scores."""
    most, fewest = limits().candidate_bytes, limits().candidate_queries
    most, fewest = min(most, _CACHED_BYTES), min(fewest, _FEWEST_QUERIES)
    at_once = max(1, min(n_candidates, most // (each * fewest)))
    size = max(1, most // (each * at_once))
    return at_once, -(-n_queries // -(-n_queries // size))  # all chunks of about one size


def _threads(problem: Problem) -> int:
    """On how many threads candidates are scored: on one where the engine is to have all there are."""
    engine, leaves = problem.stages.engine, problem.stages.similarity.leaves()
    in_python = any(leaf.similarity.form == "block" for leaf in leaves)
    if in_python or engine.at_home is not engine or is_lazy(problem.references.X):
        return 1
    return effective_jobs(problem.stages.n_jobs)


def is_every_row(rows: IntArray, problem: Problem) -> bool:
    """Whether these are all references, and not a sample, in which each is one copy of a row."""
    return np.array_equal(rows, np.arange(problem.references.n_rows))


def measure_folds(
    problem: Problem,
    candidates: Sequence[Candidate],
    folds: Sequence[tuple[IntArray, IntArray]],
    criterion: Criterion,
) -> list[tuple[float, float]]:
    """The same with each fold scored against the other folds only."""
    n, sizes = problem.references.n_labels, problem.references.sizes
    judges = [Judge(criterion, sizes) for _ in candidates]
    for known, asked in folds:
        part = on_rows(problem, known)
        solved = part.solve()
        V = _label_columns(solved.V, n) if part.references.is_complete else solved.V
        problems = [resolved(part, candidate) for candidate in candidates]
        tried = [one.stages for one in problems]
        jobs = _jobs(tried, V)
        prepared = prepare(part.references.X, [one.similarity for one in tried])
        queries = take_rows(problem.references.X, asked)
        queries = queries[:, known] if problem.references.pairwise else queries
        call = ReduceCall(queries, prepared, jobs, n_jobs=part.stages.n_jobs)
        results = part.stages.engine.reduce(call)
        truth = problem.truth[asked]
        for judge, one, sums in zip(judges, problems, results, strict=True):
            judge.add(truth, _Finish(one, solved)(sums))
    rows = np.concatenate([asked for _, asked in folds])
    return _results(problem, judges, rows, problem.stands_for[rows])


class _Finish:
    """From sums to scores."""

    def __init__(self, problem: Problem, solved: Solved) -> None:
        self.n = problem.references.n_labels
        complete = problem.references.is_complete
        self.known = None if complete else KnownSums(problem, solved.scale is not None)

    def __call__(self, sums: FloatArray, rows: IntArray | None = None) -> ScoreBlock:
        """Scores of some queries, or of rows that are left out of their own sums."""
        if self.known is None:
            return ScoreBlock(sums[:, : self.n], sums[:, self.n :], sums[:, : self.n])
        labels, sizes, totals = self.known(sums, rows)
        return ScoreBlock(labels, sizes, labels, totals)


def _results(
    problem: Problem, judges: Sequence[Judge], rows: IntArray, weights: FloatArray
) -> list[tuple[float, float]]:
    """What judges say that have seen these rows, in this order, each counting as often as its weight says."""
    truth = problem.truth[rows]
    return [judge.result(truth, weights) for judge in judges]


def _jobs(tried: Sequence[Stages], V: Any, weights: FloatArray | None = None) -> list[Job]:
    """One for each candidate; those without a weighting share a reducer, and so what it keeps of V."""
    plain = reducer_for(None, V)
    return [
        Job(
            one.similarity,
            one.weighting,
            plain if one.weighting is None else reducer_for(one.weighting, V, weights),
        )
        for one in tried
    ]


def _label_columns(V: Any, n_labels: int) -> Any:
    if isinstance(V, Stack):
        return Stack([piece[:, :n_labels] for piece in V.pieces])
    return V[:, :n_labels]


def best_of(values: Sequence[float], higher: bool) -> int | None:
    """Index of the best value, the first of equals; None if all are equal or undefined."""
    goodness: FloatArray = np.array(values) if higher else -np.array(values)
    if np.isnan(goodness).all():
        return None
    top = np.nanmax(goodness)
    if top - np.nanmin(goodness) <= 1e-9:  # rounding must not choose
        return None
    return int(np.argmax(goodness >= top - 1e-9))
