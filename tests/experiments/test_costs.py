"""The memory and the processor time of a fold."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from simlabel.experiments import KFolds, compare
from simlabel.experiments._memory import peak_mib, resident_mib


def test_memory_is_measured_relative_to_the_start():
    before = resident_mib(start_anew=True)
    if before is None:
        pytest.skip("this system does not report memory")
    block = np.ones(40 * 2**20 // 8)
    assert 35 < peak_mib(before) < 400
    assert block.sum() > 0


def test_processor_seconds_are_recorded(made):
    (folds,) = compare(made, {"knn": KNeighborsClassifier(3)}, KFolds(2)).results.values()
    assert all(0 <= fold.cpu_seconds < 60 for fold in folds)
