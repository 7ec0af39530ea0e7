"""Fit a classifier, and change a fitted one: incremental learning, labels, retuning."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.advice import warn_user
from simlabel._utils.rows import is_remote, n_rows, take_rows
from simlabel._utils.validation import Rows, check_ids, check_known, check_same_length, is_one_id
from simlabel.estimators._fitted import SAVED, FittedClassifier
from simlabel.estimators._problem import GivenRows, fetch_labels, row_bytes
from simlabel.labels import (
    LabeledData,
    LabelSpace,
    PartialLabels,
    archived,
    as_hierarchy,
    merged,
    renamed,
    split_off,
    warn_about_labels,
)
from simlabel.model import (
    Batch,
    Model,
    add_references,
    drop_zero_weight_rows,
    fit_rule,
    merge_with_known_labels,
    refuse_precomputed,
    refuse_sketches,
    relabeled,
    remove_references,
    resolve_ids,
)
from simlabel.ridge import RetuneWarning
from simlabel.rules import LABEL_RULES
from simlabel.sums import References, Sampled, resolve_engine

_GROWTH = 4  # times as many rows as were tuned on: suggest to tune again


class UpdateMixin(FittedClassifier):
    """Fit, partial_fit, forget, correct, retune and changes of labels."""

    label_rule: Any
    hierarchy: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
        """Store the labeled instances, and choose the values of all parameters that are "auto".

        Parameters
        ----------
        X : array, sparse, data frame or list of objects, (n_rows, n_features)
            Instances; with a precomputed similarity, (n_rows, n_rows). Of a `Tagger`, or with an encoder, a
            table: a pandas or polars frame, list of dicts, or list of texts.
        y : 0/1 array, sparse or data frame (n_rows, n_labels), list of sets, or 1-D array
            Label sets; one class per row in a 1-D array. A `Tagger` reads texts with separators too.
        sample_weight : array, (n_rows,), optional
            How many times each row counts; rows of weight 0 are dropped.
        ids : list, (n_rows,), optional
            Ids of the rows, for `forget` and `explain`; numbers from 0 by default.
        groups : list, (n_rows,), optional
            Group of each row; rows of one group are nearly copies: packages of one source, frames of one
            film, visits of one patient. Leave-one-out omits the whole group of a row (all of its weight): in
            tuning, label rules, calibration, `leave_one_out`, `suspicious_labels` and `novelty`. None or
            NaN: a group of its own.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [1.0, 0.0], [0.8, 0.6]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y, groups=["film", "film", None])
        >>> model.leave_one_out().round(2)
        array([[0. , 0.8],
               [0. , 0.8],
               [1.6, 0. ]])
        """
        with self._changing() as changed:
            changed._reset()
            batch = changed._training_batch(GivenRows(X, y, sample_weight, ids, groups))
            changed._learn(batch)
            warn_about_labels(batch.labels.classes.tolist(), batch.Y)
        return self

    def _training_batch(self, given: GivenRows, classes: Any = None) -> Batch:
        """Check the arguments of `fit`."""
        X = self._check_training_rows(given.X)
        y = fetch_labels(given.y, self.engine)
        labels, Y, unknown = LabelSpace.learn_known(y, as_hierarchy(self.hierarchy))
        check_same_length(n_rows(X), Y, "y")
        ids = resolve_ids(given.ids, n_rows(X), None)
        batch = drop_zero_weight_rows(X, labels, Y, given.sample_weight, ids, given.groups, unknown)
        return batch if classes is None else batch.relabeled(batch.labels.with_declared_labels(classes))

    @abstractmethod
    def _check_training_rows(self, X: Any) -> Rows:
        """Check the rows of `fit`, and set ``n_features_in_`` and ``feature_names_in_``."""

    @abstractmethod
    def _learn(self, batch: Batch) -> None:
        """Choose and fit all stages on checked rows, and publish the model."""

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Self:
        """Add labeled instances, which may have new labels.

        Predictions equal those of a new fit on all rows with the resolved values held: similarity
        (gamma), normalizer and what the label rule learned stay as they are until `retune`. The
        first call is a fit. A `RetuneWarning` is issued when there are four times as many rows as the
        parameters were tuned on, and once per doubling after that. Only the new rows are copied. Features
        are converted to the precision of the known ones.

        Parameters
        ----------
        X : array, sparse, data frame or list of objects, (n_rows, n_features)
            Instances.
        y : as in `fit`
            Label sets. Names that were not seen before, in sets, in a 1-D array or as columns of a
            data frame, become labels; the columns of arrays have no names, so their number is fixed.
        classes : list, optional
            Labels to know though no row may have them. With it, a label in y that is neither known nor
            listed is an error.
        sample_weight : array, (n_rows,), optional
            How many times each row counts; rows of weight 0 are dropped.
        ids : list, (n_rows,), optional
            Ids of the rows, none of them in use; the next numbers by default.
        groups : list, (n_rows,), optional
            As in `fit`; a known name joins that group. Rows without a group are a group each.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").partial_fit([[1.0, 0.0]], [{"sea"}])
        >>> model.partial_fit([[0.0, 1.0]], [{"trees"}]).predict([[0.2, 0.9]])
        [{'trees'}]
        """
        given = GivenRows(X, y, sample_weight, ids, groups)
        with self._changing() as changed:
            if changed.__sklearn_is_fitted__():
                changed._add_rows("partial_fit", given, classes)
            else:
                changed._reset()
                changed._learn(changed._training_batch(given, classes))
        return self

    def replace_rows(
        self, removed: Any, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None
    ) -> Self:
        """Remove some labeled instances and add others: `forget`, then `partial_fit`, in one step.

        Learned influence is solved once. New rows may have the ids of removed ones.

        Parameters
        ----------
        removed : list
            Ids of the rows to remove, as in `forget`.
        X, y, sample_weight, ids, groups
            The rows to add, as in `partial_fit`.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["a", "b"])
        >>> model.replace_rows(["b"], [[0.0, 0.9]], [{"moss"}], ids=["b"]).predict([[0.2, 0.8]])
        [{'moss'}]
        """
        check_is_fitted(self)
        with self._changing() as changed:
            changed._add_rows("replace_rows", GivenRows(X, y, sample_weight, ids, groups), removed=removed)
        return self

    def _add_rows(self, method: str, given: GivenRows, classes: Any = None, removed: Any = None) -> None:
        refuse_precomputed(self._model, method)
        refuse_sketches(self._model, method)
        model, X = self._check_queries(given.X)
        labels, Y, unknown = model.labels.read(self._read(given.y))
        check_same_length(n_rows(X), Y, "y")
        free = () if removed is None else {*check_ids(removed, None).tolist()}
        ids = resolve_ids(given.ids, n_rows(X), model.scorer.references, free)
        batch = drop_zero_weight_rows(X, labels, Y, given.sample_weight, ids, given.groups, unknown)
        before = self.n_references_
        self._publish(add_references(model, batch, classes, removed))
        suggested = getattr(self, "_suggested", ())
        picked = sum(row in suggested for row in row_bytes(batch.X)) if suggested else 0
        if picked:
            self.n_queried_ = getattr(self, "n_queried_", 0) + picked
        self._warn_about_growth(before)

    def _warn_about_growth(self, before: int) -> None:
        """Warn once per doubling that the tuned parameters rest on a small part of the rows."""
        curve = getattr(self, "tuning_", None)
        if curve is None:  # a model file may lack it
            return
        tuned, few, now = curve.parameters, curve.n_rows, self.n_references_
        if not tuned or few == 0 or now < _GROWTH * few:
            return
        if (now // few).bit_length() > (before // few).bit_length():
            warn_user(
                f"{' and '.join(tuned)} was chosen on {few:,} rows, and there are {now:,} now; retune() "
                f"chooses again.",
                RetuneWarning,
            )

    def forget(self, ids: Any) -> Self:
        """Remove labeled instances exactly: nothing of them is left in the references.

        Predictions equal those of a new fit on the remaining rows with the resolved values held. What was
        computed over all rows before stays until `retune`: the similarity's gamma, what the normalizer and
        the label rule learned, the curve in `tuning_`, and the names in `classes_`: a label without
        rows has score 0.

        Parameters
        ----------
        ids : list
            Ids of the instances. If some are unknown, the error lists them, and nothing changes.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["a", "b"])
        >>> model.forget(["b"]).label_weights([[0.2, 0.9]])[0, 1]
        np.float64(0.0)
        """
        return self._update(lambda model: remove_references(model, ids), "forget")

    def correct(self, ids: Any, y: Any) -> Self:
        """Replace the labels of instances, as if each were forgotten and added again.

        Parameters
        ----------
        ids : list
            Ids of the instances. If some are unknown, the error lists them, and nothing changes.
            A single id may be passed as it is, and then its labels too.
        y : as in `partial_fit`
            All labels of each. What is unknown in it, such as labels that a
            `simlabel.labels.PartialLabels` does not name, stays as it was: so an unknown label becomes known.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea"}, {"trees"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y, ids=["a", "b", "c"])
        >>> model.correct(["b"], [{"sea"}]).predict([[0.9, 0.1]])
        [{'sea'}]
        >>> model.correct("b", {"trees"}).predict([[0.9, 0.1]])
        [{'trees'}]
        """

        def corrected(model: Model) -> Model:
            names, known = check_ids(ids, None), model.scorer.references
            rows = known.positions(names.tolist())
            check_known(rows, names.tolist())
            if len(rows) == known.n_rows:
                raise ValueError(f"These are all {known.n_rows} labeled instances; call fit instead.")
            single = is_one_id(ids) and isinstance(y, str | set | frozenset | PartialLabels)
            labels, Y, unknown = model.labels.read(self._read([y] if single else y))
            check_same_length(len(rows), Y, "y")
            X, groups = take_rows(known.raw, rows), known.group_names
            groups = None if groups is None else groups[rows]
            batch = Batch(X, labels, Y, known.weights[rows], names, groups=groups, unknown=unknown)
            return add_references(model, merge_with_known_labels(model, batch, rows), removed=names)

        return self._update(corrected, "correct")

    def retune(self) -> Self:
        """Choose all values again, as `fit` would on the current rows.

        Labels that no row has are dropped if labels are found in the rows (sets, 1-D y).

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier().fit([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]], [{"sea"}, {"trees"}, {"trees"}])
        >>> model.forget([0]).classes_.tolist(), model.retune().classes_.tolist()
        (['sea', 'trees'], ['trees'])
        """
        check_is_fitted(self)
        with self._changing() as changed:
            model, known = changed._model, changed._model.scorer.references
            labels, Y, unknown = model.labels.without_unused_labels(known.Y, known.knowledge)
            companions = known.weights, known.ids, model.columns, known.group_names, unknown
            batch = Batch(known.raw[:], labels, Y, *companions)
            changed._reset(*(name for name in SAVED if name != "tuning_"))
            changed._learn(batch)
            changed._model.scorer.references.next_id = known.next_id
        return self

    def set_label_rule(self, label_rule: Any) -> Self:
        """Replace the label rule of a fitted model, without a refit.

        Parameters
        ----------
        label_rule : str, LabelRule or callable
            As in the constructor; a rule that learns does so from leave-one-out scores.
        """
        rule = LABEL_RULES.resolve(label_rule)
        rule.check()

        def changed(model: Model) -> Model:
            return replace(model, rule=fit_rule(rule, model.scorer))

        return self._update(changed, label_rule=label_rule)

    def set_engine(self, engine: Any) -> Self:
        """Replace the engine of a fitted model, without a refit.

        Parameters
        ----------
        engine : str or engine
            As in the constructor, e.g. ``DaskEngine(client)`` of `simlabel.sums.dask`.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.sums import Exact
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.set_engine(Exact(memory_mib=64)).predict([[0.2, 0.9]])
        [{'trees'}]
        """
        resolved = resolve_engine(engine)

        def changed(model: Model) -> Model:
            scorer = model.scorer
            if isinstance(scorer.stages.engine, Sampled):
                raise ValueError("A sampler that draws for each query is an engine: fit without it.")
            if is_remote(scorer.references.X) and resolved.local_engine is resolved:
                raise ValueError("The references are on a cluster: only a DaskEngine can read them.")
            stages = replace(scorer.stages, engine=resolved)
            prepared, solved = scorer.prepared, scorer.solved
            scorer = replace(scorer, stages=stages, prepared_references=prepared, solution=solved)
            return replace(model, scorer=scorer)

        return self._update(changed, engine=engine)

    def rename_labels(self, names: Any) -> Self:
        """Rename labels.

        Parameters
        ----------
        names : dict
            Old name -> new name, which no other label has.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.rename_labels({"trees": "forest"}).predict([[0.2, 0.9]])
        [{'forest'}]
        """
        return self._update(lambda model: replace(model, labels=renamed(model.labels, names)))

    def merge_labels(self, labels: Any, into: Hashable) -> Self:
        """Merge labels: an instance has the result if it had any of them.

        Scores equal those of a new fit with the merged labels and the resolved values held. Label rule
        and calibration learn again what they know of single labels.

        Parameters
        ----------
        labels : list
            The labels to merge.
        into : label
            Name of the result: one of them, another label, which is then merged too, or a new name.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea"}, {"ocean"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y).merge_labels(["sea", "ocean"], into="sea")
        >>> model.classes_.tolist(), model.predict([[1.0, 0.1]])
        (['sea', 'trees'], [{'sea'}])
        """
        return self._relabel(lambda one, of: merged(one.labels, of.Y, of.knowledge, labels, into))

    def split_label(self, label: Hashable, into: Hashable, ids: Any) -> Self:
        """Split a label: replace it by another label for some of the instances that have it.

        Parameters
        ----------
        label : label
            The label to replace.
        into : label
            Its replacement: a new name, or a known label.
        ids : list
            Ids of the instances; each must have the label.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y, ids=["a", "b", "c"])
        >>> sorted(model.split_label("sea", "beach", ["b"]).classes_)
        ['beach', 'sea', 'trees']
        """

        def split(model: Model, references: References) -> LabeledData:
            names = check_ids(ids, None).tolist()
            rows = references.positions(names)
            check_known(rows, names)
            known = references.Y, references.knowledge
            return split_off(model.labels, *known, label, into, np.unique(rows))

        return self._relabel(split)

    def remove_labels(self, labels: Any) -> Self:
        """Remove labels from all instances and from predictions; the instances stay.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea", "old"}, {"sea"}, {"trees"}]
        >>> SMLClassifier("linear").fit(X, y).remove_labels(["old"]).classes_.tolist()
        ['sea', 'trees']
        """
        return self._relabel(lambda one, of: archived(one.labels, of.Y, of.knowledge, labels))

    def _relabel(self, change: Callable[[Model, References], LabeledData]) -> Self:
        def changed(model: Model) -> Model:
            refuse_sketches(model, "a change of labels")
            return relabeled(model, *change(model, model.scorer.references))

        return self._update(changed)

    def _update(self, change: Callable[[Model], Model], method: str = "", **params: Any) -> Self:
        """Publish a changed model, and set parameters; a `method` that changes rows needs all of them."""
        check_is_fitted(self)
        with self._changing() as changed:
            if method:
                refuse_precomputed(changed._model, method)
                refuse_sketches(changed._model, method)
            model = change(changed._model)
            changed.__dict__ |= params
            changed._publish(model)
        return self
