"""What a fitted classifier can do besides predicting: learn more, forget, choose its values anew."""

from __future__ import annotations

import copy
import os
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from simlabel._leave_one_out import training_blocks
from simlabel._model import Model
from simlabel._teaching import (
    Batch,
    drop_weightless,
    forgotten,
    numbered,
    one_teacher,
    refuse_precomputed,
    refuse_short_forms,
    taught,
)
from simlabel._validation import FloatArray, check_number, check_same_length
from simlabel.diagnostics import (
    contradicting_duplicates,
    data_values,
    novelty,
    suggest,
    suspicious_labels,
    uncertainty,
)
from simlabel.engines import n_rows
from simlabel.explanation import Explanation, largest_terms
from simlabel.persistence import Reader, Writer, model_state, restored_model, write_file

_SAVED = ("n_features_in_", "feature_names_in_", "tuning_")  # beside the model itself


class Living:
    """Teach, forget and retune, for a classifier that publishes an immutable model."""

    _model: Model

    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, ids: Any = None
    ) -> Self:
        """Add labelled instances, new labels included, at once.

        Predictions are those of a fresh fit on all rows with the resolved values held: similarity
        (gamma), normalizer and what the label rule has learnt stay as they are until `retune`. The
        first call is a fit, which resolves what is "auto" on its rows. Only the new rows are
        copied. Features are brought to the precision of those that are known.

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

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").partial_fit([[1.0, 0.0]], [{"sea"}])
        >>> model.partial_fit([[0.0, 1.0]], [{"trees"}]).predict([[0.2, 0.9]])
        [{'trees'}]
        """
        me: Any = self
        with one_teacher(self):
            if not me.__sklearn_is_fitted__():
                changed = me._blank()
                changed._fit(X, y, sample_weight, ids, classes)
            else:
                refuse_precomputed(self._model, "partial_fit")
                refuse_short_forms(self._model, "partial_fit")
                model, X = me._check_queries(X)
                labels, Y = model.labels.read(y)
                check_same_length(n_rows(X), Y, "y")
                names = numbered(ids, n_rows(X), model.scorer.references)
                batch = drop_weightless(X, labels, Y, sample_weight, names)
                changed = copy.copy(me)
                changed._publish(taught(model, batch, classes))
            self.__dict__ = changed.__dict__
        return self

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
        >>> model.forget(["b"]).decision_function([[0.2, 0.9]])[0, 1]
        np.float64(0.0)
        """
        check_is_fitted(self)
        with one_teacher(self):
            refuse_precomputed(self._model, "forget")
            refuse_short_forms(self._model, "forget")
            changed: Any = copy.copy(self)
            changed._publish(forgotten(self._model, [ids] if isinstance(ids, str | int) else list(ids)))
            self.__dict__ = changed.__dict__
        return self

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
        with one_teacher(self):
            model, references = self._model, self._model.scorer.references
            X = references.raw[:]
            labels, Y = model.labels.restricted(references.Y)
            changed: Any = self._blank()  # type: ignore[attr-defined]
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(self, name):
                    setattr(changed, name, getattr(self, name))
            changed._learn(Batch(X, labels, Y, references.weights, references.ids), model.columns)
            changed._model.scorer.references.next_id = references.next_id
            self.__dict__ = changed.__dict__
        return self

    def explain(self, X: Any, top: int = 10) -> Explanation:
        """For every query and label, the labelled instances that contributed most.

        Contributions, the rest and (with learned influence) the mean add up to the label's score.
        The set size is explained too. Costs a block of n_references numbers for each query.

        Parameters
        ----------
        X : as in `predict`
            Queries.
        top : int
            How many instances to list for each query and label.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear")
        >>> model = model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}], ids=["beach", "wood"])
        >>> print(model.explain([[0.1, 0.9]]))
        Query 0: trees
        1 label, because of these
         instance    contribution  share
         wood        0.9939        90.0%  ██████████████████
         beach       0.1104        10.0%  ██
         all others  0             0.0%
        trees (score 0.9939)
         instance    contribution  share
         wood        0.9939        100.0%  ████████████████████
         all others  0             0.0%
        """
        check_number("explain", "top", top, at_least=1, integer=True)
        model, X = self._check_queries(X)  # type: ignore[attr-defined]
        scorer, Q = model.scorer, model.normalized(X)
        references = scorer.references
        terms = largest_terms(
            Q,
            scorer.prepared,
            scorer.similarity,
            scorer.weighting,
            scorer.V,
            references.weights,
            top,
            scorer.n_jobs,
        )
        used, mean = scorer.solved.used, scorer.solved.intercept
        Y = model.label_sets(X)
        return Explanation(
            references.ids if used is None else references.ids[used],
            model.labels.classes,
            references.sizes,
            np.split(Y.indices, Y.indptr[1:-1]),
            terms,
            np.zeros(terms.totals.shape[1]) if mean is None else mean,
            scorer.similarity,
            references,
            Q,
            getattr(self, "feature_names_in_", None),
        )

    def suspicious_labels(self, top: int | None = 100) -> Any:
        """Labels that the neighbourhood contradicts, the most doubtful first: probably wrong or missing.

        Every instance is left out of its own scores; with learned influence they are sharper.

        Parameters
        ----------
        top : int or None
            How many to list; None for every label of every instance.

        Returns
        -------
        frame
            ``id``, ``label``, ``given``, ``probability``, ``suspicion``.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X = [[1.0, 0.0], [1.0, 0.1], [0.9, 0.1], [0.0, 1.0], [0.1, 1.0]]
        >>> y = [{"sea"}, {"sea"}, {"trees"}, {"trees"}, {"trees"}]
        >>> SMLClassifier().fit(X, y).suspicious_labels(top=1)[["id", "label", "given"]]
           id label  given
        0   2   sea  False
        """
        check_is_fitted(self)
        model, references = self._model, self._model.scorer.references
        blocks = training_blocks(model.scorer)
        probabilities = np.concatenate([model.to_probabilities(block.scores) for block in blocks])
        return suspicious_labels(probabilities, references.Y, references.ids, model.labels.classes, top)

    def contradicting_duplicates(self, least: float = 0.95) -> Any:
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
        scorer = self._model.scorer
        return contradicting_duplicates(scorer.references, scorer.similarity, least, scorer.n_jobs)

    def data_values(self, criterion: str = "average_precision") -> FloatArray:
        """What each labelled instance is worth: how much better the others are scored for its being there.

        Exact leave-one-out, with the resolved values held and equal influence; it costs as much as
        scoring every instance once for every other, so it is for thousands of them.

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
        scorer = self._model.scorer
        return data_values(scorer.references, scorer.similarity, scorer.weighting, criterion, scorer.n_jobs)

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
        model, X = self._check_queries(X)  # type: ignore[attr-defined]
        refuse_precomputed(model, "novelty")
        return novelty(model.scorer, model.normalized(X), model.typical_totals)

    def suggest(self, X_pool: Any, n: int = 10) -> npt.NDArray[np.int64]:
        """The unlabelled instances that are most worth a person's time.

        Those whose label set is in doubt, that are typical of the pool, and unlike each other.

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
        model, X = self._check_queries(X_pool)  # type: ignore[attr-defined]
        refuse_precomputed(model, "suggest")
        doubt = uncertainty(model.probabilities(X))
        return suggest(doubt, model.normalized(X), model.scorer.similarity, n, model.scorer.n_jobs)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, for `simlabel.load`.

        Arrays are stored as safetensors, the rest as JSON, all under checksums. The file is written
        beside its place and then renamed: at any moment the old model or the new one is there, whole.
        A similarity, weighting or rule given as a Python function is saved by the name under which it
        was registered (`simlabel.persistence.register`); scikit-learn transformers cannot be saved.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from simlabel import SMLClassifier
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "photos.simlabel"
        >>> SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}]).save(path)
        """
        check_is_fitted(self)
        me: Any = self
        writer = Writer()
        params = {name: writer.encode(value, name) for name, value in me.get_params(deep=False).items()}
        fitted = {name: writer.encode(getattr(self, name), name) for name in _SAVED if hasattr(self, name)}
        model = model_state(self._model, writer)
        state = {"class": type(self).__name__, "params": params, "fitted": fitted, "model": model}
        write_file(path, state, writer.arrays)

    @classmethod
    def _restored(cls, state: dict[str, Any], arrays: Any, mmap: bool) -> Self:
        reader = Reader(arrays)
        made: Any = cls(**{name: reader.decode(value) for name, value in state["params"].items()})
        for name in _SAVED:
            if name in state["fitted"]:
                setattr(made, name, reader.decode(state["fitted"][name]))
        made._publish(restored_model(state["model"], reader, mmap=mmap))
        return made
