"""The rows that a guarantee is based on: all rows of a model, some of them held out, or rows it never saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from operator import attrgetter

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import content_order, is_lazy, is_remote, take_rows
from simlabel._utils.text import format_names, join_names
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.guarantees._conformal import RidgeConformal, SumConformal, of_entries
from simlabel.labels import refuse_unknown
from simlabel.model import Model, Scorer, refuse_precomputed, refuse_samples, training_blocks
from simlabel.ridge import LabelMean, Ridge, Uniform, fits_in_matrix
from simlabel.rules import ScoreBlock, label_shares

_HELD_OUT = 0.3  # share of the rows, or groups, that a split holds out


@dataclass(frozen=True)
class HeldOutRows:
    """Labeled rows that the model has not seen, validated; groups are numbers."""

    X: Rows
    Y: sp.csr_array
    groups: IntArray | None = None


@dataclass(frozen=True)
class CalibrationData:
    """A fitted model, and the rows that a guarantee is based on.

    Attributes
    ----------
    model : Model
    chosen : tuple of str
        Descriptions of what was chosen on the model's own rows.
    held_out : HeldOutRows or None
        Rows to use instead of the model's own.
    """

    model: Model
    chosen: tuple[str, ...] = ()
    held_out: HeldOutRows | None = None

    @property
    def full_conformal_unavailable_reason(self) -> str | None:
        """Why a query cannot be added to all rows of the model; None if it can."""
        scorer = self.model.scorer
        stages, references = scorer.stages, scorer.references
        influence, weighting = stages.influence, stages.weighting
        if self.held_out is not None:
            return "rows that the model has not seen were passed"
        if is_remote(references.X) or is_lazy(references.X):
            return "its rows are not in memory"
        if scorer.sketch is not None or stages.scales is not None or not stages.engine.exact:
            return "its sums are estimates"
        if weighting is not None and weighting.scope == "row":
            return f"under {weighting!r} a new row pushes another out"
        if isinstance(influence, Ridge):
            if scorer.solved.used is not None or not fits_in_matrix(references.n_rows):
                return f"{influence!r} is not solved for {references.n_rows:,} rows in one matrix"
            if stages.similarity.form == "precomputed":
                return "a precomputed similarity does not tell how similar a query is to itself"
        elif not isinstance(influence, Uniform | LabelMean):
            return f"the effect of one more row on {influence!r} is not known"
        return None

    def rows(self, method: str) -> CalibrationRows:
        """Return the rows that a method uses."""
        return self.split if method == "split" else self.whole

    @cached_property
    def whole(self) -> SumConformal | RidgeConformal:
        """All rows of the model, one of each group."""
        scorer = self.model.scorer
        references, stages = scorer.references, scorer.stages
        _refuse_weights(self.model)
        X, Y = references.X, references.imputed_Y
        if references.groups is not None:
            rows = one_of_each(references.groups, references.order, stages.seed)
            refuse_precomputed(self.model, "A guarantee for groups")
            X, Y = take_rows(X, rows), Y[rows]
        X = X[:]
        if isinstance(stages.influence, Ridge):
            return RidgeConformal(stages, X, Y, float(stages.influence.penalty))
        return SumConformal(stages, X, Y)

    @cached_property
    def split(self) -> HeldOutScores:
        """Rows that are not used to score: those that were passed, or some of the model's own."""
        scorer, held_out = self.model.scorer, self.held_out
        if held_out is not None:
            rows = np.arange(held_out.Y.shape[0])
            if held_out.groups is not None:
                rows = one_of_each(held_out.groups, content_order(held_out.X, held_out.Y), scorer.stages.seed)
            X = self.model.normalized(take_rows(held_out.X, rows))
            return HeldOutScores(scorer, self.model.to_probabilities, X, held_out.Y[rows])
        _refuse_weights(self.model)
        refuse_precomputed(self.model, "A guarantee by a split of the model's rows")
        refuse_samples(self.model, "A guarantee by a split of the model's rows")
        if is_remote(scorer.references.X):
            raise ValueError(
                "A guarantee by a split of the model's rows needs them on this machine, but they are on a "
                "cluster. Pass rows that the model has not seen."
            )
        return _split(scorer)

    def caveats(self) -> tuple[str, ...]:
        """Return why a guarantee that is based on the model's own rows holds only approximately."""
        if self.held_out is not None:
            return ()
        model, learned, caveats = self.model, list(self.chosen), list(_assumed(self.model))
        if model.normalizer is not None and model.normalizer.learns:
            learned.append("what the normalizer has learned")
        if model.encoder is not None:
            learned.append("how the table is encoded")
        if learned:
            caveats.append(
                f"{join_names(learned)}: chosen on the rows that the guarantee is based on. Pass rows that "
                f"the model has not seen, or choose on other rows."
            )
        return tuple(caveats)


class HeldOutScores:
    """Labeled rows that are not used to score; it has the methods of `SumConformal`.

    Parameters
    ----------
    scorer : Scorer
    to_scores : callable
        Converts the scores of the scorer, (n_queries, n_labels).
    X : rows, (n_rows, n_features)
        Normalized.
    Y : csr_array of 0/1, (n_rows, n_labels)

    Attributes
    ----------
    loo_scores : array, (n_rows, n_labels)
        Scores of the held-out rows.
    """

    def __init__(
        self, scorer: Scorer, to_scores: Callable[[ScoreBlock], FloatArray], X: Rows, Y: sp.csr_array
    ) -> None:
        self.scorer, self.to_scores, self.Y = scorer, to_scores, Y
        self.loo_scores = self.score(X)

    def score(self, Q: Rows) -> FloatArray:
        """Score normalized queries, (n_queries, n_labels)."""
        parts = [self.to_scores(self.scorer.score(Q[part])) for part in self.scorer.chunks(Q)]
        return np.concatenate(parts).astype(np.float64, copy=False)

    def compare(self, Q: Rows) -> tuple[FloatArray, IntArray]:
        """Score queries, and count for each label the held-out rows with it that score no higher."""
        scores, held = self.score(Q), sp.csc_array(self.Y)
        weaker = np.empty(scores.shape, dtype=np.int64)
        for k in range(scores.shape[1]):
            rows = held.indices[held.indptr[k] : held.indptr[k + 1]]
            weaker[:, k] = np.searchsorted(np.sort(self.loo_scores[rows, k]), scores[:, k], side="right")
        return scores, weaker

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Score queries, and sum the losses as `SumConformal.lost` does."""
        scores, sizes = self.score(Q), np.diff(self.Y.indptr)
        true = of_entries(self.loo_scores, self.Y)
        if whole:
            some = np.flatnonzero(sizes)
            true, losses = np.minimum.reduceat(true, self.Y.indptr[some]) if len(some) else true, losses[some]
        else:
            losses = np.repeat(losses, sizes)
        order = np.argsort(true)
        until = np.concatenate([[0.0], np.cumsum(losses[order])])
        return scores, until[np.searchsorted(true[order], scores, side="right")]

    def training(self) -> tuple[FloatArray, sp.csr_array]:
        """Return leave-one-out scores of the rows that are used to score, and their labels."""
        scores = [self.to_scores(block.scores) for block in training_blocks(self.scorer)]
        references = self.scorer.references
        return np.concatenate(scores)[references.order], references.imputed_Y[references.order]


#: rows that label sets are calibrated with
CalibrationRows = SumConformal | RidgeConformal | HeldOutScores


def _split(scorer: Scorer) -> HeldOutScores:
    """Hold out a part of the rows and score it with the others; all resolved parameters stay the same."""
    references, groups = scorer.references.completed, scorer.references.groups
    n_units = int(references.units.max()) + 1
    n_held_out = round(_HELD_OUT * n_units)
    if n_held_out in (0, n_units):
        raise ValueError(f"A split needs more rows or groups than the {n_units} that there are.")
    ranks = np.random.default_rng(scorer.stages.seed).permutation(n_units)
    held_out = ranks[references.units] < n_held_out
    rows = np.flatnonzero(held_out)
    part = replace(scorer, sketch=None).solved_again(references.without(rows))
    to_scores = attrgetter("labels") if scorer.stages.influence.learned else label_shares
    if groups is not None:
        chosen = one_of_each(groups, references.order, scorer.stages.seed)
        rows = chosen[held_out[chosen]]
    return HeldOutScores(part, to_scores, take_rows(references.X, rows), references.Y[rows])


def one_of_each(groups: IntArray, order: IntArray, seed: int) -> IntArray:
    """Draw one row of each group, in ascending order: groups are exchangeable, rows of a group are not.

    Examples
    --------
    >>> rows = one_of_each(np.array([0, 1, 0, 2, 1]), np.arange(5), seed=0)
    >>> len(rows), sorted(np.array([0, 1, 0, 2, 1])[rows].tolist())
    (3, [0, 1, 2])
    """
    shuffled = order[np.random.default_rng(seed).permutation(len(groups))]
    return np.sort(shuffled[np.unique(groups[shuffled], return_index=True)[1]])


def _assumed(model: Model) -> Iterator[str]:
    """Describe the assumption on labels that are constant where they are known."""
    knowledge = model.scorer.references.knowledge
    if knowledge is not None and knowledge.entries.nnz:
        some = np.unique(knowledge.entries.indices)
        names = format_names([repr(name) for name in model.labels.classes[some].tolist()])
        yield (
            f"{names}: some cells are unknown, and count as the value of all known cells. Pass rows whose "
            f"labels are all known."
        )


def _refuse_weights(model: Model) -> None:
    known = "a guarantee is based on rows whose labels are all known; pass such rows"
    refuse_unknown(model.scorer.references.completed.knowledge, known)
    weights = model.scorer.references.weights
    if (weights != 1.0).any():
        first = int(np.flatnonzero(weights != 1.0)[0])
        raise ValueError(
            f"A guarantee is based on rows that were drawn one by one, but row {first} has a weight of "
            f"{weights[first]:g}. Fit without sample_weight, or pass rows that the model has not seen."
        )
