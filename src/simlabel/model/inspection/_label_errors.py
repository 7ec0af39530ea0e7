"""Label errors: leave-one-out probabilities, the labels that they contradict, and their quality."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit, logit

from simlabel._utils.limits import limits
from simlabel._utils.rows import is_lazy, sample_rows
from simlabel._utils.validation import AnyArray, BoolArray, FloatArray, Rows
from simlabel.metrics import average_precision
from simlabel.model._leave_one_out import training_blocks
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.normalizers import fit_normalizer, resolve_normalizer
from simlabel.ridge import Problem, Ridge
from simlabel.rules import LeaveOneOutCalibration, TrainingBlock, logistic_probabilities, merged_blocks
from simlabel.similarities import Laplacian
from simlabel.sums import References
from simlabel.tuning import LeaveOneOut, on_rows, resolved

if TYPE_CHECKING:
    import pandas as pd

Titles = Callable[[npt.NDArray[np.integer]], Sequence[str | None]]

_N_PRIOR = 5.0  # rows of a label that count as much as the prior
_N_BINS = 10
_NORMALIZERS = (["zscore", "l2"], ["quantile"])  # of the additional views, under a Laplacian
_PENALTY = 10.0  # of the ridge regression on views and other labels
_MAX_LABELS = 20  # other labels in the regression: those that go most often with the label


def loo_evidence(model: Model) -> tuple[FloatArray, str]:
    """Return leave-one-out probabilities, and how they were computed.

    They do not depend on how well the model's settings suit its data. Uniform influence discriminates little
    where similarities are flat, so ridge is solved for the model's own references, with bandwidth and penalty
    chosen by leave-one-out; if features are dense, also for normalized columns (z-scores and quantiles) under
    a Laplacian similarity. If the model's influence is learned, if its similarity is not positive definite,
    or if it is too large for an exact solution, its own scores are used.

    For label sets, the scores are combined with the row's other labels (`combine_views`), and a logistic
    curve for each label makes probabilities of them: a step curve, which fits its own rows, would put an
    error and correct labels like it on one step. Exclusive classes are calibrated by one temperature.
    """
    scorers = [model.scorer]
    if not model.scorer.stages.influence.learned and _can_solve(model.scorer):
        problems = [_tuned(problem) for problem in _ridge_problems(model.scorer)]
        scorers = [Scorer(each.stages, each.references, each.solve()) for each in problems]
    how = " and ".join(f"{each.stages.influence!r} with {each.stages.similarity!r}" for each in scorers)
    blocks = [merged_blocks(training_blocks(each), np.inf) for each in scorers]
    if model.labels.kind == "single":
        views = [_calibrated(LeaveOneOutCalibration(), block, single=True) for block in blocks]
        return np.mean(views, axis=0), f"{how}, leave-one-out, calibrated"
    views = [_view(each, block) for each, block in zip(scorers, blocks, strict=True)]
    given = blocks[0].Y.toarray().astype(np.float64), blocks[0].weights, blocks[0].known
    probabilities = logistic_probabilities(combine_views(views, *given), *given)
    return probabilities, f"{how}, leave-one-out, and labels that go together, calibrated"


def _calibrated(calibration: LeaveOneOutCalibration, block: TrainingBlock, *, single: bool) -> FloatArray:
    return calibration.fit([block], single=single).probabilities(block.scores)


def _view(scorer: Scorer, block: TrainingBlock) -> FloatArray:
    """Return scores between about 0 and 1: learned ones are, sums of similarities are calibrated."""
    if not scorer.stages.influence.learned:
        return _calibrated(LeaveOneOutCalibration(enough=1 + len(block.weights)), block, single=False)
    scores = block.scores.ranking.astype(np.float64)
    return scores if scorer.solved.mixing is None else np.asarray(expit(scores))


def _can_solve(scorer: Scorer) -> bool:
    references = scorer.references
    exact = Ridge().n_inducing(references.n_rows) is None and not is_lazy(references.X)
    return exact and references.n_rows > 1 and scorer.stages.similarity.positive_definite


def _ridge_problems(scorer: Scorer) -> Iterator[Problem]:
    """Yield ridge on the model's rows, and on normalized columns, with parameters to be tuned."""
    own, references = scorer.stages.similarity, scorer.references
    bandwidths = {name: "auto" for name in own.get_params() if name.rpartition("__")[2] == "gamma"}
    stages = replace(
        scorer.stages,
        similarity=own.replaced(bandwidths),
        influence=Ridge(),
        weighting=None,
        scales=None,
        label_frequency=None,
    )
    yield Problem(stages, references)
    raw = references.raw
    is_dense = hasattr(raw, "shape") and len(raw.shape) == 2 and not sp.issparse(raw[:1])
    for names in _NORMALIZERS if is_dense and own.form != "precomputed" else ():
        X = np.asarray(raw[:], dtype=np.float64)
        normalizer = fit_normalizer(resolve_normalizer(names), X, references.weights)
        assert normalizer is not None
        normalized = References(
            normalizer.transform(X),
            references.Y,
            references.weights,
            references.ids,
            groups=references.group_names,
            unknown=references.knowledge,
        )
        yield Problem(replace(stages, similarity=Laplacian()), normalized)


def _tuned(problem: Problem) -> Problem:
    """Return the problem with bandwidth and penalty chosen on a sample of the rows."""
    n, most = problem.references.n_rows, limits().compared_rows // 2
    rows = np.arange(n) if n <= most else sample_rows(problem.references.order, most, problem.stages.seed)
    return resolved(problem, LeaveOneOut().run(on_rows(problem, rows)).curve.best)


def combine_views(
    views: Sequence[FloatArray], Y: FloatArray, weights: FloatArray, known: BoolArray
) -> FloatArray:
    """Combine several leave-one-out scores with the row's other labels, (n_rows, n_labels).

    The residuals of the mean of the `views` are regressed, by ridge regression and leave-one-out, on each of
    them and on the row's other labels. Only labels that occur together are used: a negative coefficient would
    confirm an error where one label was given in place of another, since each of the two then explains the
    other.

    Parameters
    ----------
    views : list of array, (n_rows, n_labels)
        Leave-one-out scores on the scale of 0 and 1.
    Y : 0/1 array, (n_rows, n_labels)
        Given labels.
    weights : array, (n_rows,)
    known : array of bool, (n_rows, n_labels)
        Where `Y` is known.
    """
    W = weights[:, None] * known
    totals = W.sum(axis=0)
    means = np.divide((W * Y).sum(axis=0), totals, out=np.zeros(len(totals)), where=totals > 0)
    center, E = np.mean(views, axis=0), np.where(known, Y - means, 0.0)
    residuals = np.where(known, Y - center, 0.0)
    weighted = weights[:, None] * E
    lengths = np.sqrt((weighted * E).sum(axis=0))[:, None]
    together = np.divide(weighted.T @ residuals, lengths, out=np.zeros((E.shape[1],) * 2), where=lengths > 0)
    np.fill_diagonal(together, -np.inf)
    combined = center.copy()
    for k in range(E.shape[1]):
        own = np.column_stack([view[:, k] for view in views])
        first = np.argsort(-together[:, k], kind="stable")[:_MAX_LABELS]
        others = E[:, first[together[first, k] > 0]]
        combined[:, k] += _ridge_left_out(own - own.mean(axis=0), others, residuals[:, k], W[:, k])
    return combined


def _ridge_left_out(
    own: FloatArray, others: FloatArray, residuals: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return leave-one-out predictions of the residuals, (n_rows,), with coefficients of others >= 0."""
    while True:
        A = np.column_stack([own, others])
        weighted = A * weights[:, None]
        G = np.linalg.inv(weighted.T @ A + _PENALTY * np.eye(A.shape[1]))
        b = G @ (weighted.T @ residuals)
        positive = b[own.shape[1] :] >= 0
        if positive.all():
            break
        others = others[:, positive]
    leverage = np.minimum(weights, 1.0) * ((A @ G) * A).sum(axis=1)
    return np.asarray((A @ b - leverage * residuals) / (1.0 - leverage))


def suspicious_labels(
    probabilities: FloatArray,
    Y: Rows,
    ids: AnyArray,
    labels: AnyArray,
    top: int | None = None,
    titles: Titles | None = None,
    unknown: sp.csr_array | None = None,
) -> pd.DataFrame:
    """Return the labels of all instances, the most doubtful first.

    Parameters
    ----------
    probabilities : array, (n_rows, n_labels)
        Leave-one-out probabilities of each label.
    Y : 0/1 array or sparse, (n_rows, n_labels)
        Given labels.
    ids, labels : array
        Names of the rows and of the labels.
    top : int, optional
        How many to list; all by default.
    titles : callable, optional
        ``titles(positions)`` returns the titles of rows.
    unknown : sparse of ones, (n_rows, n_labels), optional
        Entries that are unknown, and are not listed.

    Returns
    -------
    frame
        ``id``, with titles ``title``, ``label``, ``given`` (whether the instance has the label),
        ``probability``, and ``suspicion``, 0 to 1: how strong the evidence is that this is an error.
        0.5 without evidence.

    Notes
    -----
    A label of few rows gets a low probability almost everywhere, also where it is right. So the log-odds
    of the probability are weighted by m / (m + 5), where m is the number of other rows that have the label
    (or that do not have it, if these are fewer). The remaining weight is that of the prior: even odds for a
    label that was given, the label's base rate for one that was not.

    Examples
    --------
    >>> Y = np.array([[1, 1], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0]])  # only row "a" has "rare"
    >>> P = np.array([[0.1, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1]])
    >>> doubtful = suspicious_labels(P, Y, np.array([*"abcdef"]), np.array(["sea", "rare"]), top=2)
    >>> print(doubtful.round(3).to_string())
      id label  given  probability  suspicion
    0  a   sea   True          0.1      0.652
    1  a  rare   True          0.1      0.500
    """
    import pandas as pd

    given = (Y.toarray() if sp.issparse(Y) else np.asarray(Y)).astype(bool)
    known = np.ones(given.shape, dtype=bool) if unknown is None else unknown.toarray() == 0
    having = (given & known).sum(axis=0) - (given & known)  # other rows with the label
    others = known.sum(axis=0) - known
    few = np.minimum(having, others - having)
    trust = few / (few + _N_PRIOR)
    tiny = np.finfo(np.float64).eps
    odds = logit(np.clip(probabilities, tiny, 1.0 - tiny))
    prior = logit((having + 0.5) / (others + 1.0))
    suspicion = expit(np.where(given, -trust * odds, prior + trust * (odds - prior)))
    order = np.argsort(np.where(known, -suspicion, np.inf), axis=None, kind="stable")
    rows, columns = np.unravel_index(order[: known.sum()][:top], known.shape)
    return pd.DataFrame(
        {
            "id": ids[rows],
            **({} if titles is None else {"title": titles(rows)}),
            "label": labels[columns],
            "given": given[rows, columns],
            "probability": probabilities[rows, columns],
            "suspicion": suspicion[rows, columns],
        }
    )


@dataclass(frozen=True)
class LooQuality:
    """Leave-one-out results of a model that predicts labels with a probability of at least 0.5.

    Attributes
    ----------
    rows, labels : int
        How many instances were left out, and how many labels some of them have.
    f1_micro, f1_macro : float
        F1 over all pairs of instance and label, and its mean over the labels that some instance has.
    average_precision : float or None
        Over the instances that have some of the labels and not all; None without any.
    by_label : dict of label to float
        F1 of each label.
    calibration : list of dict
        For each tenth of the range of probabilities that occurs: the mean probability ``said``, the share of
        ``true`` pairs, and the number ``n`` of pairs.
    """

    rows: int
    labels: int
    f1_micro: float
    f1_macro: float
    average_precision: float | None
    by_label: dict[Any, float]
    calibration: list[dict[str, float]]


def loo_quality(suspects: pd.DataFrame) -> LooQuality:
    """Compute metrics from what `suspicious_labels` returns for all labels of all instances (``top=None``).

    Unknown labels count in none of them.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 100, 1.0] for i in range(20)] + [[1.0, i / 100] for i in range(20)]
    >>> model = SMLClassifier().fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> loo_quality(model.suspicious_labels(top=None)).by_label
    {'sea': 1.0, 'trees': 1.0}
    """
    wide = suspects.pivot(index="id", columns="label", values=["given", "probability"])
    known, given = wide["given"].notna().to_numpy(), wide["given"].eq(True).to_numpy()
    probable = wide["probability"].fillna(0.0).to_numpy(dtype=float)
    predicted = probable >= 0.5
    n_right, n_predicted, n_true = (each.sum(axis=0) for each in (given & predicted, predicted, given))
    f1 = 2 * n_right / np.maximum(n_predicted + n_true, 1)
    some = given.any(axis=1) & (known & ~given).any(axis=1)
    bins = np.where(known, np.minimum((probable * _N_BINS).astype(int), _N_BINS - 1), -1)
    parts = [bins == i for i in np.unique(bins[known])]
    return LooQuality(
        rows=len(wide),
        labels=int((n_true > 0).sum()),
        f1_micro=float(2 * n_right.sum() / max(1, n_predicted.sum() + n_true.sum())),
        f1_macro=float(f1[n_true > 0].mean()) if given.any() else 0.0,
        average_precision=float(average_precision(np.where(known, given, np.nan)[some], probable[some]))
        if some.any()
        else None,
        by_label=dict(zip(wide["given"].columns.tolist(), f1.tolist(), strict=True)),
        calibration=[
            {"said": float(probable[at].mean()), "true": float(given[at].mean()), "n": int(at.sum())}
            for at in parts
        ],
    )
