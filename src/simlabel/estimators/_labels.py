"""Labels of a fitted classifier: another name, several made one, one parted from another, one fewer."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.validation import check_ids, check_known
from simlabel.estimators._contract import FittedBase
from simlabel.labels import Labelled, merged, renamed, retired, split_off
from simlabel.model import Model, refuse_short_forms, relabelled
from simlabel.sums import References


class LabelsMixin(FittedBase):
    """Changes of labels that need no refit: the instances stay, and so does what was chosen for them."""

    def rename_labels(self, names: Any) -> Self:
        """Give labels other names.

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
        check_is_fitted(self)
        with self._changing() as changed:
            model = changed._model
            changed._publish(replace(model, labels=renamed(model.labels, names)))
        return self

    def merge_labels(self, labels: Any, into: Hashable) -> Self:
        """Make one label of several: an instance has it if it had any of them.

        Scores are those of a fresh fit with the merged labels and the resolved values held. What label rule
        and calibration know of single labels is learnt anew.

        Parameters
        ----------
        labels : list
            The labels that become one.
        into : label
            What it is called: one of them, another label, which then takes part, or a new name.

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
        """Part a label: some of the instances that have it have another in its place.

        Parameters
        ----------
        label : label
            What they have now.
        into : label
            What they are to have: a new name, or a label that is known.
        ids : list
            What the instances are called; each must have the label.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.7, 0.7], [0.0, 1.0]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y, ids=["a", "b", "c"])
        >>> sorted(model.split_label("sea", "beach", ["b"]).classes_)
        ['beach', 'sea', 'trees']
        """

        def parted(model: Model, references: References) -> Labelled:
            names = check_ids(ids, None)
            rows = references.positions(names.tolist())
            check_known(rows, names.tolist())
            of = references
            return split_off(model.labels, of.Y, of.knowledge, label, into, np.unique(rows))

        return self._relabel(parted)

    def retire_labels(self, labels: Any) -> Self:
        """Remove labels from all instances, and from what is predicted; the instances stay.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea", "old"}, {"sea"}, {"trees"}]
        >>> SMLClassifier("linear").fit(X, y).retire_labels(["old"]).classes_.tolist()
        ['sea', 'trees']
        """
        return self._relabel(lambda one, of: retired(one.labels, of.Y, of.knowledge, labels))

    def _relabel(self, change: Callable[[Model, References], Labelled]) -> Self:
        check_is_fitted(self)
        with self._changing() as changed:
            model = changed._model
            refuse_short_forms(model, "a change of labels")
            changed._publish(relabelled(model, *change(model, model.scorer.references)))
        return self
