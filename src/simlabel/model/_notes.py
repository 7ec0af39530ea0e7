"""What a model has not learnt yet, in plain sums: it counts at once, whatever learning takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.rows import joined, n_rows, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows, check_same_length
from simlabel.model._model import Model
from simlabel.sums import Job, Prepared, ReduceCall, prepare, reducer_for

_EDGE = 1e-4  # nothing is certain
_MOVED = 0.05  # beyond, a label is chosen from a half on, whatever the model's rule says


@dataclass(frozen=True)
class Notes:
    """Labelled rows that a model has not learnt, and what they add to what it says of others.

    Each says of the labels that are known of it how far the model is off, 1 or 0 minus the probability that
    it gives. The more alike a query and the row are, the more of that is added to what the model says of the
    query: s(query, row) / (penalty + sum of abs(s(row, other))), which goes over the noted rows, itself among
    them, of which the label is known. For one row that is what ridge regression would change if it learnt it
    and held what it knows of the rest; rows that are alike share what one of them would say. A label that is
    new to the model is known of the rows that have it, and its probability is what they add to 0.

    Attributes
    ----------
    model : Model
        Whose probabilities they add to, and no other's.
    X : rows, (n_notes, n_features)
        As the model compares them.
    off : array, (n_notes, n_labels)
        How far it is off, NaN where nothing is known; columns are its own labels.
    new : list of frozenset
        Labels that each has and the model does not know.
    alike : array, (n_notes, n_notes)
        How similar they are to each other, without the sign.
    """

    model: Model
    X: Rows
    off: FloatArray
    new: Sequence[frozenset[Any]]
    alike: FloatArray

    @classmethod
    def taken(cls, model: Model, X: Rows, y: Any) -> Notes:
        """Note checked rows with what is known of their labels."""
        if not model.scorer.stages.influence.learned or not hasattr(model.scorer.stages.influence, "penalty"):
            raise ValueError(
                "Notes are for learned influence; what is not learned, partial_fit adds at once."
            )
        if model.labels.kind == "single" or model.labels.hierarchy is not None:
            raise ValueError("Notes are for label sets without a hierarchy.")
        labels, Y, unknown = model.labels.read(y)
        check_same_length(n_rows(X), Y, "y")
        space = model.labels.united(labels)
        places, n_labels = space.places(labels), len(space.classes)
        said = np.zeros((Y.shape[0], n_labels))
        said[:, places] = Y.toarray()
        if unknown is not None:
            said[unknown.moved(places, n_labels).entries.nonzero()] = np.nan
        known = space.places(model.labels)
        names, new = space.classes, np.setdiff1d(np.arange(n_labels), known)
        theirs = [frozenset(names[new[row == 1]].tolist()) for row in said[:, new]]
        Q = model.normalized(X)
        scores = [model.to_probabilities(model.scorer.score(Q[part])) for part in model.scorer.chunks(Q)]
        similarity = prepare(Q, [model.scorer.stages.similarity], keep_views=True)
        alike = abs(model.scorer.stages.similarities(Q, similarity))
        return cls(model, Q, said[:, known] - np.concatenate(scores), theirs, alike)

    def __len__(self) -> int:
        return len(self.off)

    def part(self, rows: npt.NDArray[np.int64]) -> Notes:
        """Some of them."""
        new = [self.new[row] for row in rows]
        return replace(
            self, X=take_rows(self.X, rows), off=self.off[rows], new=new, alike=self.alike[np.ix_(rows, rows)]
        )

    def __add__(self, other: Notes) -> Notes:
        """These, and behind them those, on the same model."""
        self.check(other.model)
        X, stages = joined([self.X, other.X]), self.model.scorer.stages
        across = abs(stages.similarities(other.X, prepare(self.X, [stages.similarity], keep_views=True)))
        alike = np.block([[self.alike, across.T], [across, other.alike]])
        return replace(
            self, X=X, off=np.vstack([self.off, other.off]), new=[*self.new, *other.new], alike=alike
        )

    def check(self, model: Model) -> None:
        """Raise where they are on another model."""
        if model is not self.model:
            raise ValueError("These notes are on another model, or on what this one was; take them anew.")

    @cached_property
    def names(self) -> npt.NDArray[Any]:
        """The model's labels, and behind them the new ones, (n_names,)."""
        known: npt.NDArray[Any] = self.model.labels.classes
        new = sorted(frozenset[Any]().union(*self.new), key=str)
        names = np.empty(len(known) + len(new), dtype=object)
        names[: len(known)], names[len(known) :] = known, new
        return names

    @cached_property
    def ready(self) -> tuple[Prepared, Job]:
        """The rows, and what each adds for each label per unit of similarity, made ready to be summed."""
        stages = self.model.scorer.stages
        new = self.names[self.off.shape[1] :].tolist()
        theirs = [[1.0 if name in each else np.nan for name in new] for each in self.new]
        off = np.hstack([self.off, np.reshape(theirs, (len(self), len(new)))])
        V = np.nan_to_num(off) / (stages.influence.penalty + self.alike @ ~np.isnan(off))
        prepared = prepare(self.X, [stages.similarity], keep_views=True)
        return prepared, Job(stages.similarity, None, reducer_for(None, V))

    def added(
        self, Q: Rows, sets: sp.csr_array, probabilities: FloatArray
    ) -> tuple[sp.csr_array, FloatArray]:
        """What the model says of queries, as it compares them, with what these add, (n_queries, n_names).

        A label whose probability they move by more than 0.05 is in the set from a half on.
        """
        prepared, job = self.ready
        stages, n = self.model.scorer.stages, probabilities.shape[1]
        (shift,) = stages.by_pairs.reduce(ReduceCall(Q, prepared, [job], n_jobs=stages.n_jobs))
        wide = np.zeros(shift.shape)
        wide[:, :n] = probabilities
        moved = np.clip(wide + shift, _EDGE, 1 - _EDGE)
        chosen, stays = moved >= 0.5, abs(moved[:, :n] - probabilities) <= _MOVED
        chosen[:, :n][stays] = sets.toarray()[stays] != 0
        return _strongest_first(chosen, moved), moved


def _strongest_first(chosen: npt.NDArray[np.bool_], probabilities: FloatArray) -> sp.csr_array:
    """Sets as a sparse 0/1 matrix, each row's entries by falling probability."""
    order = np.argsort(-probabilities, axis=1, kind="stable")
    within = np.take_along_axis(chosen, order, axis=1)
    ends = np.concatenate([[0], within.sum(axis=1).cumsum()])
    return sp.csr_array((np.ones(ends[-1], dtype=np.int8), order[within], ends), shape=chosen.shape)
