"""The memory and the processor time of a fold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from simlabel.experiments import KFolds, compare


class Large(KNeighborsClassifier):
    """Allocates 40 MiB in fit."""

    def fit(self, X, y):
        assert np.ones(40 * 2**20 // 8).sum() > 0
        return super().fit(X, y)


def test_memory_is_measured_relative_to_the_start(made):
    (folds,) = compare(made, {"large": Large()}, KFolds(2)).results.values()
    if folds[0].peak_mib is None:
        pytest.skip("this system does not report memory")
    assert all(35 < fold.peak_mib < 400 for fold in folds)


def test_processor_seconds_are_recorded(made):
    (folds,) = compare(made, {"knn": KNeighborsClassifier(3)}, KFolds(2)).results.values()
    assert all(0 <= fold.cpu_seconds < 60 for fold in folds)
