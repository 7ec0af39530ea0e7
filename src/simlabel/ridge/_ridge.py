"""Learned influence: dual coefficients of kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.advice import SimlabelWarning, warn_user
from simlabel._utils.limits import limits
from simlabel._utils.rows import sample_rows, take_rows
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows, check_flag, check_number
from simlabel.ridge._closed_form import (
    extend_inverse,
    loo_scores_without_each,
    positive_definite_inverse,
    ridge_solution,
    shrink_inverse,
    solution_from_inverse,
    with_ones,
)
from simlabel.ridge._influence import Influence, Problem, RemainingRows, Solved
from simlabel.ridge._leave_one_out import RidgeSolution, scores_without_own_columns
from simlabel.ridge._linear import LinearForm, LinearRidge, MatrixRidge, fits_in_matrix, linear_form
from simlabel.ridge._log_odds import mixed
from simlabel.ridge._nystroem import NystroemFeatures, feature_solution
from simlabel.ridge._unknown_labels import (
    by_patterns,
    check_work,
    knowledge,
    partly_known_solution,
    patterns,
    work,
)
from simlabel.similarities import SIMILARITIES, Similarity
from simlabel.sums import Job, MatrixReducer, ReduceCall, Reducer, References, SumReducer, Weighting, prepare

#: candidates for a penalty that is "auto"
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class RetuneWarning(SimlabelWarning):
    """The parameters of a model were chosen for fewer rows than it has now."""


def ridge_targets(references: References) -> Rows:
    """Return [Y | one-hot of the set size], unweighted, sparse, (n_references, n_labels + n_sizes)."""
    ones = References(references.X, references.Y, np.ones(references.n_rows), unknown=references.knowledge)
    return ones.influence[:, : references.n_labels + len(references.sizes)]


def similarity_matrix(problem: Problem) -> FloatArray:
    """Return the similarities of all references to each other, float64, (n_references, n_references)."""
    rows = _DoubleRows(problem)
    return rows.similarities(rows.X)


class _DoubleRows:
    """References in float64, and their similarities."""

    def __init__(self, problem: Problem) -> None:
        # in memory: few enough for a matrix of all pairs
        self.stages, self.X = problem.stages, problem.references.X[:]
        if getattr(self.X, "dtype", None) == np.float32:
            self.X = self.X.astype(np.float64)
        self.prepared = prepare(self.X, [self.stages.similarity])

    def similarities(self, X: Rows) -> FloatArray:
        """Return the similarities of some rows to all references, (n_rows, n_references)."""
        return self._reduce(X, MatrixReducer(self.prepared.n_rows))

    def sums(self, V: FloatArray) -> FloatArray:
        """Return S V, (n_references, width)."""
        return self._reduce(self.X, SumReducer(V))

    def _reduce(self, X: Rows, reducer: Reducer) -> FloatArray:
        job = Job(self.stages.similarity, None, reducer)
        call = ReduceCall(X, self.prepared, [job], n_jobs=self.stages.n_jobs)
        return self.stages.engine.local_engine.reduce(call)[0]


class Ridge(Influence):
    """Kernel ridge regression: V = (S + penalty I)^-1 (Y - mean), and scores = S_q V + mean.

    With uniform influence, a cluster of near duplicates counts as often as it has members. Here the
    influence is such that the sums over the labeled rows reproduce their labels, as far as the penalty
    allows. Set sizes are learned in the same way.

    Parameters
    ----------
    penalty : float or "auto"
        Regularization strength; ``"auto"`` is chosen at fit together with the bandwidth, by
        leave-one-out in closed form.
    inducing : int, None or "auto"
        Number of inducing references: the sum is over these only, fitted to all references (Nystroem
        approximation). None: over all references. ``"auto"``: over all if three matrices of their
        similarities fit in 1 GiB (6,688 references), and over any number if the similarity is an inner
        product, as linear and cosine are; else over 2,048. With a precomputed similarity only None, or at
        least the number of references.
    mixing : bool
        Whether the score of each label becomes its log-odds, to which the scores of other labels
        contribute: a logistic regression, learned from the leave-one-out scores. Then scores of frequent
        and of rare labels are comparable, and labels that occur together help each other. The mixture is
        part of V, so that a score remains a sum over references. For label sets that are all known; with so
        many labels that a mixture would take long, each uses its own score only, and beyond 1,024 labels
        scores are not changed.
    vocabulary : bool
        Whether columns are words, or other features that were found in these very rows. Then no new row has
        a column that none of them has, and leave-one-out removes from a row the columns that only it has, or
        only its group, and scales the rest to the length of the row. Without that, leave-one-out scores are
        too small, and thresholds too low. For sparse rows and labels that are all known, with up to 6,688
        references, or any number if the similarity is an inner product of more columns than that; otherwise
        it has no effect.

    Notes
    -----
    A row of weight w counts as w copies. The similarity must be positive definite, and no weighting is
    applied to it. Leave-one-out leaves out groups whole; inducing references stay in place.

    Beyond 6,688 references no matrix of them is formed. If the similarity is an inner product of up to
    6,688 columns (linear and cosine of so many features, polynomials of degree 2 of up to 114), the Gram
    matrix of the columns takes its place, and everything is in closed form as before. With more columns,
    linear and cosine influence of sparse rows is found by a factor in single precision and refinement, if
    there are many labels (n^2 is at most 3 million times their number) and up to 32,768 references;
    leave-one-out scores are again in closed form. Otherwise it is found by iteration, and leave-one-out
    scores are those of five folds. The relative residual of both is at most 1e-7 (`Solved.residual`). A
    change then starts from the previous influence.

    The first `partial_fit` or `forget` computes a new solution, and stores the inverse of the similarities
    (n^2 numbers: 358 MB at 6,688 references); later ones update it by blocks, for a batch of b rows at the
    cost of b n^2. With inducing references, the remaining ones are held, and all rows are passed over once.
    If ``"auto"`` would now use inducing references, a `RetuneWarning` says that `retune` is due.

    See Also
    --------
    Uniform : The influence of the paper: all labeled rows count equally.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]
    >>> y = [{"sea"}, {"sea"}, {"trees"}, {"trees"}]
    >>> model = SMLClassifier("rbf", influence=Ridge(penalty=0.1)).fit(X, y)
    >>> model.predict([[0.2, 0.8]])
    [{'trees'}]
    """

    name = "ridge"
    file_key = "influence.Ridge"
    learned = True

    def __init__(
        self,
        penalty: float | Literal["auto"] = "auto",
        inducing: int | Literal["auto"] | None = "auto",
        mixing: bool = False,
        vocabulary: bool = False,
    ) -> None:
        self.penalty = penalty
        self.inducing = inducing
        self.mixing = mixing
        self.vocabulary = vocabulary

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        check_number("Ridge", "penalty", self.penalty, above=0, also=("auto",))
        check_number("Ridge", "inducing", self.inducing, at_least=1, integer=True, also=("auto", None))
        check_flag("Ridge", "mixing", self.mixing)
        check_flag("Ridge", "vocabulary", self.vocabulary)

    def grids(self) -> dict[str, tuple[float, ...]]:
        """Return candidates for the penalty, if it is "auto"."""
        return {"penalty": PENALTIES} if self.penalty == "auto" else {}

    def check_similarity(self, similarity: Similarity, weighting: Weighting | None) -> None:
        """Refuse similarities that are not positive definite, and weightings."""
        if not similarity.positive_definite:
            good = [name for name, cls in SIMILARITIES.classes.items() if cls().positive_definite]
            raise ValueError(
                f"influence='ridge' needs a positive definite similarity, and {similarity!r} is not known "
                f"to be one. These are: {', '.join(good)}, and their sums and products. If you know that "
                f"yours is one, say so: positive_definite=True in Precomputed, Function or your class."
            )
        if weighting is not None:
            raise ValueError(
                f"influence='ridge' learns how much each reference counts; it cannot be combined with "
                f"weighting={weighting!r}."
            )

    def n_inducing(self, n_references: int) -> int | None:
        """Return the number of inducing references; None for all."""
        if self.inducing == "auto":
            return None if fits_in_matrix(n_references) else limits().inducing_rows
        return None if self.inducing is None or self.inducing >= n_references else int(self.inducing)

    def gives_log_odds(self, n_labels: int) -> bool:
        """Return whether scores of so many labels are log-odds; otherwise they are near 0 and 1."""
        return self.mixing and 0 < n_labels <= limits().mixed_columns

    def solve(self, problem: Problem) -> Solved:
        """Compute the influence of all references, or of inducing ones."""
        self._check_known(problem.references)
        form = self._linear_form(problem)
        if form is not None:
            return self._solve_linear(problem, form)
        m = self.n_inducing(problem.references.n_rows)
        if m is not None:
            inducing = sample_rows(problem.references.order, m, problem.stages.seed)
            return self._solve_inducing(problem, inducing)
        return replace(self._solve_all(problem), inverse=None)

    def updated(self, before: Solved, problem: Problem, kept: RemainingRows) -> Solved:
        """Compute the influence of changed references: by block updates from the second change on."""
        self._check_known(problem.references)
        n, kept = problem.references.n_rows, np.asarray(kept)
        if before.used is not None:
            used = np.searchsorted(kept, np.intersect1d(before.used, kept))
            return self._solve_inducing(problem, used) if len(used) else self.solve(problem)
        form = self._linear_form(problem)
        if form is not None:
            return self._solve_linear(problem, form, before.V[kept])
        if self.n_inducing(n) is not None:
            warn_user(
                f"{n:,} references are too many to learn the influence of each: from now on it is that of "
                f"{self.n_inducing(n):,} of them. Gamma and penalty were chosen for fewer: retune() is due.",
                RetuneWarning,
            )
            return self.solve(problem)
        inverse = before.inverse
        if not problem.references.is_complete or inverse is None or 2 * len(kept) < max(n, len(inverse)):
            return self._solve_all(problem)
        return self._solve_by_blocks(inverse, problem, kept)

    def without_each(self, problem: Problem) -> Iterator[FloatArray]:
        """Yield, for each reference, leave-one-out scores of the others if it did not exist.

        Yields
        ------
        array, (n_references - 1, n_labels + n_sizes)
        """
        references, penalty = problem.references, float(self.penalty)
        if not references.is_complete:
            raise ValueError("The value of a reference is known if all labels are, and some are unknown.")
        if self.mixing or self.vocabulary or self.n_inducing(references.n_rows) is not None:
            raise ValueError(
                f"The scores of {self!r} without a reference are known in closed form if all references "
                f"are summed over, scores are not mixed and rows keep all columns: "
                f"Ridge(inducing=None, mixing=False, vocabulary=False)."
            )
        A = positive_definite_inverse(similarity_matrix(problem), penalty / references.weights)
        return loo_scores_without_each(A, _targets(problem).toarray(), references.weights, penalty)

    def _check_known(self, references: References) -> None:
        if self.mixing and not references.is_complete:
            raise ValueError(
                "Ridge(mixing=True) learns from complete label sets which labels occur together, and here "
                "some labels are unknown. Use Ridge(mixing=False)."
            )

    def _solve_all(self, problem: Problem) -> Solved:
        references, S = problem.references, similarity_matrix(problem)
        known = knowledge(references)
        if known is not None:
            return self._solve_partly_known(S, problem, known)
        targets = _targets(problem).toarray()
        solution = ridge_solution(S, targets, references.weights, float(self.penalty), references.groups)
        return self._solved(solution, targets, problem)

    def _solve_partly_known(self, S: FloatArray, problem: Problem, known: BoolArray) -> Solved:
        targets, weights, groups = _targets(problem), problem.references.weights, problem.references.groups
        found, penalty = patterns(known), float(self.penalty)
        if work(found) <= limits().pattern_operations:
            solution = partly_known_solution(S, targets.toarray(), weights, penalty, groups, found)
        else:
            form: Any = None  # the similarities are there
            solution = MatrixRidge(form, S, *self._posed(problem, known)).solution()
        return self._solved(solution, targets, problem)

    def _posed(self, problem: Problem, known: BoolArray | None) -> tuple[Any, ...]:
        """Return the attributes of `LinearRidge` from the targets on."""
        references, stages = problem.references, problem.stages
        posed = _targets(problem), references.weights, float(self.penalty), stages.n_jobs, stages.seed
        return *posed, references.groups, known, self.vocabulary, references.units

    def _solve_by_blocks(self, A: FloatArray, problem: Problem, kept: IntArray) -> Solved:
        references, penalty = problem.references, float(self.penalty)
        targets, weights = _targets(problem).toarray(), references.weights
        rows = _DoubleRows(problem)
        A, n_old = shrink_inverse(A, kept), len(kept)
        if references.n_rows > n_old:
            S = rows.similarities(rows.X[n_old:])
            ridge = np.diag(penalty / weights[n_old:])
            A = extend_inverse(A, S[:, :n_old].T, S[:, n_old:] + ridge)
        T = with_ones(targets)
        U = A @ T
        # one step of refinement, so that the rounding errors of many updates do not add up
        U += A @ (T - rows.sums(U) - U * (penalty / weights)[:, None])
        solution = solution_from_inverse(A, U, targets, weights, penalty, references.groups)
        return self._solved(solution, targets, problem)

    def _linear_form(self, problem: Problem) -> LinearForm | None:
        """Return the similarity as an inner product, if that avoids a matrix of all pairs."""
        n = problem.references.n_rows
        some = self.inducing not in ("auto", None) and self.n_inducing(n) is not None
        if some or fits_in_matrix(n):
            return None
        return linear_form(problem.stages.similarity, problem.references.X)

    def _solve_linear(self, problem: Problem, form: LinearForm, before: FloatArray | None = None) -> Solved:
        known = knowledge(problem.references)
        posed = self._posed(problem, known)
        start = None
        if before is not None and known is None:
            # labels and sizes may have been added or removed: a start need not be right
            start = np.zeros(posed[0].shape)
            width = min(start.shape[1], before.shape[1])
            start[: len(before), :width] = before[:, :width]
        solution = LinearRidge(form, problem.references.X, *posed).solution(start)
        return self._solved(solution, posed[0], problem)

    def _solve_inducing(self, problem: Problem, used: IntArray) -> Solved:
        references, stages = problem.references, problem.stages
        rows = take_rows(references.X, used)
        if getattr(rows, "dtype", None) == np.float32:  # the factor of nearly equal rows needs all digits
            rows = rows.astype(np.float64)
        prepared = prepare(rows, [stages.similarity])
        features = NystroemFeatures(prepared, stages.similarity, stages.engine.local_engine, stages.n_jobs)
        all_targets, penalty = _targets(problem), float(self.penalty)

        def solve(targets: Rows, weights: FloatArray) -> RidgeSolution:
            found = feature_solution(features, references.X, targets, weights, penalty, references.groups)
            return replace(found, V=features.to_influence(found.V))

        known = knowledge(references)
        check_work(known, features.width)
        solution = by_patterns(solve, all_targets, references.weights, known)
        return replace(self._solved(solution, all_targets, problem), used=used)

    def _solved(self, solution: RidgeSolution, targets: Rows, problem: Problem) -> Solved:
        references, weights, groups = (
            problem.references,
            problem.references.weights,
            problem.references.groups,
        )
        if self.vocabulary and solution.inverse is not None:
            rows = _DoubleRows(problem)
            if sp.issparse(rows.X):
                loo_scores = scores_without_own_columns(
                    solution, rows.X, rows.similarities, targets, weights, groups
                )
                solution = replace(solution, loo_scores=loo_scores)
        if self.gives_log_odds(references.n_labels):
            solution = mixed(solution, targets, references.n_labels, weights, groups)
        return Solved(
            solution.V,
            solution.mean,
            loo_scores=solution.loo_scores,
            inverse=solution.inverse,
            residual=solution.residual,
        )


def _targets(problem: Problem) -> Rows:
    return problem.correct_for_missing(ridge_targets(problem.references))
