"""Learned influence: dual coefficients of kernel ridge regression."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.advice import SimlabelWarning, warn_user
from simlabel._utils.limits import limits
from simlabel._utils.rows import by_parts, dense_rows, is_lazy, n_rows, row_width, sample_rows, take_rows
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows, check_flag, check_number
from simlabel.ridge._changes import IterativeSolver, SystemOfFeatures, SystemOfRows, kernel_solver
from simlabel.ridge._closed_form import loo_scores_without_each, positive_definite_inverse, ridge_solution
from simlabel.ridge._influence import Change, Influence, Problem, Solved
from simlabel.ridge._leave_one_out import RidgeSolution, scores_without_own_columns
from simlabel.ridge._linear import (
    LinearForm,
    LinearRidge,
    MatrixRidge,
    PrimalInfluence,
    fits_in_matrix,
    linear_form,
)
from simlabel.ridge._log_odds import Mixing, learn_mixing
from simlabel.ridge._nystroem import FeatureMap, NystroemFeatures, feature_factor, feature_solution
from simlabel.ridge._unknown_labels import (
    by_patterns,
    check_work,
    knowledge,
    partly_known_solution,
    patterns,
    work,
)
from simlabel.similarities import SIMILARITIES, Similarity
from simlabel.sums import Job, MatrixReducer, ReduceCall, References, Weighting, prepare

#: candidates for a penalty that is "auto"
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class RetuneWarning(SimlabelWarning):
    """The parameters of a model were chosen for fewer rows than it has now."""


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
        job = Job(self.stages.similarity, None, MatrixReducer(self.prepared.n_rows))
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
    scores are those of five folds. The relative residual of both is at most 1e-7 (`Solved.residual`).

    `partial_fit`, `forget` and `correct` do not compute a new solution: they need one solution of the linear
    system per changed row, whatever the number of labels. The first change after `fit` or `load` prepares the
    system (a factor of the similarities, of the Gram matrix of the columns or of the features of the inducing
    references, or a preconditioner), and after 256 changed rows it is prepared again. The mixing and the
    inducing references that remain are held until `retune`; a new label gets the mean coefficient of the own
    scores, and the log-odds of its frequency. With unknown labels, and for a batch of more than 256 rows, a
    new solution is computed. If ``"auto"`` would now use inducing references, so it is, and a `RetuneWarning`
    says that `retune` is due.

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
        used, references = self._inducing(problem), problem.references
        solution = self._solution(problem, used)
        if not self.gives_log_odds(references.n_labels):
            return _solved(solution, used)
        mixing, loo_scores = learn_mixing(
            solution,
            problem.targets,
            references.n_labels,
            references.weights,
            references.groups,
            problem.stages.n_jobs,
        )
        return replace(_with_mixing(_solved(solution, used), mixing, problem), loo_scores=loo_scores)

    def _inducing(self, problem: Problem) -> IntArray | None:
        """Return the positions of the inducing references; None if there are none."""
        m = None if self._linear_form(problem) else self.n_inducing(problem.references.n_rows)
        return None if m is None else sample_rows(problem.references.order, m, problem.stages.seed)

    def loo_scores(self, solved: Solved, problem: Problem) -> FloatArray | None:
        """Return leave-one-out scores; after a change by a new solution, with the mixing that is held."""
        if solved.loo_scores is not None:
            return solved.loo_scores
        raw = self._solution(problem, solved.used)
        if solved.mixing is None:
            return raw.loo_scores
        return solved.mixing.scores(raw.loo_scores, raw.mean, float(problem.references.weights.sum()))

    def updated(self, before: Solved, change: Change, problem: Problem) -> Solved:
        """Compute the influence of changed references from the former one; mixing is held.

        Leave-one-out scores are left for `loo_scores`, and inducing references that remain are held.
        """
        references = problem.references
        self._check_known(references)
        mixing = None if before.mixing is None else before.mixing.moved(change.places, references.n_labels)
        solved = self._changed(before, change, problem) or self._solved_again(before, change, problem)
        solved = replace(solved, loo_scores=None)
        return solved if mixing is None else _with_mixing(solved, mixing, problem)

    def _solved_again(self, before: Solved, change: Change, problem: Problem) -> Solved:
        """Compute a new solution."""
        n, used = problem.references.n_rows, self._inducing(problem)
        if before.used is not None:
            former = np.intersect1d(before.used, change.kept)
            used = np.searchsorted(change.kept, former) if len(former) else used
        elif used is not None:
            warn_user(
                f"{n:,} references are too many to learn the influence of each: from now on it is that of "
                f"{len(used):,} of them. Gamma and penalty were chosen for fewer: retune() is due.",
                RetuneWarning,
            )
        return _solved(self._solution(problem, used), used)

    def _changed(self, before: Solved, change: Change, problem: Problem) -> Solved | None:
        """Return the solution from that of the former references; None if a new one is due."""
        former, now = change.former.references, problem.references
        n_changed, form = former.n_rows + now.n_rows - 2 * len(change.kept), self._form(problem)
        # unknown cells of a label count as known while it is constant, which may end
        known = former.knowledge is None and now.knowledge is None
        if not known or is_lazy(now.X) or n_changed > min(limits().changed_rows, now.n_rows):
            return None
        if before.used is None and form != self._form(change.former):
            return None
        if form != "kernel" and row_width(former.X) != row_width(now.X):
            return None  # the features have other columns
        if before.used is not None and not np.isin(before.used, change.kept).any():
            return None
        system = before.system
        if system is not None and system.bordered.n_borders + n_changed > limits().changed_rows:
            system = None
        try:
            if before.used is None and form != "features":
                return self._changed_rows(before, system, change, problem)
            return self._changed_features(before, system, change, problem)
        except np.linalg.LinAlgError:  # too close to singular
            return None

    def _changed_rows(
        self, before: Solved, system: SystemOfRows | None, change: Change, problem: Problem
    ) -> Solved:
        """Return the solution after a change, by a system with a variable for each reference."""
        former, now, penalty = change.former.references, problem.references, float(self.penalty)
        kept, new, V = np.asarray(change.kept), slice(len(change.kept), now.n_rows), before.V
        if system is None:
            form, targets = self._linear_form(change.former), change.former.targets.toarray()
            targets -= change.former.target_mean
            if form is None:
                solve = kernel_solver(similarity_matrix(change.former), penalty / former.weights)
                V = solve(targets)
            else:
                solver = IterativeSolver(LinearRidge(form, former.X, *self._posed(change.former, None)))
                solve, V = solver, solver.corrected(V, targets)
            system = SystemOfRows.of(solve, former.n_rows)
        move, mean = change.mover(now), problem.target_mean
        before_mean = move(change.former.target_mean[None, :])[0]
        S, ridge = self._similarities(problem, new), penalty / now.weights[new]
        rest = problem.targets[new].toarray() - before_mean
        system, V = system.changed(move(V), kept, S, ridge, rest, mean - before_mean)
        return Solved(V, mean, residual=before.residual, system=system)

    def _changed_features(
        self, before: Solved, system: SystemOfFeatures | None, change: Change, problem: Problem
    ) -> Solved:
        """Return the solution after a change, by a system with a variable for each feature."""
        former, now, kept = change.former.references, problem.references, np.asarray(change.kept)
        targets, penalty, mean = change.former.targets, float(self.penalty), problem.target_mean
        form = None if before.used is not None else self._linear_form(change.former)
        if system is None:
            features: FeatureMap = form or self._features(change.former, before.used)
            found = feature_factor(features, former.X, targets, former.weights, penalty)
            system = SystemOfFeatures.of(features, found, change.former.target_mean)
        move, gone = change.mover(now), np.setdiff1d(np.arange(former.n_rows), kept)
        new, before_mean = slice(len(kept), now.n_rows), move(change.former.target_mean[None, :])[0]
        rows = [X for X in (take_rows(former.X, gone), now.X[new]) if n_rows(X)]
        phi = np.vstack([np.empty((0, len(system.ones))), *(system.features(X) for X in rows)]).T
        corner = np.append(1.0 / former.weights[gone], -1.0 / now.weights[new])
        rest = np.vstack([move(targets[gone].toarray()), problem.targets[new].toarray()]) - before_mean
        used = before.used
        left = np.empty(0, dtype=np.int64) if used is None else np.flatnonzero(~np.isin(used, kept))
        shift = mean - before_mean
        system = system.changed(move(system.coefficients), left, phi, corner, rest, shift)
        if used is None:
            influence = PrimalInfluence(system.features, system.coefficients, mean, penalty)
            V = np.concatenate(by_parts(now.X, influence, problem.targets, now.weights))
            return Solved(V, mean, system=system)
        used = np.searchsorted(kept, np.delete(used, left))
        return Solved(system.influence, mean, used, system=system)

    def _form(self, problem: Problem) -> str:
        """Return which system is solved for all references."""
        form = self._linear_form(problem)
        if form is None:
            return "kernel" if self.n_inducing(problem.references.n_rows) is None else "centers"
        return "features" if fits_in_matrix(form.width) else "iterative"

    def _similarities(self, problem: Problem, new: slice) -> FloatArray:
        """Return the similarities of some references to all, (n_new, n_references)."""
        form, X = self._linear_form(problem), problem.references.X
        if new.start == new.stop:
            return np.empty((0, new.stop))
        if form is not None:
            return dense_rows(form.rows(X[new]) @ form.rows(X[:]).T)
        rows = _DoubleRows(problem)
        return rows.similarities(rows.X[new])

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
        return loo_scores_without_each(A, problem.targets.toarray(), references.weights, penalty)

    def _check_known(self, references: References) -> None:
        if self.mixing and not references.is_complete:
            raise ValueError(
                "Ridge(mixing=True) learns from complete label sets which labels occur together, and here "
                "some labels are unknown. Use Ridge(mixing=False)."
            )

    def _solution(self, problem: Problem, used: IntArray | None) -> RidgeSolution:
        """Return the influence of all references, or of some, before mixing, and leave-one-out scores."""
        if used is not None:
            return self._solve_inducing(problem, used)
        form, known = self._linear_form(problem), knowledge(problem.references)
        if form is not None:
            return LinearRidge(form, problem.references.X, *self._posed(problem, known)).solution()
        references, rows, targets = problem.references, _DoubleRows(problem), problem.targets
        S = rows.similarities(rows.X)
        if known is not None:
            return self._solve_partly_known(S, problem, known)
        weights, groups, dense = references.weights, references.groups, targets.toarray()
        solution = ridge_solution(S, dense, weights, float(self.penalty), groups)
        if not (self.vocabulary and sp.issparse(rows.X)):
            return solution
        scores = scores_without_own_columns(solution, rows.X, rows.similarities, dense, weights, groups)
        return replace(solution, loo_scores=scores)

    def _solve_partly_known(self, S: FloatArray, problem: Problem, known: BoolArray) -> RidgeSolution:
        targets, weights, groups = problem.targets, problem.references.weights, problem.references.groups
        found, penalty = patterns(known), float(self.penalty)
        if work(found) <= limits().pattern_operations:
            return partly_known_solution(S, targets.toarray(), weights, penalty, groups, found)
        form: Any = None  # the similarities are there
        return MatrixRidge(form, S, *self._posed(problem, known)).solution()

    def _posed(self, problem: Problem, known: BoolArray | None) -> tuple[Any, ...]:
        """Return the attributes of `LinearRidge` from the targets on."""
        references, stages = problem.references, problem.stages
        posed = problem.targets, references.weights, float(self.penalty), stages.n_jobs, stages.seed
        return *posed, references.groups, known, self.vocabulary, references.units

    def _linear_form(self, problem: Problem) -> LinearForm | None:
        """Return the similarity as an inner product, if that avoids a matrix of all pairs."""
        n = problem.references.n_rows
        some = self.inducing not in ("auto", None) and self.n_inducing(n) is not None
        if some or fits_in_matrix(n):
            return None
        return linear_form(problem.stages.similarity, problem.references.X)

    def _features(self, problem: Problem, used: IntArray | None) -> NystroemFeatures:
        """Return the features of rows by their similarities to some references."""
        assert used is not None
        stages, rows = problem.stages, take_rows(problem.references.X, used)
        if getattr(rows, "dtype", None) == np.float32:  # the factor of nearly equal rows needs all digits
            rows = rows.astype(np.float64)
        prepared = prepare(rows, [stages.similarity])
        return NystroemFeatures(prepared, stages.similarity, stages.engine.local_engine, stages.n_jobs)

    def _solve_inducing(self, problem: Problem, used: IntArray) -> RidgeSolution:
        references, features = problem.references, self._features(problem, used)

        def solve(targets: Rows, weights: FloatArray) -> RidgeSolution:
            penalty, groups = float(self.penalty), references.groups
            found = feature_solution(features, references.X, targets, weights, penalty, groups)
            return replace(found, V=features.to_influence(found.V))

        known = knowledge(references)
        check_work(known, features.width)
        return by_patterns(solve, problem.targets, references.weights, known)


def _solved(solution: RidgeSolution, used: IntArray | None) -> Solved:
    """Return a solution as the model keeps it."""
    return Solved(solution.V, solution.mean, used, solution.loo_scores, residual=solution.residual)


def _with_mixing(solved: Solved, mixing: Mixing, problem: Problem) -> Solved:
    """Return the solution whose scores are log-odds; its intercept was the mean."""
    assert solved.intercept is not None
    intercept = mixing.intercept(solved.intercept, float(problem.references.weights.sum()))
    return replace(solved, mixing=mixing, intercept=intercept)
