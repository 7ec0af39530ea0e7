"""Labeled rows that a model has not learned yet, and that change its outputs at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import joined, n_rows, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows, check_same_length
from simlabel.model._model import Model
from simlabel.sums import Job, Prepared, ReduceCall, prepare, reducer_for

_EDGE = 1e-4  # probabilities are at least this far from 0 and 1
_MOVED = 0.05  # if a probability changes more, its label is chosen from 0.5 on, independent of the label rule


@dataclass(frozen=True)
class PendingRows:
    """Labeled rows that a model has not learned, and the change of its outputs for similar queries.

    The residual of a pending row is 1 or 0 minus the probability that the model predicts, for each of its
    known labels. A query's probabilities change by the residuals times s(query, row) / (penalty + sum of
    abs(s(row, other))); the sum goes over all pending rows, including the row itself, whose label is known.
    For a single row that is the change that ridge regression would make if it learned the row and held
    everything else; similar rows share one change. A label that is new to the model is known for the rows
    that have it only, and its probability starts at 0.

    Attributes
    ----------
    model : Model
        The model whose outputs are changed; no other model can be used.
    X : rows, (n_pending, n_features)
        Normalized.
    residuals : array, (n_pending, n_labels)
        Residuals, NaN where the label is unknown; columns are the labels of the model.
    new : list of frozenset
        Labels of each row that are new to the model.
    similarities : array, (n_pending, n_pending)
        Absolute similarities of the rows to each other.
    """

    model: Model
    X: Rows
    residuals: FloatArray
    new: Sequence[frozenset[Any]]
    similarities: FloatArray

    @classmethod
    def taken(cls, model: Model, X: Rows, y: Any) -> PendingRows:
        """Return checked rows, with their known labels, as pending rows of a model."""
        stages = model.scorer.stages
        if not stages.influence.learned or not hasattr(stages.influence, "penalty"):
            raise ValueError(
                "Pending rows need learned influence; without it, partial_fit adds rows at once: use that."
            )
        if model.labels.kind == "single" or model.labels.hierarchy is not None:
            raise ValueError("Pending rows are for label sets without a hierarchy: use partial_fit.")
        labels, Y, unknown = model.labels.read(y)
        check_same_length(n_rows(X), Y, "y")
        space = model.labels.union(labels)
        places, n_labels = space.places(labels), len(space.classes)
        truth = np.zeros((Y.shape[0], n_labels))
        truth[:, places] = Y.toarray()
        if unknown is not None:
            truth[unknown.moved(places, n_labels).entries.nonzero()] = np.nan
        known = space.places(model.labels)
        new = np.setdiff1d(np.arange(n_labels), known)
        new_names = [frozenset(space.classes[new[row == 1]].tolist()) for row in truth[:, new]]
        Q = model.normalized(X)
        scores = [model.to_probabilities(model.scorer.score(Q[part])) for part in model.scorer.chunks(Q)]
        similar = abs(stages.similarities(Q, prepare(Q, [stages.similarity], keep_views=True)))
        return cls(model, Q, truth[:, known] - np.concatenate(scores), new_names, similar)

    def __len__(self) -> int:
        return len(self.residuals)

    def part(self, rows: IntArray) -> PendingRows:
        """Return some of the pending rows."""
        new = [self.new[row] for row in rows]
        return replace(
            self,
            X=take_rows(self.X, rows),
            residuals=self.residuals[rows],
            new=new,
            similarities=self.similarities[np.ix_(rows, rows)],
        )

    def __add__(self, other: PendingRows) -> PendingRows:
        """Return these pending rows followed by others of the same model."""
        self.check(other.model)
        stages = self.model.scorer.stages
        across = abs(stages.similarities(other.X, prepare(self.X, [stages.similarity], keep_views=True)))
        return replace(
            self,
            X=joined([self.X, other.X]),
            residuals=np.vstack([self.residuals, other.residuals]),
            new=[*self.new, *other.new],
            similarities=np.block([[self.similarities, across.T], [across, other.similarities]]),
        )

    def check(self, model: Model) -> None:
        """Raise ValueError if the rows belong to another model."""
        if model is not self.model:
            raise ValueError(
                "These pending rows belong to another model, or to an earlier state of this one: call "
                "pending_rows again."
            )

    @cached_property
    def names(self) -> AnyArray:
        """The model's labels, followed by the new ones, (n_names,)."""
        known, new = self.model.labels.classes, sorted(frozenset[Any]().union(*self.new), key=str)
        names = np.empty(len(known) + len(new), dtype=object)
        names[: len(known)], names[len(known) :] = known, new
        return names

    @cached_property
    def prepared_sums(self) -> tuple[Prepared, Job]:
        """The precomputed rows, and the sum of the changes that they make."""
        stages = self.model.scorer.stages
        new = self.names[self.residuals.shape[1] :].tolist()
        has = [[1.0 if name in each else np.nan for name in new] for each in self.new]
        residuals = np.hstack([self.residuals, np.reshape(has, (len(self), len(new)))])
        V = np.nan_to_num(residuals) / (stages.influence.penalty + self.similarities @ ~np.isnan(residuals))
        prepared = prepare(self.X, [stages.similarity], keep_views=True)
        return prepared, Job(stages.similarity, None, reducer_for(None, V))

    def added(
        self, Q: Rows, sets: sp.csr_array, probabilities: FloatArray
    ) -> tuple[sp.csr_array, FloatArray]:
        """Return the model's sets and probabilities of normalized queries, changed, (n_queries, n_names).

        A label whose probability changes by more than 0.05 is in the set if the probability is at least 0.5.
        """
        prepared, job = self.prepared_sums
        stages, n = self.model.scorer.stages, probabilities.shape[1]
        (shift,) = stages.exact_engine.reduce(ReduceCall(Q, prepared, [job], n_jobs=stages.n_jobs))
        before = np.zeros(shift.shape)
        before[:, :n] = probabilities
        moved = np.clip(before + shift, _EDGE, 1 - _EDGE)
        chosen, stays = moved >= 0.5, abs(moved[:, :n] - probabilities) <= _MOVED
        chosen[:, :n][stays] = sets.toarray()[stays] != 0
        order = np.argsort(-moved, axis=1, kind="stable")  # the strongest label first
        within = np.take_along_axis(chosen, order, axis=1)
        ends = np.concatenate([[0], within.sum(axis=1).cumsum()])
        ones = np.ones(ends[-1], dtype=np.int8)
        return sp.csr_array((ones, order[within], ends), shape=chosen.shape), moved
