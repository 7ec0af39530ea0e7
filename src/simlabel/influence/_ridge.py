"""Learned influence: what each reference should contribute so that the sums come out right."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simlabel._references import References
from simlabel._validation import check_number, take_rows
from simlabel.engines import Job, Keep, prepare
from simlabel.influence._base import Influence, Setting, Solved
from simlabel.influence._closed_form import ridge_solution
from simlabel.influence._inducing import InducingFeatures, inducing_solution
from simlabel.similarities import SIMILARITIES, Similarity

#: penalties that are tried where it is "auto"
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)

_EXACT_BYTES = 1 << 30  # three matrices of the references by themselves fit in this
_INDUCING = 2048


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
        (6,688 references), else over 2,048.

    Notes
    -----
    With weights, a row of weight w counts as w copies. The similarity must be positive definite,
    and no weighting is applied to it.

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
    learned = True

    def __init__(
        self, penalty: float | Literal["auto"] = "auto", inducing: int | Literal["auto"] | None = "auto"
    ) -> None:
        self.penalty = penalty
        self.inducing = inducing

    def check(self) -> None:
        """Raise ValueError where the penalty or the number is not positive."""
        check_number("Ridge", "penalty", self.penalty, above=0, also=("auto",))
        check_number("Ridge", "inducing", self.inducing, at_least=1, integer=True, also=("auto", None))

    def grids(self) -> dict[str, tuple[float, ...]]:
        """Penalties, where it is "auto"."""
        return {"penalty": PENALTIES} if self.penalty == "auto" else {}

    def check_similarity(self, similarity: Similarity, weighting: Any) -> None:
        """Refuse similarities that are not positive definite, and weightings."""
        if not similarity.positive_definite:
            good = [name for name, cls in SIMILARITIES.classes.items() if cls().positive_definite]
            raise ValueError(
                f"influence='ridge' needs a positive definite similarity, and {similarity!r} is not known "
                f"to be one. These are: {', '.join(good)}, and their sums and products."
            )
        if weighting is not None:
            raise ValueError(
                f"influence='ridge' learns how much each reference counts; it cannot be combined with "
                f"weighting={weighting!r}."
            )

    def n_inducing(self, n_references: int) -> int | None:
        """How many references are summed over; None for all."""
        if self.inducing == "auto":
            return None if 3 * 8 * n_references**2 <= _EXACT_BYTES else _INDUCING
        return None if self.inducing is None or self.inducing >= n_references else int(self.inducing)

    def solve(self, setting: Setting) -> Solved:
        """Solve for the references, on all of them or on some."""
        references, penalty = setting.references, float(self.penalty)
        m = self.n_inducing(references.n_rows)
        if m is not None:
            return self._solve_inducing(setting, m, penalty)
        S = similarity_matrix(setting)
        solution = ridge_solution(S, ridge_targets(references).toarray(), references.weights, penalty)
        return Solved(solution.V, solution.mean, left_out=solution.left_out)

    def _solve_inducing(self, setting: Setting, m: int, penalty: float) -> Solved:
        references = setting.references
        used = inducing_rows(references, m, setting.seed)
        prepared = prepare(take_rows(references.X, used), [setting.similarity])
        features = InducingFeatures(prepared, setting.similarity, setting.engine, setting.n_jobs)
        solution = inducing_solution(
            features, references.X, ridge_targets(references), references.weights, penalty
        )
        return Solved(solution.V, solution.mean, used, solution.left_out)


def ridge_targets(references: References) -> Any:
    """[Y | one-hot of the set size] without weights, sparse, (n_references, n_labels + n_sizes)."""
    ones = References(references.X, references.Y, np.ones(references.n_rows))
    return ones.influence


def inducing_rows(references: References, m: int, seed: int) -> npt.NDArray[np.int64]:
    """A seeded sample of the references, in rising order."""
    return np.sort(np.random.default_rng(seed).choice(references.n_rows, m, replace=False))


def similarity_matrix(setting: Setting) -> Any:
    """Similarities of all references to each other, float64, (n_references, n_references)."""
    X = setting.references.X
    if getattr(X, "dtype", None) == np.float32:
        X = X[:].astype(np.float64)
    prepared = prepare(X, [setting.similarity])
    job = Job(setting.similarity, None, Keep(prepared.n_rows))
    return setting.engine.reduce(X, prepared, [job], n_jobs=setting.n_jobs)[0]
