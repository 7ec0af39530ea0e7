from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from simlabel import metrics
from simlabel.metrics import MORE_CRITERIA, evaluate, find_criterion


def naive_f1(hits, true, predicted):
    return 2 * hits / (true + predicted) if true + predicted else None


def top_labels(scores, labels, k):
    """The first k labels; among equals false ones come first."""
    return sorted(range(len(scores)), key=lambda label: (-scores[label], label in labels))[:k]


def naive_psp(F, sets, k, propensity):
    reached = best = 0.0
    for scores, labels in zip(F, sets, strict=True):
        reached += sum(1 / propensity[label] for label in top_labels(scores, labels, k) if label in labels)
        best += sum(sorted((1 / propensity[label] for label in labels), reverse=True)[:k])
    return reached / best


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(1, 6), ties=st.booleans())
def test_equal_the_loops(seed, n_labels, ties):
    rng = np.random.default_rng(seed)
    Y = (rng.random((11, n_labels)) < 0.4).astype(int)
    P = (rng.random((11, n_labels)) < 0.4).astype(int)
    F = rng.integers(0, 3, Y.shape).astype(float) if ties else rng.random(Y.shape)
    true, predicted = ([set(np.flatnonzero(row)) for row in array] for array in (Y, P))
    pairs = list(zip(true, predicted, strict=True))
    assert metrics.subset_accuracy(Y, P) == pytest.approx(np.mean([t == p for t, p in pairs]))
    by_instance = [naive_f1(len(t & p), len(t), len(p)) for t, p in pairs]
    expected = np.mean([1.0 if value is None else value for value in by_instance])
    assert metrics.f1_instance(Y, P) == pytest.approx(expected)
    labels = [naive_f1(int((Y[:, j] & P[:, j]).sum()), Y[:, j].sum(), P[:, j].sum()) for j in range(n_labels)]
    labels = [value for value in labels if value is not None]
    assert metrics.f1_macro(Y, P) == pytest.approx(np.mean(labels) if labels else math.nan, nan_ok=True)
    micro = naive_f1(int((Y & P).sum()), Y.sum(), P.sum())
    assert metrics.f1_micro(Y, sp.csr_matrix(P)) == pytest.approx(
        math.nan if micro is None else micro, nan_ok=True
    )
    propensity = metrics.propensities(Y)
    for k in range(1, n_labels + 1):
        hits = [len(set(top_labels(f, t, k)) & t) / k for f, t in zip(F, true, strict=True)]
        assert metrics.precision_at(Y, F, k) == pytest.approx(np.mean(hits))
        np.testing.assert_allclose(find_criterion(f"precision@{k}").rows(Y, F), hits)
        if Y.any():
            psp = metrics.propensity_scored_precision_at(Y, F, k, propensity)
            assert psp == pytest.approx(naive_psp(F, true, k, propensity))


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(2, 6), ties=st.booleans())
def test_ndcg_equals_scikit_learn_row_by_row(seed, n_labels, ties):
    rng = np.random.default_rng(seed)
    Y = (rng.random((9, n_labels)) < 0.5).astype(int)
    F = rng.integers(0, 3, Y.shape).astype(float) if ties else rng.random(Y.shape)
    for k in (1, n_labels):
        rows = find_criterion(f"ndcg@{k}").rows(Y, F)
        expected = [sk.ndcg_score(Y[[i]], F[[i]], k=k) if Y[i].any() else math.nan for i in range(len(Y))]
        np.testing.assert_allclose(rows, expected)
        if Y.any():
            assert metrics.ndcg_at(Y, F, k) == pytest.approx(np.nanmean(expected))


def test_propensities_by_hand():
    # n = 100 rows, a label on 10 of them: C = (ln 100 - 1) * 2.5^0.55, p = 1 / (1 + C * 11.5^-0.55)
    Y = np.zeros((100, 2), dtype=int)
    Y[:10, 0] = 1
    constant = (math.log(100) - 1) * 2.5**0.55
    expected = [1 / (1 + constant * 11.5**-0.55), 1 / (1 + constant * 1.5**-0.55)]
    np.testing.assert_allclose(metrics.propensities(Y), expected)


def test_evaluate_takes_any_of_them_and_counts_what_is_undefined(rng):
    Y = np.vstack([(rng.random((30, 6)) < 0.4).astype(int), np.zeros((2, 6), dtype=int)])
    F = rng.random(Y.shape)
    result = evaluate(Y, Y, F, criteria=MORE_CRITERIA, propensity=metrics.propensities(Y))
    assert list(result.values) == list(MORE_CRITERIA)
    assert result["subset_accuracy"] == 1.0
    assert result["f1_instance"] == 1.0
    empty = int((Y.sum(axis=1) == 0).sum())
    assert result.undefined["ndcg@3"] == empty >= 2
    assert result.undefined["precision@3"] == 0
    assert all(find_criterion(name).higher_is_better for name in MORE_CRITERIA)


def test_blocks_do_not_show(change_limits, rng):
    Y, F = (rng.random((50, 6)) < 0.4).astype(int), rng.random((50, 6))
    names, propensity = [name for name in MORE_CRITERIA if "@" in name], metrics.propensities(Y)
    whole = evaluate(Y, Y, F, criteria=names, propensity=propensity).values
    change_limits(block_entries=20)
    assert evaluate(Y, Y, F, criteria=names, propensity=propensity).values == pytest.approx(whole)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match="unknown criterion 'precision@0'"):
        evaluate([[1, 0]], [[1, 0]], [[1.0, 0.0]], criteria=["precision@0"])
    with pytest.raises(ValueError, match="k is 5, but there are only 2 labels"):
        metrics.precision_at([[1, 0]], [[1.0, 0.0]], 5)
    for k in (None, "1"):
        with pytest.raises(ValueError, match="k must be"):
            metrics.precision_at([[1, 0]], [[1.0, 0.0]], k)
    with pytest.raises(ValueError, match=r"psp@1 needs the propensities"):
        evaluate([[1, 0]], [[1, 0]], [[1.0, 0.0]], criteria=["psp@1"])
    with pytest.raises(ValueError, match=r"Y_pred has shape \(1, 3\)"):
        metrics.f1_macro([[1, 0]], [[1, 0, 0]])
