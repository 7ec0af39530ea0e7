"""Explain predictions, diagnose the labeled instances, and suggest which rows to label."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

from simlabel._utils.limits import limits
from simlabel._utils.rows import evenly_spaced_rows, n_rows, take_rows
from simlabel._utils.threads import respects_n_jobs
from simlabel._utils.validation import FloatArray, IntArray, check_number
from simlabel.estimators._fitted import FittedClassifier
from simlabel.estimators._problem import row_bytes
from simlabel.labels import refuse_unknown
from simlabel.model import (
    PendingRows,
    compute_loo_scores,
    compute_loo_shares,
    describe_probabilities,
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
    loo_evidence,
    novelty,
    suggest_rows,
    suspicious_labels,
    titles_of,
    uncertainty,
)
from simlabel.sums import Plan

if TYPE_CHECKING:
    import pandas as pd


class InspectionMixin(FittedClassifier):
    """Explanations and diagnostics of a fitted classifier."""

    @property
    def cv_results_(self) -> dict[str, Any]:
        """Curve of the search in the form of scikit-learn's ``cv_results_``: arrays of equal length.

        Examples
        --------
        >>> import pandas as pd
        >>> from simlabel import SMLClassifier
        >>> X = [[i / 20, 1 - i / 20] for i in range(20)]
        >>> model = SMLClassifier().fit(X, [{"a"}] * 10 + [{"b"}] * 10)
        >>> pd.DataFrame(model.cv_results_).columns.tolist()[1:]
        ['params', 'mean_test_score', 'standard_error_test_score', 'rank_test_score']
        """
        check_is_fitted(self)
        return self.tuning_.cv_results()

    @property
    def plan_(self) -> Plan:
        """Plan of a prediction for as many queries as there are references."""
        plan = self._fitted_model.scorer.plan(self.n_references_)
        return replace(plan, reasons=(*plan.reasons, describe_probabilities(self._model, self.calibration)))

    def plan(self, X: Any) -> Plan:
        """Describe how a prediction for X would be computed."""
        model, X = self._check_queries(X)
        return model.scorer.plan(n_rows(X))

    @respects_n_jobs
    def pending_rows(self, X: Any, y: Any) -> PendingRows:
        """Return labeled rows in a form that `outputs` can count before they are learned.

        Learning is exact, but takes time if there are many labeled rows. Until then these rows add plain
        sums to the probabilities of similar rows. They belong to the current model: create them again after
        `partial_fit` or `forget`. ``pending + more`` joins them, ``pending.part(positions)`` selects some.

        Parameters
        ----------
        X, y : as in `partial_fit`
            Labels may be new. Unknown ones, as of a `simlabel.labels.PartialLabels`, add nothing.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear", influence="ridge").fit(X, y)
        >>> model.outputs([[0.1, 0.9]], model.pending_rows([[0.0, 1.0]], [{"moss"}])).names.tolist()
        ['sea', 'trees', 'moss']
        """
        return PendingRows.taken(*self._check_queries(X), self._read(y))

    @respects_n_jobs
    def leave_one_out(self, method: str = "label_weights") -> FloatArray:
        """Return leave-one-out scores of the training rows, (n_references, n_labels).

        A row that belongs to a group is scored without the whole group. Normalizer and resolved values stay
        as they were fitted on all rows.

        Parameters
        ----------
        method : {"label_weights", "decision_function"}
            Which scores: those by which rules rank the labels of a row, or those that compare between rows,
            e.g. for ``roc_auc_score``.
        """
        model = self._fitted_model
        if method not in ("label_weights", "decision_function"):
            raise ValueError(
                f"leave_one_out: method must be 'label_weights' or 'decision_function', got {method!r}."
            )
        return (compute_loo_shares if method == "decision_function" else compute_loo_scores)(model.scorer)

    @respects_n_jobs
    def explain(self, X: Any, top: int | None = None, labels: Any = None) -> Explanation:
        """Return the labeled instances that contributed most to each label of each query.

        Contributions, the rest and (with learned influence) the mean add up to the label's score.
        The set size is explained too. Needs a block of n_references numbers for each query.

        Parameters
        ----------
        X : as in `predict`
            Queries.
        top : int, optional
            Number of instances to list for each query and label, and of words of a table; by default 10
            instances, or 8 words and the 3 most similar instances.
        labels : list of label names, optional
            The labels to describe, predicted or not: for one that is not, its score compared with its
            threshold, and the evidence for and against it. By default the predicted labels of each query.

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

    @respects_n_jobs
    def suspicious_labels(self, top: int | None = 100) -> pd.DataFrame:
        """List labels that similar rows contradict, the most doubtful first: probably wrong or missing.

        Scores are leave-one-out. They do not use the settings of a model with plain influence, which may not
        suit the data: ridge is solved for its references (up to 6,688 of them, and a positive definite
        similarity), with bandwidth and penalty chosen by leave-one-out; for dense features, on columns of
        equal scale too. Other labels of the row count where they occur together with the label, not where
        they exclude it: a label given in place of another would support itself. All is calibrated. Unknown
        labels are not listed.

        The list is ranked by evidence, not by probability alone: a rare label has a low probability almost
        everywhere, so that its tags are suspicious only as far as other rows tell.
        ``frame.attrs["evidence"]`` says what was used.

        Parameters
        ----------
        top : int or None
            Number of rows of the list; None for every label of every instance.

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
        (probabilities, how), knowledge = loo_evidence(model), references.knowledge
        title = getattr(self, "title_column_", None)
        shown = None if title is None else partial(titles_of, model, title, references.raw)
        given = references.Y, references.ids, model.labels.classes
        unknown = None if knowledge is None else knowledge.entries
        frame = suspicious_labels(probabilities, *given, top, shown, unknown)
        frame.attrs["evidence"] = how
        return frame

    @respects_n_jobs
    def contradicting_duplicates(self, min_similarity: float = 0.95) -> pd.DataFrame:
        """List pairs of labeled instances that are almost equal but have different label sets.

        Parameters
        ----------
        min_similarity : float
            Smallest similarity that counts as almost equal; the similarity of an instance to itself is 1.

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
        refuse_precomputed(self._fitted_model, "contradicting_duplicates")
        check_number("contradicting_duplicates", "min_similarity", min_similarity, above=0)
        return contradicting_duplicates(self._model.scorer.problem, min_similarity)

    @respects_n_jobs
    def data_values(self, criterion: str = "average_precision") -> FloatArray:
        """Return how much each labeled instance improves the scores of the others.

        Exact leave-one-out with the resolved values held, for uniform influence and for ridge (over all
        references, without mixing). It costs as much as scoring every instance once for every other, so it
        suits up to some thousands of them.

        Parameters
        ----------
        criterion : {"average_precision", "ranking_loss", "coverage", "one_error"}
            Metric of the others' scores.

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
        model = self._fitted_model
        for refuse in (refuse_precomputed, refuse_samples, refuse_groups):
            refuse(model, "data_values")
        known = model.scorer.references.completed.knowledge
        refuse_unknown(known, "data values are known where all labels are")
        return data_values(model.scorer, criterion)

    @respects_n_jobs
    def novelty(self, X: Any) -> FloatArray:
        """Return how dissimilar each query is to the labeled instances, (n_queries,).

        The share of the labeled instances whose total similarity to the others exceeds that of the query:
        above 0.99, the query is less similar to the rest than 99% of them.

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

    @respects_n_jobs
    def suggest(self, X_pool: Any, n: int = 10) -> IntArray:
        """Return the unlabeled instances that are most worth labeling.

        Each would settle most of the remaining uncertainty: it is similar to many rows of the pool whose
        label sets are uncertain, and dissimilar to what is labeled or picked already. Of a pool of more than
        2,000 the most uncertain are considered. Rows that were picked and then added are no random sample:
        a guarantee that rests on them warns.

        Parameters
        ----------
        X_pool : as in `predict`
            Unlabeled instances.
        n : int
            Number of instances to pick.

        Returns
        -------
        array of int, (n,)
            Rows of the pool, in the order in which to label them.

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
        known = take_rows(references.X, evenly_spaced_rows(references.order, limits().compared_rows))
        picked = suggest_rows(doubt, model.normalized(X), known, scorer.stages, n)
        self.__dict__.setdefault("_suggested", set()).update(row_bytes(take_rows(X, picked)))
        return picked
