"""sample_weight of the baselines: a weight means repetition, and constant labels and memory of Rank-SVM."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from simlabel.baselines import ADTBoostMH, BoosTexter, MLkNN, RankSVM

BASELINES = [MLkNN(3), BoosTexter(15), ADTBoostMH(8), RankSVM(degree=2, tol=1e-9), RankSVM("rbf", tol=1e-9)]


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(30, 3))
    Y = (X @ rng.normal(size=(3, 4)) + rng.normal(size=(30, 4)) > 0).astype(np.int64)
    return X, Y, rng.normal(size=(20, 3)), rng.integers(0, 4, 30)


@pytest.mark.parametrize("baseline", BASELINES, ids=["mlknn", "boostexter", "adtboost", "poly", "rbf"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("twice", [False, True], ids=["any", "all twice"])
def test_a_weight_counts_as_that_many_rows(baseline, sparse, twice, rows):
    X, Y, Q, weights = rows
    weights = np.full(30, 2) if twice else weights
    if sparse:
        X, Q = (sp.csr_array(np.where(each > 0, each, 0.0)) for each in (X, Q))
    copies = np.repeat(np.arange(30), weights)
    model = clone(baseline).fit(X, Y, sample_weight=weights)
    again = clone(baseline).fit(X[copies], Y[copies])
    # the dual solution is found up to its gap
    within = {"rtol": 1e-2, "atol": 1e-3} if isinstance(baseline, RankSVM) else {"rtol": 1e-9}
    np.testing.assert_allclose(model.decision_function(Q), again.decision_function(Q), **within)
    assert (
        not np.allclose(model.decision_function(Q), clone(baseline).fit(X, Y).decision_function(Q)) or twice
    )


@pytest.mark.parametrize("baseline", BASELINES, ids=["mlknn", "boostexter", "adtboost", "poly", "rbf"])
def test_rows_without_weight_are_not_there_nor_are_labels_that_only_they_have(baseline, rows):
    X, Y, Q, _ = rows
    y = [{"abcd"[k] for k in np.flatnonzero(row)} for row in Y]
    y[0] = {"only here"}
    model = clone(baseline).fit(X, y, sample_weight=[0.0] + [1.0] * 29)
    assert model.classes_.tolist() == list("abcd")
    assert model.predict(Q) == clone(baseline).fit(X[1:], y[1:]).predict(Q)


def test_weights_of_any_size_where_pairs_are_weighted_and_whole_numbers_where_neighbors_are_counted(rows):
    X, Y, Q, _ = rows
    half = BoosTexter(10).fit(X, Y, sample_weight=np.full(30, 0.5))
    assert half.predict(Q).shape == (20, 4)
    with pytest.raises(ValueError, match=r"sample_weight must hold whole numbers, got 0\.5"):
        MLkNN().fit(X, Y, sample_weight=np.full(30, 0.5))
    for baseline in BASELINES:
        with pytest.raises(ValueError, match="row 1 has -1"):
            clone(baseline).fit(X, Y, sample_weight=[1.0, -1.0] + [1.0] * 28)


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
def test_a_constant_label_has_no_part_in_the_thresholds_of_rank_svm(constant, kernel, rows):
    X, Y, Q, _ = rows
    padded = np.column_stack([Y, np.full(30, constant)])
    model = RankSVM(kernel, degree=2).fit(X, padded)
    assert abs(model.threshold_coef_).max() < 100  # up to 1e11 where rounding is taken for variation
    assert (model.predict(Q)[:, -1] == constant).all()
    sizes = model.predict(Q)[:, :4].sum(axis=1)
    assert abs(sizes.mean() - RankSVM(kernel, degree=2).fit(X, Y).predict(Q).sum(axis=1).mean()) < 1


def test_rank_svm_raises_before_it_runs_out_of_memory():
    X, Y = np.zeros((3_000_000, 1), dtype=np.float32), np.tile([[1, 0]], (3_000_000, 1))
    with pytest.raises(MemoryError, match=r"3,000,000 rows need 72,\d{3},\d{3},\d{3},\d{3} bytes") as raised:
        RankSVM().fit(X, Y)
    assert "Fit on fewer rows: at most about" in str(raised.value)
