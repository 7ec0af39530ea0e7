"""What a promise rests on: all rows of a model at once, some of them held out, or rows that it never saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.rows import Codes, content_order, is_lazy, is_remote, take_rows
from simlabel._utils.text import some_names
from simlabel._utils.validation import FloatArray, Rows
from simlabel.guarantees._bag import Bag, Counts, RidgeBag, SumBag, of_entries
from simlabel.labels import refuse_unknown
from simlabel.model import Model, Scorer, refuse_precomputed, refuse_samples, training_blocks
from simlabel.ridge import LabelMean, Ridge, Uniform, fits_in_matrix
from simlabel.rules import ScoreBlock
from simlabel.rules.calibration import label_shares

_HELD = 0.3  # share of the rows, or groups, that a split holds out

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Fresh:
    """Labelled rows that the model has not seen: checked, with its labels; groups by number."""

    X: Rows
    Y: sp.csr_array
    groups: Codes | None = None


@dataclass(frozen=True)
class Grounds:
    """A fitted model, and what can be said for it.

    Attributes
    ----------
    model : Model
    chosen : tuple of str
        What was chosen on the model's own rows, in words.
    fresh : Fresh or None
        Rows to rest on in place of the model's own.
    """

    model: Model
    chosen: tuple[str, ...] = ()
    fresh: Fresh | None = None

    @property
    def why_not_whole(self) -> str | None:
        """Why a query cannot be put among all rows of the model; None where it can."""
        scorer = self.model.scorer
        stages, references = scorer.stages, scorer.references
        influence, weighting = stages.influence, stages.weighting
        if self.fresh is not None:
            return "rows that the model has not seen were given"
        if is_remote(references.X) or is_lazy(references.X):
            return "its rows are not in memory"
        if scorer.sketch is not None or stages.scales is not None or not stages.engine.exact:
            return "its sums are estimates"
        if weighting is not None and weighting.scope == "row":
            return f"under {weighting!r} a row that comes pushes another out"
        if isinstance(influence, Ridge):
            if scorer.solved.used is not None or not fits_in_matrix(references.n_rows):
                return f"{influence!r} is not solved for {references.n_rows:,} rows in one matrix"
            if stages.similarity.form == "precomputed":
                return "of a precomputed similarity it is not known how similar a query is to itself"
        elif not isinstance(influence, Uniform | LabelMean):
            return f"of {influence!r} it is not known what one row more changes"
        return None

    def rows(self, method: str) -> Bag:
        """What a method rests on."""
        return self.split if method == "split" else self.whole

    @cached_property
    def whole(self) -> Bag:
        """All rows of the model, one of each group."""
        scorer = self.model.scorer
        references, stages = scorer.references, scorer.stages
        _refuse_weights(self.model)
        X, Y = references.X, references.settled_Y
        if references.groups is not None:
            rows = one_of_each(references.groups, references.order, stages.seed)
            refuse_precomputed(self.model, "A guarantee for groups")
            X, Y = take_rows(X, rows), Y[rows]
        X = X[:]
        if isinstance(stages.influence, Ridge):
            return RidgeBag(stages, X, Y, float(stages.influence.penalty))
        return SumBag(stages, X, Y)

    @cached_property
    def split(self) -> HeldOut:
        """Rows that what scores them has not seen: those that were given, or some of the model's own."""
        scorer, fresh = self.model.scorer, self.fresh
        if fresh is not None:
            rows = np.arange(fresh.Y.shape[0])
            if fresh.groups is not None:
                rows = one_of_each(fresh.groups, content_order(fresh.X, fresh.Y), scorer.stages.seed)
            scores = _Scored(scorer, self.model.to_probabilities)
            return HeldOut(scores, scores(self.model.normalized(take_rows(fresh.X, rows))), fresh.Y[rows])
        _refuse_weights(self.model)
        refuse_precomputed(self.model, "A guarantee by a split of the model's rows")
        refuse_samples(self.model, "A guarantee by a split of the model's rows")
        if is_remote(scorer.references.X):
            raise ValueError(
                "A guarantee by a split of the model's rows needs them on this machine, and they are on a "
                "cluster. Give guarantee rows that the model has not seen."
            )
        return _halved(scorer)

    def caveats(self) -> tuple[str, ...]:
        """Why what rests on the model's own rows does not hold to the letter."""
        if self.fresh is not None:
            return ()
        model, learnt, caveats = self.model, list(self.chosen), list(_assumed(self.model))
        if model.normalizer is not None and model.normalizer.learns:
            learnt.append("what the normalizer has learnt")
        if model.encoder is not None:
            learnt.append("how the table is encoded")
        if learnt:
            named = learnt[0] if len(learnt) == 1 else f"{', '.join(learnt[:-1])} and {learnt[-1]}"
            caveats.append(
                f"{named}: chosen on the rows that the promise rests on. Give rows that the model has not "
                f"seen, or choose on others."
            )
        return tuple(caveats)


@dataclass(frozen=True)
class HeldOut:
    """Scores of any queries, and of labelled rows that they do not depend on; it is asked as a `Bag` is.

    Attributes
    ----------
    score : callable
        Normalized queries -> (n_queries, n_labels).
    left_out, Y : (n_rows, n_labels)
        Scores and labels of the rows held out.
    """

    score: _Scored
    left_out: FloatArray
    Y: sp.csr_array

    def compare(self, Q: Rows) -> tuple[FloatArray, Counts]:
        """Scores of queries, and for each label how many held-out rows that have it score no more."""
        scores, held = self.score(Q), sp.csc_array(self.Y)
        weaker = np.empty(scores.shape, dtype=np.int64)
        for k in range(scores.shape[1]):
            rows = held.indices[held.indptr[k] : held.indptr[k + 1]]
            weaker[:, k] = np.searchsorted(np.sort(self.left_out[rows, k]), scores[:, k], side="right")
        return scores, weaker

    def lost(self, Q: Rows, losses: FloatArray, *, whole: bool) -> tuple[FloatArray, FloatArray]:
        """Scores of queries, and losses as in `Bag`, (n_queries, n_labels) both."""
        scores, sizes = self.score(Q), np.diff(self.Y.indptr)
        true = of_entries(self.left_out, self.Y)
        if whole:
            some = np.flatnonzero(sizes)
            true, losses = np.minimum.reduceat(true, self.Y.indptr[some]) if len(some) else true, losses[some]
        else:
            losses = np.repeat(losses, sizes)
        order = np.argsort(true)
        until = np.concatenate([[0.0], np.cumsum(losses[order])])
        return scores, until[np.searchsorted(true[order], scores, side="right")]

    def training(self) -> tuple[FloatArray, sp.csr_array]:
        """Leave-one-out scores of the rows that scores rest on, and their labels."""
        made = [self.score.to_scores(block.scores) for block in training_blocks(self.score.scorer)]
        references = self.score.scorer.references
        return np.concatenate(made)[references.order], references.settled_Y[references.order]


@dataclass(frozen=True)
class _Scored:
    """Scores of queries by a scorer."""

    scorer: Scorer
    to_scores: Callable[[ScoreBlock], FloatArray]

    def __call__(self, Q: Rows) -> FloatArray:
        parts = [self.to_scores(self.scorer.score(Q[part])) for part in self.scorer.chunks(Q)]
        return np.concatenate(parts).astype(np.float64, copy=False)


def _halved(scorer: Scorer) -> HeldOut:
    """A scorer of some rows, with every resolved value held, and the others scored by it."""
    references, groups = scorer.references.completed, scorer.references.groups
    n_units = int(references.units.max()) + 1
    places = np.random.default_rng(scorer.stages.seed).permutation(n_units)
    n_held = round(_HELD * n_units)
    if n_held == 0 or n_held == n_units:
        raise ValueError(f"A split needs more rows or groups than the {n_units} that there are.")
    held = places[references.units] < n_held
    kept = np.flatnonzero(~held)
    part = scorer.with_references(references.without(np.flatnonzero(held)), kept)
    learned = scorer.stages.influence.learned
    score = _Scored(replace(part, sketch=None), _label_scores if learned else label_shares)
    rows = np.flatnonzero(held)
    if groups is not None:
        chosen = one_of_each(groups, references.order, scorer.stages.seed)
        rows = chosen[held[chosen]]
    return HeldOut(score, score(take_rows(references.X, rows)), references.Y[rows])


def _label_scores(scores: ScoreBlock) -> FloatArray:
    return scores.labels


def one_of_each(groups: Codes, order: Positions, seed: int) -> Positions:
    """One row of each group, drawn, in rising order: groups are alike where rows of one group are not.

    Examples
    --------
    >>> rows = one_of_each(np.array([0, 1, 0, 2, 1]), np.arange(5), seed=0)
    >>> len(rows), sorted(np.array([0, 1, 0, 2, 1])[rows].tolist())
    (3, [0, 1, 2])
    """
    shuffled = order[np.random.default_rng(seed).permutation(len(groups))]
    return np.sort(shuffled[np.unique(groups[shuffled], return_index=True)[1]])


def _assumed(model: Model) -> Iterator[str]:
    """What is assumed of labels that are constant where they are known."""
    knowledge = model.scorer.references.knowledge
    if knowledge is not None and knowledge.entries.nnz:
        some = np.unique(knowledge.entries.indices)
        names = some_names([repr(name) for name in model.labels.classes[some].tolist()])
        yield (
            f"{names}: some cells are unknown, and count as the value that all known cells have. Give rows "
            f"whose labels are all known."
        )


def _refuse_weights(model: Model) -> None:
    known = "a guarantee rests on rows whose labels are all known; give rows of that kind"
    refuse_unknown(model.scorer.references.completed.knowledge, known)
    weights = model.scorer.references.weights
    if (weights != 1.0).any():
        first = int(np.flatnonzero(weights != 1.0)[0])
        raise ValueError(
            f"A guarantee rests on rows that were drawn one by one, and row {first} has a weight of "
            f"{weights[first]:g}. Fit without sample_weight, or give rows that the model has not seen."
        )
