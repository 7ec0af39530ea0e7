"""Add and remove rows of a fitted model; every resolved value is held."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
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
from simlabel.ridge import RemainingRows
from simlabel.sums import Chunk, Ids, References, Sampled


class _Locks:
    """A lock for each estimator that was ever changed, and one for the dictionary of them."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Create new locks, also in a forked child: the threads that hold the old ones are not in it."""
        self.guard = threading.Lock()
        self.by_estimator: WeakKeyDictionary[BaseEstimator, threading.RLock] = WeakKeyDictionary()


_LOCKS = _Locks()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.renew)


@contextmanager
def lock_for_changes(estimator: BaseEstimator) -> Iterator[None]:
    """Let one thread at a time change an estimator; the lock is not part of its state."""
    with _LOCKS.guard:
        lock = _LOCKS.by_estimator.setdefault(estimator, threading.RLock())
    with lock:
        yield


def refuse_precomputed(model: Model, what: str) -> None:
    """Raise ValueError for a precomputed similarity, which is of a fixed set of rows."""
    if model.scorer.stages.similarity.form == "precomputed":
        raise ValueError(
            f"{what} needs features: with a precomputed similarity the columns of X are the rows "
            f"of fit. Fit again with the larger or smaller matrix."
        )


def refuse_sketches(model: Model, what: str) -> None:
    """Raise ValueError for a sampler, or a sketch that cannot be updated."""
    scorer = model.scorer
    if scorer.stages.scales is not None or isinstance(scorer.stages.engine, Sampled):
        raise ValueError(f"{what} needs all references as they are: not with a sampler. Fit again without.")
    if isinstance(scorer.sketch, PrototypeSums):
        raise ValueError(
            f"{what} is not possible with this sketch: its prototypes are learned from all references at "
            f"once. Fit again, or use 'random_features', whose sums can be updated."
        )


def refuse_samples(model: Model, what: str) -> None:
    """Raise ValueError if the effect of a row is unknown, since sums use a sample or are estimates."""
    scorer = model.scorer
    if scorer.sketch is not None or scorer.stages.scales is not None or not scorer.stages.engine.exact:
        raise ValueError(
            f"{what} needs all references as they are: not with a sketch or a sampler. Fit without."
        )


def refuse_estimates(model: Model, what: str) -> None:
    """Raise ValueError if scores are estimates, so that the terms of the sum do not add up to them."""
    if model.scorer.sketch is not None or not model.scorer.stages.engine.exact:
        raise ValueError(
            f"{what} lists the terms of a sum, but with a sketch or a draw for each query scores are "
            f"estimates of it. Fit with sketch=None, and a sampler that draws at fit or none."
        )


def refuse_groups(model: Model, what: str) -> None:
    """Raise ValueError if rows are left out in groups, so that the effect of a single row is unknown."""
    if model.scorer.references.groups is not None:
        raise ValueError(f"{what} leaves out single instances, and these are in groups. Fit without groups.")


@dataclass(frozen=True)
class Batch:
    """Checked labeled rows of weight above zero, with their labels.

    Attributes
    ----------
    X : rows, (n_rows, n_features)
    labels, Y : LabelSpace, csr_array (n_rows, n_labels)
    weights, ids : (n_rows,)
    kept : array of int or None
        Positions of these rows among the given ones; None for all.
    groups : array or None, (n_rows,)
        Name of the group of each row; None for a group of its own.
    unknown : UnknownLabels or None
        Unknown entries of Y; None if all are known.
    """

    X: Rows
    labels: LabelSpace
    Y: sp.csr_array
    weights: FloatArray
    ids: Ids
    kept: IntArray | None = None
    groups: Groups = None
    unknown: UnknownLabels | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all labels of all rows are known; constant labels count as known."""
        unknown = self.imputed[1]
        return unknown is None or not unknown.entries.nnz

    @cached_property
    def imputed(self) -> tuple[sp.csr_array, UnknownLabels | None]:
        """Y and the unknown entries, with the unknown entries of constant labels set to the constant."""
        if self.unknown is None:
            return self.Y, None
        return self.unknown.imputed(self.Y, constant_labels(label_counts(self.Y, self.unknown)))

    @property
    def order(self) -> IntArray:
        """Positions of the rows in an order that depends on their content only, (n_rows,)."""
        return content_order(self.X, self.Y, self.weights, self.groups)

    def part(self, rows: IntArray) -> Batch:
        """Return some of the rows."""
        return Batch(
            take_rows(self.X, rows),
            self.labels,
            self.Y[rows],
            self.weights[rows],
            np.asarray(self.ids)[rows],
            rows,
            None if self.groups is None else self.groups[rows],
            None if self.unknown is None else self.unknown.part(rows),
        )

    def relabeled(self, space: LabelSpace) -> Batch:
        """Return the rows in a label space that has more labels."""
        places, n_labels = space.places(self.labels), len(space.classes)
        unknown = None if self.unknown is None else self.unknown.moved(places, n_labels)
        return replace(self, labels=space, Y=moved(self.Y, places, n_labels), unknown=unknown)


def drop_zero_weight_rows(
    X: Rows,
    labels: LabelSpace,
    Y: sp.csr_array,
    sample_weight: Any,
    ids: Ids,
    groups: Any,
    unknown: UnknownLabels | None = None,
) -> Batch:
    """Return the rows of weight above 0; labels that only dropped rows have are dropped too."""
    weights = check_sample_weight(sample_weight, Y.shape[0])
    named = check_groups(groups, Y.shape[0])
    if named is not None and is_remote(X):
        raise ValueError("groups are for rows on this machine, in memory or on disk, but X is on a cluster.")
    counted = np.ones(Y.shape[0]) if weights is None else weights
    batch = Batch(X, labels, Y, counted, ids, groups=named, unknown=unknown)
    if weights is None or weights.all():
        return batch
    batch = batch.part(np.flatnonzero(weights))
    labels, Y, unknown = labels.without_unused_labels(batch.Y, batch.unknown)
    return replace(batch, labels=labels, Y=Y, unknown=unknown)


def add_references(model: Model, batch: Batch, classes: Any = None, removed: Any = None) -> Model:
    """Return the model with more references.

    Parameters
    ----------
    model : Model
    batch : Batch
        The rows to add.
    classes : list, optional
        Labels to know even if no row has them.
    removed : list, optional
        Ids of references to remove in the same step, so that influence is solved once.
    """
    space = model.labels.union(batch.labels)
    if classes is not None:
        space = space.with_declared_labels(classes, known=model.labels.classes)
    known = model.scorer.references
    kept: RemainingRows = range(known.n_rows)
    if removed is not None:
        model, known, kept = _without(model, removed)
    batch = batch.relabeled(space)
    one = known.chunks[0]
    raw = _like(batch.X, one.X if one.raw is None else one.raw)
    encoder, rows = model.encoder, raw
    if encoder is not None:
        before, (encoder, rows) = encoder.width_, encoder.taught(raw)
        known = known if encoder.width_ == before else _widened(model, known, encoder.width_)
    rows = rows if model.normalizer is None else _like(transformed(model.normalizer, rows), one.X)
    raw = None if one.raw is None else _copy_if_shared(raw, batch.X)
    rows = _copy_if_shared(rows, batch.X)
    chunk = Chunk(rows, batch.Y, batch.weights, batch.ids, raw, batch.groups, batch.unknown)
    known = known.relabeled(space.places(model.labels), len(space.classes))
    return _with_references(replace(model, encoder=encoder), space, known.taught(chunk), kept)


def merge_with_known_labels(model: Model, batch: Batch, positions: IntArray) -> Batch:
    """Return new labels for some references; entries that are unknown in the batch stay as they were."""
    if batch.unknown is None:
        return batch
    space, known = model.labels.union(batch.labels), model.scorer.references
    places, n_labels = space.places(model.labels), len(space.classes)
    before = moved(sp.csr_array(known.Y[positions]), places, n_labels)
    former = None if known.knowledge is None else known.knowledge.part(positions)
    batch = batch.relabeled(space)
    assert batch.unknown is not None
    Y, unknown = batch.unknown.filled(batch.Y, before, former and former.moved(places, n_labels))
    return replace(batch, Y=Y, unknown=unknown)


def _widened(model: Model, references: References, width: int) -> References:
    """Return references of a table with room for more terms, unless values were learned per column."""
    normalizer, similarity = model.normalizer, model.scorer.stages.similarity
    if (normalizer is not None and normalizer.learns) or len(similarity.leaves()) > 1:
        raise ValueError("These rows hold more new words than there is room for: call retune() first.")
    return references.widened(width)


def remove_references(model: Model, names: Any) -> Model:
    """Return the model without the references of these ids."""
    fewer, references, kept = _without(model, names)
    return model if fewer is model else _with_references(fewer, model.labels, references, kept)


def _without(model: Model, names: Any) -> tuple[Model, References, RemainingRows]:
    """Return the model with an updated encoder, the remaining references, and their former positions.

    Without ids, the model is returned as it is.
    """
    known = model.scorer.references
    ids = check_ids(names, None).tolist()
    positions = known.positions(ids)
    check_known(positions, ids)
    if len(ids) == known.n_rows:
        raise ValueError(f"These are all {known.n_rows} labeled rows: a model needs at least one.")
    if not ids:
        return model, known, range(known.n_rows)
    encoder = model.encoder
    if encoder is not None:
        encoder = encoder.forgotten(take_rows(known.raw, positions))
    remaining = np.delete(np.arange(known.n_rows), positions)
    return replace(model, encoder=encoder), known.without(positions), remaining


def _with_references(model: Model, space: LabelSpace, references: References, kept: RemainingRows) -> Model:
    places, n_labels = space.places(model.labels), len(space.classes)
    scorer, calibration = model.scorer, model.calibration
    if calibration is not None:
        calibration = calibration.adapted(places, n_labels)
    scorer = scorer.with_references(references, kept, places)
    rule = model.rule.adapted(scorer.set_sizes, places, n_labels)
    return replace(model, labels=space, calibration=calibration, scorer=scorer, rule=rule)


def _like(X: Rows, one: Rows) -> Rows:
    """Return rows in the format and precision of known ones; sparse rows and lists are copied."""
    if isinstance(X, LazyRows):
        return X  # rows on disk stay there
    if isinstance(one, list):
        return list(X)
    if sp.issparse(one):
        return type(one)(X, dtype=one.dtype, copy=True)
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=one.dtype)


def _copy_if_shared(rows: Rows, given: Rows) -> Rows:
    """Return rows that do not share memory with those of the caller."""
    dense = isinstance(rows, np.ndarray) and isinstance(given, np.ndarray)
    return rows.copy() if dense and np.may_share_memory(rows, given) else rows


def resolve_ids(ids: Any, n_rows: int, references: References | None, free: Collection[Any] = ()) -> Ids:
    """Return the given ids, none of them in use except those in `free`, or the next numbers."""
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
