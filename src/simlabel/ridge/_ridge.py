"""Learned influence: what each reference should contribute so that the sums come out right."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import SimlabelWarning, advise
from simlabel._utils.limits import limits
from simlabel._utils.rows import drawn_rows, take_rows
from simlabel._utils.validation import FloatArray, Rows, check_flag, check_number
from simlabel.ridge._base import Influence, Kept, Problem, Solved
from simlabel.ridge._closed_form import (
    RidgeSolution,
    positive_definite_inverse,
    ridge_solution,
    scores_without_each,
    solution_from_inverse,
    with_ones,
)
from simlabel.ridge._inducing import InducingFeatures, inducing_solution
from simlabel.ridge._linear import LinearForm, LinearRidge, MatrixRidge, fits_in_matrix, linear_form
from simlabel.ridge._mixing import mixed
from simlabel.ridge._own_columns import scores_as_asked
from simlabel.ridge._pairs import DoubledRows, ridge_targets, similarity_matrix
from simlabel.ridge._partly import (
    Known,
    by_patterns,
    check_work,
    knowledge,
    partly_known_solution,
    patterns,
    work,
)
from simlabel.ridge._updates import grown_inverse, shrunk_inverse
from simlabel.similarities import SIMILARITIES, Similarity
from simlabel.sums import References, Weighting, prepare

#: penalties that are tried where it is "auto"
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class RetuneWarning(SimlabelWarning):
    """A model has outgrown the values that were chosen for it."""


class Ridge(Influence):
    """V = (S + penalty I)^-1 (Y - mean), and scores = S_q V + mean.

    Equal influence counts a crowd of near copies as often as it is large. Here each reference gets
    what makes the sums over the labelled instances themselves come out right, as far as the penalty
    lets it: kernel ridge regression. Set sizes are learnt in the same way.

    Parameters
    ----------
    penalty : float or "auto"
        The larger, the smoother; ``"auto"`` is chosen at fit together with the bandwidth, by
        leave-one-out in closed form.
    inducing : int, None or "auto"
        Sum over this many references only, fitted to all of them (Nystroem). None: over all of
        them. ``"auto"``: over all as long as three matrices of their similarities fit in 1 GiB
        (6,688 references), and over any number where the similarity is a plain inner product, as linear
        and cosine are; else over 2,048. With a precomputed similarity only None, or as many as there are.
    mixing : bool
        Whether each label's score becomes its log-odds, in which the scores of other labels count too:
        a logistic regression, learnt from the leave-one-out scores. Then scores of frequent and of rare
        labels compare, and labels that go together help each other. The mixture is part of V, so that a
        score is a sum over references as before. For label sets that are all known; where labels are so
        many that a mixture would take long, each is made from its own score alone, and beyond 1,024 scores
        stay as they are.
    vocabulary : bool
        Whether columns are words, or what else was found in these very rows. Then no new row has a column
        that none of them has, and leave-one-out leaves out of a row what only it has, or only its group:
        what remains is brought to the row's length. Without that, scores of rows that were left out are too
        small, and thresholds too low. For sparse rows and labels that are all known, with up to 6,688
        references, or any number where the similarity is a plain inner product of more columns than that;
        else it changes nothing.

    Notes
    -----
    With weights, a row of weight w counts as w copies. The similarity must be positive definite,
    and no weighting is applied to it. Of rows in groups leave-one-out leaves out the whole group;
    inducing references stay what all rows are compared with.

    Beyond 6,688 references no matrix of them is made. Where the similarity is an inner product of up to
    6,688 columns (linear and cosine of so many features, polynomials of degree 2 of up to 114), the matrix
    of the columns takes its place, and all is in closed form as before. With more columns, linear and
    cosine influence of sparse rows is found, where labels are many (n^2 is at most 3 million times their
    number), by a factor in single precision of up to 32,768 references, and refined: leave-one-out scores
    are again in closed form. Else it is found by iteration, and leave-one-out scores are those of five
    folds. What either leaves over is at most 1e-7 of what is to be scored (`Solved.residual`). A change
    then solves anew, beginning with the influence that was there.

    The first `partial_fit` or `forget` solves anew, and keeps the inverse of the similarities (n^2
    numbers: 358 MB at 6,688 references); later ones update it by blocks, for a batch of b rows at
    the cost of b n^2. With inducing references those that are left stay, and all rows are passed
    over once. Where ``"auto"`` would now sum over inducing references, a `RetuneWarning` says that
    `retune` is due.

    See Also
    --------
    Uniform : The paper's: each labelled instance counts alike.

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
        """Raise ValueError where the penalty or the number is not positive."""
        check_number("Ridge", "penalty", self.penalty, above=0, also=("auto",))
        check_number("Ridge", "inducing", self.inducing, at_least=1, integer=True, also=("auto", None))
        check_flag("Ridge", "mixing", self.mixing)
        check_flag("Ridge", "vocabulary", self.vocabulary)

    def grids(self) -> dict[str, tuple[float, ...]]:
        """Penalties, where it is "auto"."""
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
        """How many references are summed over; None for all."""
        if self.inducing == "auto":
            return None if fits_in_matrix(n_references) else limits().inducing_rows
        return None if self.inducing is None or self.inducing >= n_references else int(self.inducing)

    def gives_log_odds(self, n_labels: int) -> bool:
        """Whether scores are log-odds, where labels are so many; else they aim at 0 and 1."""
        return self.mixing and 0 < n_labels <= limits().mixed_columns

    def solve(self, problem: Problem) -> Solved:
        """Solve for the references, on all of them or on some."""
        self._check_known(problem.references)
        form = self._linear_form(problem)
        if form is not None:
            return self._solve_linear(problem, form)
        m = self.n_inducing(problem.references.n_rows)
        if m is not None:
            return self._solve_inducing(problem, inducing_rows(problem.references, m, problem.stages.seed))
        return replace(self._solve_all(problem), inverse=None)

    def updated(self, before: Solved, problem: Problem, kept: Kept) -> Solved:
        """Solve for changed references: by block steps from the second change on."""
        self._check_known(problem.references)
        n, kept = problem.references.n_rows, np.asarray(kept)
        if before.used is not None:
            used = np.searchsorted(kept, np.intersect1d(before.used, kept))
            return self._solve_inducing(problem, used) if len(used) else self.solve(problem)
        form = self._linear_form(problem)
        if form is not None:
            return self._solve_linear(problem, form, before.V[kept])
        if self.n_inducing(n) is not None:
            advise(
                f"{n:,} references are too many to learn the influence of each: from now on it is that of "
                f"{self.n_inducing(n):,} of them. Gamma and penalty were chosen for fewer: retune() is due.",
                RetuneWarning,
            )
            return self.solve(problem)
        if not problem.references.is_complete:
            return self._solve_all(problem)
        if before.inverse is None or 2 * len(kept) < max(n, len(before.inverse)):
            return self._solve_all(problem)
        return self._solve_by_blocks(before.inverse, problem, kept)

    def without_each(self, problem: Problem) -> Iterator[FloatArray]:
        """For each reference in turn, leave-one-out scores of the others if it were not there.

        Yields
        ------
        array, (n_references - 1, n_labels + n_sizes)
        """
        references, penalty = problem.references, float(self.penalty)
        if not references.is_complete:
            raise ValueError("What a reference is worth is known where all labels are, and some are unknown.")
        if self.mixing or self.vocabulary or self.n_inducing(references.n_rows) is not None:
            raise ValueError(
                f"What {self!r} would be without a reference is known in closed form where all references "
                f"are summed over, scores are not mixed and rows keep all columns: "
                f"Ridge(inducing=None, mixing=False, vocabulary=False)."
            )
        A = positive_definite_inverse(similarity_matrix(problem), penalty / references.weights)
        return scores_without_each(
            A, problem.as_true(ridge_targets(references)).toarray(), references.weights, penalty
        )

    def _check_known(self, references: References) -> None:
        if self.mixing and not references.is_complete:
            raise ValueError(
                "Ridge(mixing=True) learns from all labels of a row which of them go together, and here some "
                "are unknown. Use Ridge(mixing=False)."
            )

    def _solve_all(self, problem: Problem) -> Solved:
        references = problem.references
        known = knowledge(references)
        if known is not None:
            return self._solve_partly_known(problem, known)
        targets = problem.as_true(ridge_targets(references)).toarray()
        solution = ridge_solution(
            similarity_matrix(problem),
            targets,
            references.weights,
            float(self.penalty),
            references.groups,
        )
        return self._solved(solution, targets, problem)

    def _solve_partly_known(self, problem: Problem, known: Known) -> Solved:
        references, stages, penalty = problem.references, problem.stages, float(self.penalty)
        targets, weights, S = (
            problem.as_true(ridge_targets(references)),
            references.weights,
            similarity_matrix(problem),
        )
        found = patterns(known)
        if work(found) <= limits().pattern_operations:
            exact = targets.toarray(), weights, penalty, references.groups, found
            return self._solved(partly_known_solution(S, *exact), targets, problem)
        form: Any = None  # the similarities are there
        ridge = MatrixRidge(
            form,
            S,
            targets,
            weights,
            penalty,
            stages.n_jobs,
            stages.seed,
            references.groups,
            known,
            S=S,
            units=references.units,
        )
        return self._solved(ridge.solution(), targets, problem)

    def _solve_by_blocks(self, A: FloatArray, problem: Problem, kept: npt.NDArray[np.int64]) -> Solved:
        references, penalty = problem.references, float(self.penalty)
        targets, weights = problem.as_true(ridge_targets(references)).toarray(), references.weights
        rows = DoubledRows(problem)
        A, n_old = shrunk_inverse(A, kept), len(kept)
        if references.n_rows > n_old:
            S = rows.similarities(rows.X[n_old:])
            ridge = np.diag(penalty / weights[n_old:])
            A = grown_inverse(A, S[:, :n_old].T, S[:, n_old:] + ridge)
        T = with_ones(targets)
        U = A @ T
        # one step of refinement, so that the rounding of many updates does not add up
        U += A @ (T - rows.sums(U) - U * (penalty / weights)[:, None])
        solution = solution_from_inverse(A, U, targets, weights, penalty, references.groups)
        return self._solved(solution, targets, problem)

    def _linear_form(self, problem: Problem) -> LinearForm | None:
        """The similarity as an inner product, where that is solved for without a matrix of all pairs."""
        n = problem.references.n_rows
        some = self.inducing not in ("auto", None) and self.n_inducing(n) is not None
        if some or fits_in_matrix(n):
            return None
        return linear_form(problem.stages.similarity, problem.references.X)

    def _solve_linear(self, problem: Problem, form: LinearForm, known: FloatArray | None = None) -> Solved:
        references, stages = problem.references, problem.stages
        targets, weights = problem.as_true(ridge_targets(references)), references.weights
        start = None
        if known is not None:  # labels and sizes may have come and gone: a start need not be right
            start = np.zeros(targets.shape)
            width = min(start.shape[1], known.shape[1])
            start[: len(known), :width] = known[:, :width]
        penalty = float(self.penalty)
        partly = knowledge(references)
        if partly is not None:
            start = None
        ridge = LinearRidge(
            form,
            references.X,
            targets,
            weights,
            penalty,
            stages.n_jobs,
            stages.seed,
            references.groups,
            partly,
            self.vocabulary,
            references.units,
        )
        return self._solved(ridge.solution(start), targets, problem)

    def _solve_inducing(self, problem: Problem, used: npt.NDArray[np.int64]) -> Solved:
        references, penalty = problem.references, float(self.penalty)
        rows = take_rows(references.X, used)
        if getattr(rows, "dtype", None) == np.float32:  # the factor of nearly equal rows needs all digits
            rows = rows.astype(np.float64)
        stages = problem.stages
        prepared = prepare(rows, [stages.similarity])
        features = InducingFeatures(prepared, stages.similarity, stages.engine.at_home, stages.n_jobs)
        targets = problem.as_true(ridge_targets(references))

        def solve(targets: Rows, weights: FloatArray) -> RidgeSolution:
            return inducing_solution(features, references.X, targets, weights, penalty, references.groups)

        partly = knowledge(references)
        check_work(partly, features.width)
        solution = by_patterns(solve, targets, references.weights, partly)
        return self._solved(solution, targets, problem, used)

    def _solved(
        self,
        solution: RidgeSolution,
        targets: Rows,
        problem: Problem,
        used: npt.NDArray[np.int64] | None = None,
    ) -> Solved:
        references = problem.references
        if self.vocabulary and solution.inverse is not None:
            solution = replace(solution, left_out=self._left_out_as_asked(solution, targets, problem))
        if self.gives_log_odds(references.n_labels):
            solution = mixed(solution, targets, references.n_labels, references.weights, references.groups)
        return Solved(
            solution.V,
            solution.mean,
            used,
            solution.left_out,
            inverse=solution.inverse,
            residual=solution.residual,
        )

    def _left_out_as_asked(self, solution: RidgeSolution, targets: Rows, problem: Problem) -> FloatArray:
        references, rows = problem.references, DoubledRows(problem)
        if not sp.issparse(rows.X):
            return solution.left_out
        known = references.weights, references.groups
        return scores_as_asked(solution, rows.X, rows.similarities, targets, *known)


def inducing_rows(references: References, m: int, seed: int) -> npt.NDArray[np.int64]:
    """A seeded sample of the references, in rising order."""
    return drawn_rows(references.order, m, seed)
