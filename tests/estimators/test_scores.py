"""decision_function compares between queries; label_weights are the paper's sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

import naive
from similarity_cases import SIMILARITY_CASES
from simlabel import SMLClassifier
from simlabel.similarities import RBF, Cosine, Function, Linear, OnColumns, Polynomial, Precomputed
from simlabel.sums import CustomWeighting, Cutoff


def problem(rng, n=40, n_queries=12, n_columns=4, n_labels=3):
    Y = (rng.random((n, n_labels)) < 0.4).astype(int)
    return rng.random((n, n_columns)), Y, rng.random((n_queries, n_columns))


@pytest.mark.parametrize("few", [False, True], ids=["many", "few"])
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_a_share_of_all_similarity_where_none_is_negative(case, few, rng):
    X, Y, Q = problem(rng)
    Q = Q[:3] if few else Q
    model = SMLClassifier(case.similarity, normalizer=None).fit(X, Y)
    phis = [[case.phi(q, x) for x in X.tolist()] for q in Q.tolist()]
    sums = np.array(phis) @ Y
    wanted = sums
    if model.similarity_.never_negative(True):  # these features are not below 0
        wanted = sums / np.sum(phis, axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_weights(Q), sums, rtol=1e-7)
    np.testing.assert_allclose(model.decision_function(Q), wanted, rtol=1e-7)


@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_what_is_said_never_to_be_negative_is_not(case, rng):
    rows = rng.random((20, 4)).tolist()
    signed = rng.normal(size=(20, 4)).tolist()
    for known, xs in ((True, rows), (False, rows if case.similarity.nonnegative_input else signed)):
        fitted = case.similarity.fit(np.array(xs))
        if fitted.never_negative(known):
            assert min(case.phi(x, z) for x in xs for z in xs) >= 0


SIGNED = {
    "linear": Linear(),
    "cosine": Cosine(),
    "odd power": Polynomial(3, 0.0),
    "on columns": OnColumns(RBF(1.0), [0]) + OnColumns(Linear(), [1, 2], "zscore"),
    "function": Function(np.dot),
}


@pytest.mark.parametrize("name", SIGNED)
def test_signed_sums_and_learned_scores_stay_as_they_are(name, rng):
    X, Y, Q = problem(rng)
    signed = SMLClassifier(SIGNED[name], normalizer=None).fit(X - 0.5, Y)
    np.testing.assert_array_equal(signed.decision_function(Q - 0.5), signed.label_weights(Q - 0.5))
    learned = SMLClassifier(RBF(2.0), influence="ridge").fit(X, Y)
    np.testing.assert_array_equal(learned.decision_function(Q), learned.label_weights(Q))


def test_signs_are_those_of_the_rows_that_are_there(rng):
    """Adding and forgetting rows with negative features equals a new fit."""
    X, Y, Q = problem(rng)
    model = SMLClassifier(Linear(), normalizer=None).fit(X, Y)
    shares = model.decision_function(Q)
    np.testing.assert_allclose(shares, model.label_weights(Q) / (Q @ X.sum(axis=0))[:, None])
    model.partial_fit(-X[:1], Y[:1], ids=[-1])
    np.testing.assert_array_equal(model.decision_function(Q), model.label_weights(Q))
    np.testing.assert_allclose(model.forget([-1]).decision_function(Q), shares, rtol=1e-12)
    below = model.decision_function(-Q)  # similarities add up to less than nothing
    np.testing.assert_array_equal(below, model.label_weights(-Q))


def test_weightings_and_your_word_decide_too(rng):
    X, Y, Q = problem(rng)

    def compares(similarity, weighting=None):
        model = SMLClassifier(similarity, normalizer=None, weighting=weighting).fit(X - 0.5, Y)
        return not np.allclose(model.decision_function(Q), model.label_weights(Q))

    assert compares(Linear(), Cutoff(0.0))
    assert not compares(Linear(), Cutoff(-1.0))
    assert not compares(RBF(1.0), CustomWeighting(np.sin))
    assert compares(RBF(1.0), "top_k")
    assert compares(Function(lambda a, b: float(a @ b) ** 2, nonnegative=True))
    model = SMLClassifier(Precomputed()).fit(X @ X.T, Y)
    shares = model.label_weights(Q @ X.T) / (Q @ X.T).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.decision_function(Q @ X.T), shares)


@given(data=st.data())
def test_labels_of_a_query_rank_as_their_weights_do(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    X, Y, Q = problem(rng)
    similarity = data.draw(st.sampled_from([RBF(3.0), Linear(), Cosine(), RBF(0.1) + Linear()]))
    influence = data.draw(st.sampled_from(["uniform", "label_mean", "ridge"]))
    shift = data.draw(st.sampled_from([0.0, 0.5]))
    rows = data.draw(st.sampled_from([np.asarray, sp.csr_array]))
    model = SMLClassifier(similarity, influence=influence).fit(rows(X - shift), Y)
    weights, scores = model.label_weights(rows(Q - shift)), model.decision_function(rows(Q - shift))
    apart = weights[:, :, None] - weights[:, None, :]
    clear = np.abs(apart) > 1e-9 * np.abs(weights).max()
    there = scores[:, :, None] - scores[:, None, :]
    np.testing.assert_array_equal(np.sign(there)[clear], np.sign(apart)[clear])


def test_a_query_that_is_like_nothing_has_the_frequencies(rng):
    X, Y, _ = problem(rng)
    model = SMLClassifier(RBF(1000.0), normalizer=None).fit(X, Y)
    far = np.full((20, 4), 100.0)
    for Q in (far, far[:2]):
        assert not model.label_weights(Q).any()
        np.testing.assert_allclose(model.decision_function(Q), np.tile(Y.mean(axis=0), (len(Q), 1)))


def test_scores_order_queries_where_sums_do_not(rng):
    """In a dense region sums are large for every label, but uninformative."""
    thick, thin = rng.normal(0.0, 0.3, (400, 2)), rng.normal(6.0, 1.5, (100, 2))
    X = np.vstack([thick, thin])
    Y = np.vstack([rng.random((400, 1)) < 0.05, rng.random((100, 1)) < 0.95]).astype(int)
    model = SMLClassifier(RBF(1.0), normalizer=None).fit(X[::2], np.hstack([Y, 1 - Y])[::2])
    truth = Y[1::2, 0]
    assert roc_auc_score(truth, model.decision_function(X[1::2])[:, 0]) > 0.75
    assert roc_auc_score(truth, model.label_weights(X[1::2])[:, 0]) < 0.5


@pytest.mark.parametrize("groups", [None, "groups"])
def test_leave_one_out_gives_either(groups, rng):
    X, Y, _ = problem(rng, n=14)
    of = np.arange(14) // 2 if groups else np.arange(14)
    model = SMLClassifier(RBF(2.0), normalizer=None).fit(X, Y, groups=of if groups else None)
    sums, shares = [], []
    for i in range(14):
        phis = np.array([naive.rbf(2.0)(X[i], X[j]) * (of[i] != of[j]) for j in range(14)])
        sums.append(phis @ Y)
        shares.append(phis @ Y / phis.sum())
    np.testing.assert_allclose(model.leave_one_out(), sums, rtol=1e-9)
    np.testing.assert_allclose(model.leave_one_out("decision_function"), shares, rtol=1e-9)
    with pytest.raises(ValueError, match=r"label_weights.*decision_function.*'predict'"):
        model.leave_one_out("predict")
