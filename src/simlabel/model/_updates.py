"""A fitted model that knows more, or less, with every resolved value held."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.rows import Groups, LazyRows, content_order, is_remote, take_rows, transformed
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import (
    FloatArray,
    IntArray,
    Rows,
    check_groups,
    check_ids,
    check_known,
    check_sample_weight,
    check_unused,
)
from simlabel.labels import LabelSpace, UnknownLabels, constant_labels, label_counts, moved
from simlabel.model._model import Model
from simlabel.model.sketches import PrototypeSums
from simlabel.ridge import Kept
from simlabel.sums import Chunk, Ids, References, Sampled


class _Locks:
    """A lock for each estimator that was ever changed, and one for the list of them."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """In a child too: whoever held the old ones is not there."""
        self.guard = threading.Lock()
        self.by_estimator: WeakKeyDictionary[BaseEstimator, threading.RLock] = WeakKeyDictionary()


_LOCKS = _Locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.renew)


@contextmanager
def one_thread_changes(estimator: BaseEstimator) -> Iterator[None]:
    """One thread at a time changes an estimator; the lock is not part of its state."""
    with _LOCKS.guard:
        lock = _LOCKS.by_estimator.setdefault(estimator, threading.RLock())
    with lock:
        yield


def refuse_precomputed(model: Model, what: str) -> None:
    """A matrix of similarities to fixed instances has no place for others."""
    if model.scorer.stages.similarity.form == "precomputed":
        raise ValueError(
            f"{what} needs features: with a precomputed similarity the columns of X are the instances "
            f"of fit. Fit anew with the larger or smaller matrix."
        )


@dataclass(frozen=True)
class Batch:
    """Labelled rows as they came, checked, of weight above zero, with the labels that they have.

    Attributes
    ----------
    X : rows, (n_rows, n_features)
    labels, Y : LabelSpace, csr_array (n_rows, n_labels)
    weights, ids : (n_rows,)
    kept : array of int or None
        Which of the rows that were given these are; None for all.
    groups : array or None, (n_rows,)
        Name of the group of each, None for one of its own.
    unknown : UnknownLabels or None
        Entries of Y that are not known; None where all are.
    """

    X: Rows
    labels: LabelSpace
    Y: sp.csr_array
    weights: FloatArray
    ids: Ids
    kept: npt.NDArray[np.int64] | None = None
    groups: Groups = None
    unknown: UnknownLabels | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all labels of all rows are known, where constant labels count as known."""
        unknown = self.settled[1]
        return unknown is None or not unknown.entries.nnz

    @cached_property
    def settled(self) -> tuple[sp.csr_array, UnknownLabels | None]:
        """Y and what is unknown, where unknown cells of constant labels count as the constant."""
        if self.unknown is None:
            return self.Y, None
        return self.unknown.settled(self.Y, constant_labels(label_counts(self.Y, self.unknown)))

    @property
    def order(self) -> IntArray:
        """Positions of the rows in an order that follows from what they hold, (n_rows,)."""
        return content_order(self.X, self.Y, self.weights, self.groups)

    def part(self, rows: npt.NDArray[np.int64]) -> Batch:
        """Some of the rows, numbered among these."""
        ids = np.asarray(self.ids)[rows]
        groups = None if self.groups is None else self.groups[rows]
        X = take_rows(self.X, rows)
        unknown = None if self.unknown is None else self.unknown.part(rows)
        return Batch(X, self.labels, self.Y[rows], self.weights[rows], ids, rows, groups, unknown)

    def relabelled(self, space: LabelSpace) -> Batch:
        """The same in a space that has more labels."""
        places, n_labels = space.places(self.labels), len(space.classes)
        unknown = None if self.unknown is None else self.unknown.moved(places, n_labels)
        return replace(self, labels=space, Y=moved(self.Y, places, n_labels), unknown=unknown)


def drop_weightless(
    X: Rows,
    labels: LabelSpace,
    Y: sp.csr_array,
    sample_weight: Any,
    ids: Ids,
    groups: Any,
    unknown: UnknownLabels | None = None,
) -> Batch:
    """Rows of weight 0 are not there, nor are classes that only they have."""
    weights = check_sample_weight(sample_weight, Y.shape[0])
    named = check_groups(groups, Y.shape[0])
    if named is not None and is_remote(X):
        raise ValueError("groups are for rows on this machine, in memory or on a disk; X is on a cluster.")
    counted = np.ones(Y.shape[0]) if weights is None else weights
    batch = Batch(X, labels, Y, counted, ids, groups=named, unknown=unknown)
    if weights is None or weights.all():
        return batch
    batch = batch.part(np.flatnonzero(weights))
    labels, Y, unknown = labels.restricted(batch.Y, batch.unknown)
    return replace(batch, labels=labels, Y=Y, unknown=unknown)


def refuse_short_forms(model: Model, what: str) -> None:
    """Of a sample or a sketch it is not known what a row that comes or goes would change."""
    scorer = model.scorer
    if scorer.stages.scales is not None or isinstance(scorer.stages.engine, Sampled):
        raise ValueError(f"{what} needs all references as they are: not with a sampler. Fit anew.")
    if isinstance(scorer.sketch, PrototypeSums):
        raise ValueError(
            f"{what} is not possible with this sketch: its prototypes are learnt from all references at "
            f"once. Fit anew, or use 'random_features', whose sums can be added to and subtracted from."
        )


def refuse_samples(model: Model, what: str) -> None:
    """What a row does to the sums is not known where they run over some rows, or are estimates."""
    scorer = model.scorer
    if scorer.sketch is not None or scorer.stages.scales is not None or not scorer.stages.engine.exact:
        raise ValueError(
            f"{what} needs all references as they are: not with a sketch or a sampler. Fit without."
        )


def refuse_estimates(model: Model, what: str) -> None:
    """The terms of a sum do not add up to an estimate of it."""
    if model.scorer.sketch is not None or not model.scorer.stages.engine.exact:
        raise ValueError(
            f"{what} lists the terms of a sum, but with a sketch or a draw for each query scores are "
            f"estimates of it. Fit with sketch=None, and a sampler that draws at fit or none."
        )


def refuse_groups(model: Model, what: str) -> None:
    """What a single row does is not known where rows are left out in groups."""
    if model.scorer.references.groups is not None:
        raise ValueError(f"{what} leaves out single instances, and these are in groups. Fit without groups.")


def with_more(model: Model, batch: Batch, classes: Any = None, gone: Any = None) -> Model:
    """The model with more references; `classes` are known then though no row may have them.

    References whose ids are in `gone` go for them, in one step: what is learnt is solved for once.
    """
    space = model.labels.united(batch.labels)
    if classes is not None:
        space = space.declared(classes, known=model.labels.classes)
    known = model.scorer.references
    kept: Kept = range(known.n_rows)
    if gone is not None:
        model, known, kept = _without(model, gone)
    batch = batch.relabelled(space)
    one = known.chunks[0]
    raw = _like(batch.X, one.X if one.raw is None else one.raw)
    encoder, rows = model.encoder, raw
    if encoder is not None:
        before, (encoder, rows) = encoder.width_, encoder.taught(raw)
        known = known if encoder.width_ == before else _widened(model, known, encoder.width_)
    rows = rows if model.normalizer is None else _like(transformed(model.normalizer, rows), one.X)
    chunk = Chunk(
        _unshared(rows, batch.X),
        batch.Y,
        batch.weights,
        batch.ids,
        None if one.raw is None else _unshared(raw, batch.X),
        batch.groups,
        batch.unknown,
    )
    known = known.relabelled(space.places(model.labels), len(space.classes))
    model = replace(model, encoder=encoder)
    return _with_references(model, space, known.taught(chunk), kept)


def with_what_was_known(model: Model, batch: Batch, positions: npt.NDArray[np.int64]) -> Batch:
    """Other labels for some references: what is unknown in the batch is as it was before."""
    if batch.unknown is None:
        return batch
    space, known = model.labels.united(batch.labels), model.scorer.references
    places, n_labels = space.places(model.labels), len(space.classes)
    before = moved(sp.csr_array(known.Y[positions]), places, n_labels)
    former = None if known.knowledge is None else known.knowledge.part(positions)
    batch = batch.relabelled(space)
    assert batch.unknown is not None
    Y, unknown = batch.unknown.filled(batch.Y, before, former and former.moved(places, n_labels))
    return replace(batch, Y=Y, unknown=unknown)


def _widened(model: Model, references: References, width: int) -> References:
    """The references of a table with room for more terms; what was learnt for each column has no more."""
    normalizer, similarity = model.normalizer, model.scorer.stages.similarity
    if (normalizer is not None and normalizer.learns) or len(similarity.leaves()) > 1:
        raise ValueError("These rows hold more new words than there is room for; call retune() first.")
    return references.widened(width)


def with_fewer(model: Model, names: Any) -> Model:
    """The model without the references of these ids."""
    fewer, references, kept = _without(model, names)
    return model if fewer is model else _with_references(fewer, model.labels, references, kept)


def _without(model: Model, names: Any) -> tuple[Model, References, Kept]:
    """The model with an encoder that has forgotten some references, those that are left, and where they were.

    Where none goes, it is the model itself.
    """
    known = model.scorer.references
    ids = check_ids(names, None).tolist()
    positions = known.positions(ids)
    check_known(positions, ids)
    if len(ids) == known.n_rows:
        raise ValueError(f"These are all {known.n_rows} labelled instances; a model needs at least one.")
    if not ids:
        return model, known, range(known.n_rows)
    stays = np.ones(known.n_rows, dtype=bool)
    stays[positions] = False
    encoder = model.encoder
    if encoder is not None:
        encoder = encoder.forgotten(take_rows(known.raw, positions))
    return replace(model, encoder=encoder), known.without(positions), np.flatnonzero(stays)


def _with_references(model: Model, space: LabelSpace, references: References, kept: Kept) -> Model:
    places, n_labels = space.places(model.labels), len(space.classes)
    scorer, calibration = model.scorer, model.calibration
    if calibration is not None:
        calibration = calibration.adapted(places, n_labels)
    if scorer.stages.recorded is not None:  # of a label that comes as much as of the others
        recorded = np.full(n_labels, np.median(scorer.stages.recorded))
        recorded[places] = scorer.stages.recorded
        scorer = replace(scorer, stages=replace(scorer.stages, recorded=recorded))
    scorer = scorer.with_references(references, kept)
    rule = model.rule.adapted(scorer.set_sizes, places, n_labels)
    return replace(
        model,
        labels=space,
        calibration=calibration,
        scorer=scorer,
        rule=rule,
    )


def _like(X: Rows, one: Rows) -> Rows:
    """Rows in the kind and precision of those that are known; sparse ones and lists are copied."""
    if isinstance(X, LazyRows):
        return X  # what is on a disk stays there
    if isinstance(one, list):
        return list(X)
    if sp.issparse(one):
        return type(one)(X, dtype=one.dtype, copy=True)
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=one.dtype)


def _unshared(rows: Rows, given: Rows) -> Rows:
    """Rows that are not the caller's."""
    dense = isinstance(rows, np.ndarray) and isinstance(given, np.ndarray)
    return rows.copy() if dense and np.may_share_memory(rows, given) else rows


def resolve_ids(ids: Any, n_rows: int, references: References | None, free: Collection[Any] = ()) -> Ids:
    """Ids that the user gave, none of them in use unless it is `free` again, or the next numbers."""
    if ids is None:
        first = 0 if references is None else references.next_id
        numbers = range(first, first + n_rows)
        if numbers.stop < 2**63:
            return numbers
        return check_ids(numbers, n_rows)  # an array of int64 could not hold them: objects
    checked = check_ids(ids, n_rows)
    if references is not None:
        check_unused([one for one in references.in_use(checked.tolist()) if one not in free])
    return checked
