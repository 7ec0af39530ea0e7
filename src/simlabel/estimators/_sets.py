"""Label sets by name, and with a guarantee."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.rows import group_codes, n_rows
from simlabel._utils.threads import within_n_jobs
from simlabel._utils.validation import check_groups, check_same_length
from simlabel.estimators._advice import advise_on_sets
from simlabel.estimators._contract import FittedBase
from simlabel.guarantees import Fresh, Grounds, Guarantee, PickedRowsWarning, Promise


class SetsMixin(FittedBase):
    """Sets of names, strongest first, for a classifier that answers from an immutable model."""

    tuning_: Any

    @within_n_jobs
    def predict_sets(self, X: Any, guarantee: Guarantee | Promise | None = None) -> list[Any]:
        """Label sets as tuples of names, strongest first.

        Parameters
        ----------
        X : as in `predict`
        guarantee : Recall, Precision, LabelCoverage, SetCoverage or Promise, optional
            What the sets are to keep, from `simlabel.guarantees`. It is worked out anew in each call; for
            several calls make a `Promise` of it once, with the method `guarantee`.

        Returns
        -------
        list of tuple
            With a guarantee, None stands where no useful set keeps it (all labels, more than `most` of
            them, or for `Precision` none): the row is left to a person. An empty tuple says that no label
            is likely.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.guarantees import Recall
        >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
        >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
        >>> model.predict_sets([[0.1, 1.0], [1.0, 1.0]], guarantee=Recall(0.95))
        [('sea',), ()]
        >>> model.predict_sets([[0.1, 1.0], [1.0, 1.0]], guarantee=Recall(0.99))  # 40 rows are too few
        [None, None]
        """
        model, X = self._check_queries(X)
        if guarantee is not None:
            return self._promise(guarantee).sets(X)
        Y = model.label_sets(X)
        advise_on_sets(model, X, Y)
        names = model.labels.classes.tolist()
        ends = zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
        return [tuple(names[k] for k in Y.indices[start:stop]) for start, stop in ends]

    @within_n_jobs
    def guarantee(self, guarantee: Guarantee, X: Any = None, y: Any = None, groups: Any = None) -> Promise:
        """What a guarantee comes to for this model: worked out once, for many calls of `predict_sets`.

        It speaks for the model as it is: after `partial_fit` or `forget` it is to be asked for again.

        Parameters
        ----------
        guarantee : Recall, Precision, LabelCoverage or SetCoverage
        X, y : as in `fit`, optional
            Labelled rows that the model has not seen, drawn as the queries are: then nothing that was
            chosen at fit speaks against the promise. Without them it rests on the model's own rows.
        groups : list, (n_rows,), optional
            What each of these rows belongs to, as in `fit`. Of each group one row counts; the promise is
            for a row of a new group.

        Returns
        -------
        Promise
            ``print`` it to see what is promised, and what speaks against it.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.guarantees import LabelCoverage
        >>> from simlabel.similarities import RBF
        >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
        >>> model = SMLClassifier(RBF(2.0)).fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
        >>> promise = model.guarantee(LabelCoverage(0.9))
        >>> print(promise)
        Whenever a label is true, it is in the set with a probability of at least 0.9, each label by itself
        (full conformal, 40 rows).
        >>> model.predict_sets([[0.1, 1.0]], guarantee=promise), promise.exact
        ([('sea',)], True)
        """
        check_is_fitted(self)
        if not isinstance(guarantee, Guarantee):
            raise TypeError(
                f"guarantee must be one of simlabel.guarantees, e.g. Recall(0.9), got {guarantee!r}."
            )
        guarantee.check()
        if (X is None) != (y is None):
            raise ValueError(
                "guarantee: give X and y, labelled rows that the model has not seen, or neither."
            )
        fresh = None if X is None else self._fresh(X, y, groups)
        picked: int = getattr(self, "n_picked_", 0)
        if fresh is None and picked:
            warnings.warn(
                f"{picked:,} of the labelled rows were picked by suggest, and are not like the rows to come: "
                f"the promise may not be kept. Give guarantee rows that were drawn at random.",
                PickedRowsWarning,
                stacklevel=3,
            )
        return guarantee.promise(Grounds(self._model, self._chosen_on_rows, fresh))

    def _promise(self, guarantee: Guarantee | Promise) -> Promise:
        if not isinstance(guarantee, Promise):
            return self.guarantee(guarantee)
        if guarantee.model is not self._model:
            raise ValueError(
                f"This promise of {guarantee.guarantee!r} was made for another model, or for this one before "
                f"it was changed; ask for it again with model.guarantee(...)."
            )
        return guarantee

    def _fresh(self, X: Any, y: Any, groups: Any) -> Fresh:
        """Labelled rows that the model has not seen, checked."""
        model, rows = self._check_queries(X)
        Y, unknown = model.labels.encode(y)
        check_same_length(n_rows(rows), Y, "y")
        if unknown.any():
            raise ValueError(
                f"guarantee: row {int(np.argmax(unknown))} of y has a label that the model does not know; "
                f"no set could hold it. Teach the model that label, or leave such rows out."
            )
        names = check_groups(groups, n_rows(rows))
        return Fresh(rows, Y, None if names is None else group_codes(names))

    @property
    def _chosen_on_rows(self) -> tuple[str, ...]:
        """What was chosen on the labelled rows, in words."""
        return tuple(self.tuning_.parameters) if hasattr(self, "tuning_") else ()
