"""Methods of other packages behind scikit-learn's interface, imported when they are fitted."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin

from simlabel._utils.validation import FloatArray

_BINS = 64  # of each column: as good as 254 on sets of this size, in a fifth of the time


class _Probabilistic(ClassifierMixin, BaseEstimator):
    """A method that gives probabilities, and predicts labels above one half."""

    def predict_proba(self, X: Any) -> FloatArray:
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Labels whose probability is above one half, (n_rows, n_labels)."""
        return (self.predict_proba(X) > 0.5).astype(np.int8)


class CatBoost(_Probabilistic):
    """CatBoost with one model of all labels (MultiLogloss).

    Parameters
    ----------
    iterations, depth : int
    learning_rate : float
    n_jobs : int
    random_state : int
    """

    def __init__(
        self,
        iterations: int = 300,
        depth: int = 4,
        learning_rate: float = 0.1,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.iterations = iterations
        self.depth = depth
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn labels that vary; the others stay what they are."""
        from catboost import CatBoostClassifier

        Y = np.asarray(y)
        self._varying, self._constant = Y.any(axis=0) & ~Y.all(axis=0), Y[:1].astype(np.float64)
        several = self._varying.sum() > 1
        self.model_ = CatBoostClassifier(
            iterations=self.iterations,
            depth=self.depth,
            learning_rate=self.learning_rate,
            border_count=_BINS,
            loss_function="MultiLogloss" if several else "Logloss",
            thread_count=self.n_jobs,
            random_seed=self.random_state,
            verbose=False,
            allow_writing_files=False,
        )
        varying = Y[:, self._varying]
        self.model_.fit(X, varying if several else varying.ravel())
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each label, (n_rows, n_labels)."""
        found = np.asarray(self.model_.predict_proba(X))
        shares = np.repeat(self._constant, len(found), axis=0)
        shares[:, self._varying] = found if self._varying.sum() > 1 else found[:, 1:]
        return shares


class XGBoost(_Probabilistic):
    """XGBoost with trees whose leaves hold all labels (multi_output_tree).

    Parameters
    ----------
    n_estimators, max_depth : int
    learning_rate : float
    n_jobs : int
    random_state : int
    """

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int = 4,
        learning_rate: float = 0.1,
        n_jobs: int = 1,
        random_state: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn all labels in one ensemble."""
        from xgboost import XGBClassifier

        Y = np.asarray(y, dtype=np.int64)
        self._n_labels = Y.shape[1]
        self.model_ = XGBClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            multi_strategy="multi_output_tree",
            tree_method="hist",
            max_bin=_BINS,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
        )
        self.model_.fit(X, Y)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each label, (n_rows, n_labels)."""
        found = np.asarray(self.model_.predict_proba(X), dtype=np.float64)
        return found[:, -1:] if self._n_labels == 1 else found


class Omikuji(_Probabilistic):
    """Omikuji's partitioned label trees (Parabel by default), for many labels.

    Parameters
    ----------
    n_trees : int
    n_jobs : int
    most : int
        Labels with a score in each row; the others have 0.
    """

    def __init__(self, n_trees: int = 3, n_jobs: int = 1, most: int = 100) -> None:
        self.n_trees = n_trees
        self.n_jobs = n_jobs
        self.most = most

    def fit(self, X: Any, y: Any) -> Self:
        """Write the rows in the format of the extreme classification repository, and learn from the file."""
        from omikuji import Model

        X, Y = sp.csr_array(X), sp.csr_array(y)
        self._n_labels = Y.shape[1]
        settings = Model.default_hyper_param()
        settings.n_trees = self.n_trees
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "train.txt")
            _write(Path(path), X, Y)
            with _silent():
                self._model = Model.train_on_data(path, settings, self.n_jobs)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Score of each label, (n_rows, n_labels)."""
        X = sp.csr_array(X)
        scores = np.zeros((X.shape[0], self._n_labels))
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
            for label, score in self._model.predict(pairs, top_k=min(self.most, self._n_labels)):
                scores[i, label] = score
        return scores


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress output, also of code that is not Python: omikuji always draws progress bars."""
    kept = [(place, os.dup(place)) for place in (1, 2)]
    try:
        with open(os.devnull, "w") as nowhere:
            for place, _ in kept:
                os.dup2(nowhere.fileno(), place)
            yield
    finally:
        for place, own in kept:
            os.dup2(own, place)
            os.close(own)


def _write(path: Path, X: sp.csr_array, Y: sp.csr_array) -> None:
    lines = [f"{X.shape[0]} {X.shape[1]} {Y.shape[1]}"]
    for i in range(X.shape[0]):
        labels = ",".join(map(str, sorted(Y.indices[Y.indptr[i] : Y.indptr[i + 1]].tolist())))
        part = slice(X.indptr[i], X.indptr[i + 1])
        features = sorted(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
        lines.append(f"{labels} " + " ".join(f"{place}:{value:.9g}" for place, value in features))
    path.write_text("\n".join(lines) + "\n")
