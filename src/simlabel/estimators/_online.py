"""What a fitted classifier can do besides predicting: learn more, forget, retune."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.advice import advise
from simlabel._utils.rows import is_remote, n_rows, take_rows
from simlabel._utils.validation import check_ids, check_known, check_same_length, is_one_id
from simlabel.estimators._checks import client_of, labels_here
from simlabel.estimators._labels import LabelsMixin
from simlabel.estimators._picked import PickedMixin
from simlabel.estimators._saved import SAVED, SavedMixin
from simlabel.labels import Partial
from simlabel.model import (
    Batch,
    Model,
    check_learned,
    drop_weightless,
    fit_rule,
    refuse_precomputed,
    refuse_short_forms,
    resolve_ids,
    told_probabilities,
    with_fewer,
    with_more,
    with_what_was_known,
)
from simlabel.ridge import RetuneWarning
from simlabel.rules import LABEL_RULES
from simlabel.sums import Plan, Sampled, resolve_engine
from simlabel.tuning import TuningResult

_GROWN = 4  # times as many rows: what was chosen on the first of them is in doubt


class OnlineMixin(PickedMixin, LabelsMixin, SavedMixin):
    """Teach, forget, retune and change, for a classifier that publishes an immutable model."""

    label_rule: Any
    calibration: Any
    label_column_: str  # of the file that the command line fitted on; else there is none
    engine: Any
    tuning_: TuningResult
    n_references_: int

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any, classes: Any) -> Batch:
        """Check what `fit` was given, and learn from it."""

    @abstractmethod
    def _learn(self, batch: Batch, columns: npt.NDArray[np.int64] | None) -> None:
        """Resolve all stages on checked rows, and publish the model."""

    def _publish(self, model: Model) -> None:
        scorer, stages = model.scorer, model.scorer.stages
        check_learned(model, getattr(self, "_model", None))
        self._model = model
        self.classes_ = model.labels.classes
        self.similarity_, self.normalizer_ = stages.similarity, model.normalizer
        self.weighting_, self.influence_ = stages.weighting, stages.influence
        self.label_rule_, self.calibration_ = model.rule, model.calibration
        self.sketch_, self.encoder_ = scorer.sketch, model.encoder
        self.recorded_ = stages.recorded
        self.n_references_ = scorer.references.n_rows

    @property
    def ids_(self) -> npt.NDArray[Any]:
        """What the labelled instances are called, (n_references,)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("ids_ is there after fit.")
        return self._model.scorer.references.ids

    @property
    def plan_(self) -> Plan:
        """How as many queries as there are references would be computed."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("plan_ is there after fit.")
        plan = self._model.scorer.plan(self.n_references_)
        return replace(plan, reasons=(*plan.reasons, told_probabilities(self._model, self.calibration)))

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Self:
        """Add labelled instances, new labels included, at once.

        Predictions are those of a fresh fit on all rows with the resolved values held: similarity
        (gamma), normalizer and what the label rule has learnt stay as they are until `retune`. The
        first call is a fit, which resolves what is "auto" on its rows; a `RetuneWarning` says, once
        per doubling, that there are four times as many now. Only the new rows are copied. Features
        are brought to the precision of those that are known.

        Parameters
        ----------
        X : array, sparse, data frame or list of objects, (n_rows, n_features)
            Instances.
        y : as in `fit`
            Label sets. Names that were not seen before, in sets, in a 1-D array or as columns of a
            data frame, become labels; the columns of arrays have no names, so their number is fixed.
        classes : list, optional
            Labels to know though no row may have them. Where it is given, a label in y that is
            neither known nor in it is an error.
        sample_weight : array, (n_rows,), optional
            How many times each row counts; rows of weight 0 are dropped.
        ids : list, (n_rows,), optional
            What the rows are called, none of them in use; the next numbers by default.
        groups : list, (n_rows,), optional
            As in `fit`; a name that is known joins that group. Rows without one, these or the former
            ones, are each a group of their own.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").partial_fit([[1.0, 0.0]], [{"sea"}])
        >>> model.partial_fit([[0.0, 1.0]], [{"trees"}]).predict([[0.2, 0.9]])
        [{'trees'}]
        """
        with self._changing() as changed:
            if not changed.__sklearn_is_fitted__():
                changed._reset()
                changed._fit(X, y, sample_weight, ids, groups, classes)
                return self
            changed._teach("partial_fit", X, y, sample_weight, ids, groups, classes)
        return self

    def exchange(
        self,
        gone: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        ids: Any = None,
        groups: Any = None,
    ) -> Self:
        """Forget some labelled instances, and add others: `forget`, then `partial_fit`, in one step.

        What is learnt is solved for once. The new ones may be called what those were called that go.

        Parameters
        ----------
        gone : list
            Ids of those that are forgotten, as in `forget`.
        X, y, sample_weight, ids, groups
            What is added, as in `partial_fit`.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["a", "b"])
        >>> model.exchange(["b"], [[0.0, 0.9]], [{"moss"}], ids=["b"]).predict([[0.2, 0.8]])
        [{'moss'}]
        """
        check_is_fitted(self)
        with self._changing() as changed:
            changed._teach("exchange", X, y, sample_weight, ids, groups, None, gone)
        return self

    def _teach(
        self,
        what: str,
        X: Any,
        y: Any,
        sample_weight: Any,
        ids: Any,
        groups: Any,
        classes: Any,
        gone: Any = None,
    ) -> None:
        """Add rows to the model, in place of those that are gone."""
        refuse_precomputed(self._model, what)
        refuse_short_forms(self._model, what)
        model, X = self._check_queries(X)
        labels, Y, unknown = model.labels.read(self._read(y))
        check_same_length(n_rows(X), Y, "y")
        free = () if gone is None else {*check_ids(gone, None).tolist()}
        names = resolve_ids(ids, n_rows(X), model.scorer.references, free)
        batch = drop_weightless(X, labels, Y, sample_weight, names, groups, unknown)
        before = self.n_references_
        self._publish(with_more(model, batch, classes, gone))
        self._count_picked(batch.X)
        self._warn_of_few(before)

    def _warn_of_few(self, before: int) -> None:
        """Say that what was resolved rests on few of the rows that are there, once per doubling."""
        chosen, few, now = self.tuning_.parameters, self.tuning_.n_rows, self.n_references_
        if not chosen or few == 0 or now < _GROWN * few:
            return
        if (now // few).bit_length() > (before // few).bit_length():
            advise(
                f"{' and '.join(chosen)} was chosen on {few:,} rows, and there are {now:,} now; retune() "
                f"chooses anew.",
                RetuneWarning,
            )

    def forget(self, ids: Any) -> Self:
        """Remove labelled instances, exactly: afterwards nothing of them is left in the references.

        Predictions are those of a fresh fit on the rows that are left with the resolved values
        held. What was summed up over the rows before stays until `retune`: the similarity's gamma,
        what the normalizer has learnt, what the label rule has learnt, the curve in `tuning_`, and
        the names in `classes_`: a label with no rows left has score 0.

        Parameters
        ----------
        ids : list
            What the instances are called; unknown ones are an error that lists them, and then
            nothing is changed.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["a", "b"])
        >>> model.forget(["b"]).label_weights([[0.2, 0.9]])[0, 1]
        np.float64(0.0)
        """
        check_is_fitted(self)
        with self._changing() as changed:
            refuse_precomputed(changed._model, "forget")
            refuse_short_forms(changed._model, "forget")
            changed._publish(with_fewer(changed._model, ids))
        return self

    def correct(self, ids: Any, y: Any) -> Self:
        """Give labelled instances other labels: as if each were forgotten, and taught again with them.

        Parameters
        ----------
        ids : list
            What the instances are called; unknown ones are an error that lists them, and then
            nothing is changed. Of one instance it may stand alone, and then its labels, too.
        y : as in `partial_fit`
            All the labels that each is to have. What is unknown in it, such as labels that a
            `simlabel.labels.Partial` does not name, stays as it was: so an unknown label becomes known.

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
        check_is_fitted(self)
        with self._changing() as changed:
            model, known = changed._model, changed._model.scorer.references
            refuse_precomputed(model, "correct")
            refuse_short_forms(model, "correct")
            names = check_ids(ids, None)
            rows = known.positions(names.tolist())
            check_known(rows, names.tolist())
            if len(rows) == known.n_rows:
                raise ValueError(f"These are all {known.n_rows} labelled instances; fit anew.")
            alone = is_one_id(ids) and isinstance(y, str | set | frozenset | Partial)
            labels, Y, unknown = model.labels.read(changed._read([y] if alone else y))
            check_same_length(len(rows), Y, "y")
            X, groups = take_rows(known.raw, rows), known.group_names
            groups = None if groups is None else groups[rows]
            batch = Batch(X, labels, Y, known.weights[rows], names, groups=groups, unknown=unknown)
            batch = with_what_was_known(model, batch, rows)
            changed._publish(with_more(model, batch, gone=names))
        return self

    def _read(self, y: Any) -> Any:
        """Labels as `LabelSpace` reads them."""
        return labels_here(y, client_of(self.engine))

    def retune(self) -> Self:
        """Choose all values anew, as `fit` would on the rows that are there now.

        Labels that no row has are dropped where labels are found in the rows (sets, 1-D y).

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier().fit([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]], [{"sea"}, {"trees"}, {"trees"}])
        >>> model.forget([0]).classes_.tolist(), model.retune().classes_.tolist()
        (['sea', 'trees'], ['trees'])
        """
        check_is_fitted(self)
        with self._changing() as changed:
            model, references = changed._model, changed._model.scorer.references
            labels, Y, unknown = model.labels.restricted(references.Y, references.knowledge)
            weights, ids, groups = references.weights, references.ids, references.group_names
            batch = Batch(references.raw[:], labels, Y, weights, ids, groups=groups, unknown=unknown)
            changed._reset(*(name for name in SAVED if name != "tuning_"))
            changed._learn(batch, model.columns)
            changed._model.scorer.references.next_id = references.next_id
        return self

    def change_rule(self, label_rule: Any) -> Self:
        """Give a fitted model another label rule, without a refit.

        Parameters
        ----------
        label_rule : str, LabelRule or callable
            As in the constructor; one that learns does so from leave-one-out scores.
        """
        check_is_fitted(self)
        rule = LABEL_RULES.resolve(label_rule)
        rule.check()
        with self._changing() as changed:
            model = changed._model
            changed.label_rule = label_rule
            changed._publish(replace(model, rule=fit_rule(rule, model.scorer)))
        return self

    def change_engine(self, engine: Any) -> Self:
        """Have the sums of a fitted model computed in another way, without a refit.

        Parameters
        ----------
        engine : str or engine
            As in the constructor, e.g. ``DaskEngine(client)`` of `simlabel.sums.dask`.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.sums import Exact
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.change_engine(Exact(memory_mib=64)).predict([[0.2, 0.9]])
        [{'trees'}]
        """
        check_is_fitted(self)
        resolved = resolve_engine(engine)
        with self._changing() as changed:
            scorer = changed._model.scorer
            if isinstance(scorer.stages.engine, Sampled):
                raise ValueError("A draw for each query is an engine of its own; fit without the sampler.")
            if is_remote(scorer.references.X) and resolved.at_home is resolved:
                raise ValueError("The references are on a cluster, where only a DaskEngine reaches them.")
            stages = replace(scorer.stages, engine=resolved)
            scorer = replace(scorer, stages=stages, ready=scorer.prepared, solution=scorer.solved)
            changed.engine = engine
            changed._publish(replace(changed._model, scorer=scorer))
        return self
