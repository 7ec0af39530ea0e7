"""Leave-one-out figures against plain loops and scikit-learn, and words that rows share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import f1_score

from simlabel.metrics import average_precision
from simlabel.model.inspection import loo_quality, shared_words, suspicious_labels

SHAPE = (6, 3)
TRUTHS = hnp.arrays(bool, SHAPE)
PROBABLE = hnp.arrays(float, SHAPE, elements=st.floats(0.001, 0.999))


def suspects(P, Y, unknown=None):
    ids, labels = np.arange(len(P)), np.array(["a", "b", "c"])
    return suspicious_labels(P, Y, ids, labels, unknown=unknown)


@settings(deadline=None, max_examples=50)
@given(Y=TRUTHS, P=PROBABLE)
def test_figures_are_those_of_the_left_out_probabilities(Y, P):
    found = loo_quality(suspects(P, Y.astype(int)))
    said, used = P >= 0.5, Y.any(axis=0)
    assert (found.rows, found.labels) == (len(Y), used.sum())
    assert found.f1_micro == pytest.approx(f1_score(Y, said, average="micro", zero_division=0.0))
    each = f1_score(Y, said, average=None, zero_division=0.0)
    assert found.by_label == pytest.approx(dict(zip("abc", each, strict=True)))
    assert found.f1_macro == pytest.approx(each[used].mean() if used.any() else 0.0)
    ranked = Y.any(axis=1) & ~Y.all(axis=1)
    assert (found.average_precision is None) == (not ranked.any())
    if ranked.any():
        assert found.average_precision == pytest.approx(average_precision(Y[ranked], P[ranked]))
    assert sum(one["n"] for one in found.calibration) == P.size
    assert sum(one["n"] * one["said"] for one in found.calibration) == pytest.approx(P.sum())
    assert sum(one["n"] * one["true"] for one in found.calibration) == pytest.approx(Y.sum())


def test_what_is_unknown_counts_in_no_figure(rng):
    import scipy.sparse as sp

    P, Y = rng.random((8, 3)), rng.random((8, 3)) < 0.5
    hidden = np.zeros((8, 3))
    hidden[:, 2] = [1, 1, 1, 0, 0, 0, 0, 0]
    found = loo_quality(suspects(P, Y.astype(int), sp.csr_array(hidden)))
    assert sum(one["n"] for one in found.calibration) == 21
    assert found.by_label["c"] == pytest.approx(f1_score(Y[3:, 2], P[3:, 2] >= 0.5, zero_division=0.0))
    assert found.by_label["a"] == pytest.approx(f1_score(Y[:, 0], P[:, 0] >= 0.5, zero_division=0.0))


def test_words_are_shared_whatever_cells_hold_them():
    one = {"plot": "A SHARK hunts", "tags": ["sea", "fear"], "year": 1975, "none": None}
    other = {"text": "the sea, a shark; hunts nobody"}
    assert shared_words(one, other) == ["hunts", "shark", "sea"]
    assert shared_words(one, other, ["sea breeze"], most=2) == ["sea", "hunts"]
    assert shared_words(one, {}) == []
