"""Methods of other packages behind scikit-learn's interface, imported when they are needed."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from league.literature import ProbabilisticClassifier
from simlabel._utils.validation import FloatArray

_BINS = 64  # of each column: as good as 254 on sets of this size, in a fifth of the time
_OMIKUJI_TREES, _OMIKUJI_LABELS = 3, 100  # labels with a score in each row; the others have 0


def lightgbm(seed: int) -> Any:
    """Return LightGBM for one label."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1, deterministic=True, force_row_wise=True)


def xgboost(seed: int) -> Any:
    """Return XGBoost with trees whose leaves have all labels."""
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=100,
        max_depth=4,
        learning_rate=0.1,
        multi_strategy="multi_output_tree",
        tree_method="hist",
        max_bin=_BINS,
        n_jobs=1,
        random_state=seed,
    )


def boomer(seed: int) -> Any:
    """Return BOOMER."""
    from mlrl.boosting import BoomerClassifier

    return BoomerClassifier(random_state=seed + 1)  # it counts from 1


class CatBoost(ProbabilisticClassifier):
    """CatBoost with one model of all labels (MultiLogloss).

    Parameters
    ----------
    depth, random_state : int
    """

    def __init__(self, depth: int = 4, random_state: int = 0) -> None:
        self.depth = depth
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the labels that are not constant, which CatBoost requires."""
        from catboost import CatBoostClassifier

        Y = np.asarray(y)
        self._varying, self._constant = Y.any(axis=0) & ~Y.all(axis=0), Y[:1].astype(np.float64)
        several = self._varying.sum() > 1
        self.model_ = CatBoostClassifier(
            iterations=300,
            depth=self.depth,
            learning_rate=0.1,
            border_count=_BINS,
            loss_function="MultiLogloss" if several else "Logloss",
            thread_count=1,
            random_seed=self.random_state,
            verbose=False,
            allow_writing_files=False,
        )
        varying = Y[:, self._varying]
        self.model_.fit(X, varying if several else varying.ravel())
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label, (n_rows, n_labels)."""
        found = np.asarray(self.model_.predict_proba(X))
        shares = np.repeat(self._constant, len(found), axis=0)
        shares[:, self._varying] = found if self._varying.sum() > 1 else found[:, 1:]
        return shares


class Omikuji(ProbabilisticClassifier):
    """Omikuji's partitioned label trees (Parabel by default), for many labels."""

    def fit(self, X: Any, y: Any) -> Self:
        """Write the rows in the format of the extreme classification repository, and fit on the file."""
        from omikuji import Model

        X, Y = sp.csr_array(X), sp.csr_array(y)
        self._n_labels = Y.shape[1]
        settings = Model.default_hyper_param()
        settings.n_trees = _OMIKUJI_TREES
        rows = io.BytesIO()
        dump_svmlight_file(sp.csr_matrix(X), sp.csr_matrix(Y), rows, multilabel=True)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "train.txt")
            path.write_bytes(f"{X.shape[0]} {X.shape[1]} {self._n_labels}\n".encode() + rows.getvalue())
            with _silent():
                self._model = Model.train_on_data(str(path), settings, 1)
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the score of each label, (n_rows, n_labels)."""
        X = sp.csr_array(X)
        scores = np.zeros((X.shape[0], self._n_labels))
        for i in range(X.shape[0]):
            part = slice(X.indptr[i], X.indptr[i + 1])
            pairs = list(zip(X.indices[part].tolist(), X.data[part].tolist(), strict=True))
            for label, score in self._model.predict(pairs, top_k=min(_OMIKUJI_LABELS, self._n_labels)):
                scores[i, label] = score
        return scores


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Suppress output, also of code that is not Python: omikuji always draws progress bars."""
    saved = [(place, os.dup(place)) for place in (1, 2)]
    try:
        with open(os.devnull, "w") as nowhere:
            for place, _ in saved:
                os.dup2(nowhere.fileno(), place)
            yield
    finally:
        for place, own in saved:
            os.dup2(own, place)
            os.close(own)
