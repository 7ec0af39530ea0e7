"""From checked rows to what a search resolves: normalizer, similarity, references."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from simlabel._utils.arithmetic import n_copies
from simlabel._utils.rows import transformed
from simlabel.labels import refuse_unknown
from simlabel.model import Batch
from simlabel.normalizers import Normalizer, fit_normalizer, resolve_normalizer
from simlabel.ridge import Influence, Problem, Ridge, Stages
from simlabel.sums import References
from simlabel.tables import TableEncoder

_MIXED_FROM = 100  # rows: what fewer say of log-odds is mostly chance


def make_problem(
    batch: Batch,
    normalizer: Any,
    stages: Stages,
    names: npt.NDArray[Any] | None,
    encoder: TableEncoder | None = None,
) -> tuple[Normalizer | None, Problem]:
    """Fit the normalizer and the similarity on the rows of a batch.

    Parameters
    ----------
    normalizer : as in `SMLClassifier`
        Not looked at where rows have no features: objects, or a precomputed matrix.
    stages : Stages
        With what is "auto" still in it.
    names : array of str or None
        Of the features.
    encoder : TableEncoder or None
        Fitted; where there is one, the rows are those of a table.
    """
    _check_mixing(stages.influence, batch)
    X, raw = batch.X, None
    if encoder is not None:
        X, raw, names = encoder.encode(X), X, None
    pairwise = stages.similarity.form == "precomputed"
    if pairwise or not hasattr(X, "shape"):
        normalizer = None
    weights = batch.weights if (batch.weights != 1.0).any() else None
    chosen = resolve_normalizer(normalizer)
    Y, unknown = batch.settled
    if chosen is not None and chosen.learns_labels:
        refuse_unknown(unknown, "a normalizer that learns from labels needs all of them")
    fitted = fit_normalizer(chosen, X, weights, Y)
    if raw is None and fitted is not None and fitted.learns:
        raw = X
    X = X if fitted is None else transformed(fitted, X)
    stages = replace(stages, similarity=stages.similarity.fit(X, names, weights))
    known = batch.ids, raw, batch.groups, batch.unknown
    references = References(X, batch.Y, batch.weights, *known, pairwise=pairwise)
    return fitted, Problem(stages, references)


def can_be_mixed(batch: Batch, absent: Any) -> bool:
    """Whether learned scores can be made log-odds (`Ridge.mixing`): of label sets that are all known."""
    known = batch.is_complete and absent is None and batch.labels.kind != "single"
    return known and n_copies(batch.weights) >= _MIXED_FROM


def _check_mixing(influence: Influence, batch: Batch) -> None:
    if isinstance(influence, Ridge) and influence.mixing is True and batch.labels.kind == "single":
        raise ValueError(
            "Ridge(mixing=True) makes log-odds of the labels of a set, and y has one class for each row. "
            "Use Ridge(mixing=False)."
        )
