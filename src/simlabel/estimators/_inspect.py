"""What a fitted classifier can be asked besides labels: why, what is wrong, what is new, what to label."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.limits import limits
from simlabel._utils.rows import n_rows, spaced_rows, take_rows
from simlabel._utils.threads import within_n_jobs
from simlabel._utils.validation import FloatArray, check_number
from simlabel.estimators._picked import PickedMixin
from simlabel.labels import refuse_unknown
from simlabel.model import (
    left_out_scores,
    left_out_shares,
    refuse_estimates,
    refuse_groups,
    refuse_precomputed,
    refuse_samples,
)
from simlabel.model.inspection import (
    Explanation,
    contradicting_duplicates,
    data_values,
    explain,
    left_out_evidence,
    novelty,
    suggest,
    suspicious_labels,
    titles_of,
    uncertainty,
)
from simlabel.sums import Plan
from simlabel.tuning import TuningResult

if TYPE_CHECKING:
    import pandas as pd


class InspectionMixin(PickedMixin):
    """Explanations and diagnostics, for a classifier that publishes an immutable model."""

    tuning_: TuningResult

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The curve of the search, in the form of scikit-learn's ``cv_results_``: arrays of one length.

        Examples
        --------
        >>> import pandas as pd
        >>> from simlabel import SMLClassifier
        >>> X = [[i / 20, 1 - i / 20] for i in range(20)]
        >>> model = SMLClassifier().fit(X, [{"a"}] * 10 + [{"b"}] * 10)
        >>> pd.DataFrame(model.cv_results_).columns.tolist()[1:]
        ['params', 'mean_test_score', 'standard_error_test_score', 'rank_test_score']
        """
        if not hasattr(self, "tuning_"):
            raise AttributeError("cv_results_ is there after fit.")
        return self.tuning_.cv_results()

    def plan(self, X: Any) -> Plan:
        """How a prediction for X would be computed, in words."""
        model, X = self._check_queries(X)
        return model.scorer.plan(n_rows(X))

    @within_n_jobs
    def leave_one_out(self, method: str = "label_weights") -> FloatArray:
        """Scores of the training rows, each left out of its own, (n_references, n_labels).

        A row that belongs to a group is scored without all of it. Normalizer and resolved values stay as
        they were fitted on all rows.

        Parameters
        ----------
        method : {"label_weights", "decision_function"}
            Which scores: those by which rules rank the labels of a row, or those that can be compared
            between rows, e.g. for ``roc_auc_score``.
        """
        check_is_fitted(self)
        if method not in ("label_weights", "decision_function"):
            raise ValueError(
                f"leave_one_out: method must be 'label_weights' or 'decision_function', got {method!r}."
            )
        scorer = self._model.scorer
        return left_out_shares(scorer) if method == "decision_function" else left_out_scores(scorer)

    @within_n_jobs
    def explain(self, X: Any, top: int | None = None, labels: Any = None) -> Explanation:
        """For every query and label, the labelled instances that contributed most.

        Contributions, the rest and (with learned influence) the mean add up to the label's score.
        The set size is explained too. Costs a block of n_references numbers for each query.

        Parameters
        ----------
        X : as in `predict`
            Queries.
        top : int, optional
            How many instances to list for each query and label, and how many words of a table; by default 10
            instances, or 8 words and the 3 most similar instances.
        labels : list of label names, optional
            The labels to describe, predicted or not: for one that is not, its score beside its threshold, and
            the evidence for it and against it. By default the predicted labels of each query.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["beach", "wood"])
        >>> print(model.explain([[0.1, 0.9]]))
        90%: the share of the similarity that rows with the tag make up; not checked against past cases
        Query 0: trees
          trees, 90% likely: rows that have it are 50% of all rows and make up 90% of the resemblance; the
        closest is 'wood'
          1 label: the row gets the label that scores highest, since all rows have 1 label
        trees
         instance         contribution  share   times the average
         wood             0.9939        100.0%  1.0                ████████████████████
         everything else  0             0.0%
        1 label
         instance         contribution  share  times the average
         wood             0.9939        90.0%  1.8                ████████████████████
         beach            0.1104        10.0%  0.2                ██
         everything else  0             0.0%
        """
        model, X = self._check_queries(X)
        refuse_estimates(model, "explain")
        return explain(
            model,
            X,
            top=top,
            labels=labels,
            feature_names=getattr(self, "feature_names_in_", None),
            title_column=getattr(self, "title_column_", None),
        )

    @within_n_jobs
    def suspicious_labels(self, top: int | None = 100) -> pd.DataFrame:
        """Labels that the neighbourhood contradicts, the most doubtful first: probably wrong or missing.

        Every instance is left out of its own scores. So that the list does not depend on how well the model's
        settings suit the data, these are not its own where its influence is plain: ridge is solved for its
        references (up to 6,688 of them, and a positive definite similarity), with bandwidth and penalty
        chosen by leave-one-out; of dense features, for columns of one scale as well. The row's other labels
        are heard where they go together with the one in question, not where they exclude it: one that was
        given in place of another would vouch for itself. All is calibrated. Labels that are unknown are no
        suspects.

        The list is ranked by evidence, not by probability alone: a label that few rows have gets a low
        probability almost everywhere, so that its tags are suspicious only as far as other rows tell.
        ``frame.attrs["evidence"]`` says what was used.

        Parameters
        ----------
        top : int or None
            How many to list; None for every label of every instance.

        Returns
        -------
        frame
            ``id``, for a table ``title``, ``label``, ``given``, ``probability``, ``suspicion``.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X = [[i / 100, 1.0] for i in range(20)] + [[1.0, i / 100] for i in range(20)]
        >>> y = [{"sea"}] * 20 + [{"trees"}] * 20
        >>> y[7] = {"sea", "trees"}
        >>> SMLClassifier().fit(X, y).suspicious_labels(top=1)[["id", "label", "given"]]
           id  label  given
        0   7  trees   True
        """
        check_is_fitted(self)
        check_number("suspicious_labels", "top", top, at_least=1, integer=True, also=(None,))
        model, references = self._model, self._model.scorer.references
        (probabilities, how), knowledge = left_out_evidence(model), references.knowledge
        title = getattr(self, "title_column_", None)
        shown = None if title is None else partial(titles_of, model, title, references.raw)
        labels = model.labels.classes
        given = references.Y, references.ids, labels
        unknown = None if knowledge is None else knowledge.entries
        frame = suspicious_labels(probabilities, *given, top, shown, unknown)
        frame.attrs["evidence"] = how
        return frame

    @within_n_jobs
    def contradicting_duplicates(self, least: float = 0.95) -> pd.DataFrame:
        """Pairs of labelled instances that are almost the same but for their label sets.

        Parameters
        ----------
        least : float
            The least similarity that counts as almost the same, where an instance's to itself is 1.

        Returns
        -------
        frame
            ``id``, ``other``, ``similarity``, ``disagreement``.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("cosine").fit([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [{"a"}, {"b"}, {"a"}])
        >>> model.contradicting_duplicates()
           id  other  similarity  disagreement
        0   0      1         1.0           1.0
        """
        check_is_fitted(self)
        refuse_precomputed(self._model, "contradicting_duplicates")
        check_number("contradicting_duplicates", "least", least, above=0)
        return contradicting_duplicates(self._model.scorer.problem, least)

    @within_n_jobs
    def data_values(self, criterion: str = "average_precision") -> FloatArray:
        """What each labelled instance is worth: how much better the others are scored for its being there.

        Exact leave-one-out, with the resolved values held, for equal influence and for ridge (over all
        references, without mixing); it costs as much as scoring every instance once for every other,
        so it is for thousands of them.

        Parameters
        ----------
        criterion : {"average_precision", "ranking_loss", "coverage", "one_error"}
            What the others are judged by.

        Returns
        -------
        array, (n_references,)
            In the order of `ids_`; negative for an instance that does harm.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X = [[1.0, 0.0], [1.0, 0.1], [0.9, 0.0], [0.0, 1.0], [0.1, 1.0]]
        >>> y = [{"sea"}, {"sea"}, {"trees"}, {"trees"}, {"trees"}]
        >>> SMLClassifier("cosine").fit(X, y).data_values().argmin()
        np.int64(2)
        """
        check_is_fitted(self)
        refuse_precomputed(self._model, "data_values")
        refuse_samples(self._model, "data_values")
        refuse_groups(self._model, "data_values")
        known = self._model.scorer.references.completed.knowledge
        refuse_unknown(known, "data values are known where all labels are")
        return data_values(self._model.scorer, criterion)

    @within_n_jobs
    def novelty(self, X: Any) -> FloatArray:
        """How unlike anything seen each query is, (n_queries,).

        The share of the labelled instances whose similarity to all others together is larger than
        the query's: above 0.99, the query is less at home than 99% of them.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.similarities import RBF
        >>> model = SMLClassifier(RBF(1.0), normalizer=None).fit([[0.0], [0.1], [0.2]], [{"a"}, {"b"}, {"a"}])
        >>> model.novelty([[0.1], [5.0]])
        array([0., 1.])
        """
        model, X = self._check_queries(X)
        refuse_precomputed(model, "novelty")
        return novelty(model.scorer, model.normalized(X), model.typical_totals)

    @within_n_jobs
    def suggest(self, X_pool: Any, n: int = 10) -> npt.NDArray[np.int64]:
        """The unlabelled instances that are most worth a person's time.

        Each would settle most of the doubt that is left: it is like many of the pool whose label sets
        are in doubt, and unlike what is labelled or picked already. Of a pool of more than 2,000 the
        most doubtful are looked at. Rows that were picked so, and taught, are unlike those to come: a
        guarantee that rests on them warns.

        Parameters
        ----------
        X_pool : as in `predict`
            Unlabelled instances.
        n : int
            How many to pick.

        Returns
        -------
        array of int, (n,)
            Rows of the pool, the first to be labelled first.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("cosine").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.suggest([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], n=1)
        array([1])
        """
        check_number("suggest", "n", n, at_least=1, integer=True)
        model, X = self._check_queries(X_pool)
        refuse_precomputed(model, "suggest")
        doubt = uncertainty(model.probabilities(X))
        scorer = model.scorer
        references = scorer.references
        known = take_rows(references.X, spaced_rows(references.order, limits().compared_rows))
        picked = suggest(doubt, model.normalized(X), known, scorer.stages, n)
        self._remember_picked(take_rows(X, picked))
        return picked
