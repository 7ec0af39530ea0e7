"""What the others say of every labelled instance: calibrated, and by learned influence where that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import scipy.special

from simlabel._utils.limits import limits
from simlabel._utils.rows import drawn_rows, is_lazy
from simlabel._utils.validation import FloatArray, Rows
from simlabel.model._leave_one_out import training_blocks
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.model.inspection._together import Given, heard_together
from simlabel.normalizers import fit_normalizer, resolve_normalizer
from simlabel.ridge import Influence, Problem, Ridge
from simlabel.rules import TrainingBlock
from simlabel.rules.calibration import LeaveOneOutCalibration, logistic_probabilities
from simlabel.similarities import Laplacian
from simlabel.sums import References
from simlabel.tuning import LeaveOneOut, on_rows, resolved

_SCALED = (["zscore", "l2"], ["quantile"])  # what the rest is compared on, under a Laplacian


@dataclass(frozen=True)
class LeftOutEvidence:
    """Probabilities of every label of every instance, itself left out, and in words how they were found."""

    probabilities: FloatArray
    how: str


def left_out_evidence(model: Model) -> LeftOutEvidence:
    """Probabilities that do not depend on how well the model's settings suit its data.

    Equal influence tells little apart where similarities are flat, so ridge is solved for the model's own
    references, with bandwidth and penalty chosen by leave-one-out; where features are dense, also for the
    columns brought to one scale, by z-score and by quantiles, under a Laplacian similarity. A model whose
    influence is learned, or whose similarity is not positive definite, or that is too large for an exact
    solution, speaks for itself.

    Of label sets the scores are heard together with the row's other labels (`heard_together`), and one
    smooth curve for each label makes probabilities of them: a curve with steps, which fits its own rows, puts
    an error and what it is mistaken for on one step. Classes that exclude each other are calibrated by one
    temperature.
    """
    scorers = [model.scorer]
    if not model.scorer.stages.influence.learned and _fits(model.scorer):
        problems = [_chosen(problem) for problem in _problems(model.scorer)]
        scorers = [Scorer(each.stages, each.references, each.solve()) for each in problems]
    how = " and ".join(f"{each.stages.influence!r} with {each.stages.similarity!r}" for each in scorers)
    blocks = [list(training_blocks(each)) for each in scorers]
    if model.labels.kind == "single":
        probabilities = np.mean([_by_temperature(each) for each in blocks], axis=0)
        return LeftOutEvidence(probabilities, f"{how}, leave-one-out, calibrated")
    given = _given(blocks[0])
    views = [_view(each.stages.influence, block) for each, block in zip(scorers, blocks, strict=True)]
    probabilities = logistic_probabilities(heard_together(views, given), given.Y, given.weights, given.known)
    return LeftOutEvidence(probabilities, f"{how}, leave-one-out, and labels that go together, calibrated")


def _by_temperature(blocks: list[TrainingBlock]) -> FloatArray:
    calibration = LeaveOneOutCalibration().fit(blocks, single=True)
    return np.concatenate([calibration.probabilities(block.scores) for block in blocks])


def _given(blocks: list[TrainingBlock]) -> Given:
    Y = np.concatenate([block.Y.toarray() for block in blocks]).astype(np.float64)
    known = [np.ones(b.Y.shape, dtype=bool) if b.known is None else b.known for b in blocks]
    return Given(Y, np.concatenate([block.weights for block in blocks]), np.concatenate(known))


def _view(influence: Influence, blocks: list[TrainingBlock]) -> FloatArray:
    """Scores on the scale of 0 and 1: learned ones aim there, sums of similarities need a curve."""
    if isinstance(influence, Ridge):
        scores = np.concatenate([block.scores.ranking for block in blocks]).astype(np.float64)
        return (
            np.asarray(scipy.special.expit(scores)) if influence.gives_log_odds(scores.shape[1]) else scores
        )
    smooth = LeaveOneOutCalibration(enough=1 + sum(len(block.weights) for block in blocks))
    smooth = smooth.fit(blocks, single=False)
    return np.concatenate([smooth.probabilities(block.scores) for block in blocks])


def _fits(scorer: Scorer) -> bool:
    references = scorer.references
    exact = Ridge().n_inducing(references.n_rows) is None and not is_lazy(references.X)
    return exact and references.n_rows > 1 and scorer.stages.similarity.positive_definite


def _problems(scorer: Scorer) -> Iterator[Problem]:
    """Ridge on what the model compares, and on columns of one scale, with what is to be chosen as "auto"."""
    own, references = scorer.stages.similarity, scorer.references
    bandwidths = {name: "auto" for name in own.get_params() if name.rpartition("__")[2] == "gamma"}
    stages = replace(
        scorer.stages,
        similarity=own.replaced(bandwidths),
        influence=Ridge(),
        weighting=None,
        scales=None,
        recorded=None,
    )
    yield Problem(stages, references)
    if own.form != "precomputed" and _is_dense(references.raw):
        for names in _SCALED:
            yield Problem(replace(stages, similarity=Laplacian()), _scaled(references, names))


def _is_dense(raw: Rows) -> bool:
    return hasattr(raw, "shape") and len(raw.shape) == 2 and not sp.issparse(raw[:1])


def _scaled(references: References, names: list[str]) -> References:
    """The same with columns of one scale."""
    X = np.asarray(references.raw[:], dtype=np.float64)
    normalizer = fit_normalizer(resolve_normalizer(names), X, references.weights)
    assert normalizer is not None
    return References(
        normalizer.transform(X),
        references.Y,
        references.weights,
        references.ids,
        groups=references.group_names,
        unknown=references.knowledge,
    )


def _chosen(problem: Problem) -> Problem:
    """The same with bandwidth and penalty, found on a sample of the rows."""
    n, most = problem.references.n_rows, limits().compared_rows // 2
    rows = np.arange(n)
    if n > most:
        rows = drawn_rows(problem.references.order, most, problem.stages.seed)
    return resolved(problem, LeaveOneOut().run(on_rows(problem, rows)).curve.best)
