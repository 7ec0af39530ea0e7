import naive_boosting
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel.baselines import BoosTexter


def problem(seed, n_rows=25, n_features=4, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] = rng.integers(0, 4, size=n_rows)  # equal values: no threshold between them
    Y = (X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels)) > 0).astype(int)
    return X, Y


def words(seed, n_rows=30, n_features=6, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.6, size=(n_rows, n_features)).astype(float)
    Y = (X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels)) > 0).astype(int)
    return X, Y


def assert_follows(model, history, rows):
    """Same stump, same confidences, same Z and same scores, round by round."""
    stages = list(model.staged_decision_function(rows))
    assert len(stages) == len(history)
    for t, (expected, scores) in enumerate(zip(history, stages, strict=True)):
        assert model.stump_columns_[t] == expected["column"]
        assert model.stump_thresholds_[t] == pytest.approx(expected["threshold"])
        np.testing.assert_allclose(model.stump_scores_[t], expected["sides"], rtol=1e-9, atol=1e-12)
        assert model.normalizers_[t] == pytest.approx(expected["normalizer"])
        np.testing.assert_allclose(scores, expected["scores"], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_plain_loops_round_by_round(seed, n_jobs):
    X, Y = problem(seed)
    history = naive_boosting.boostexter(X.tolist(), Y.tolist(), 12)
    model = BoosTexter(12, n_jobs=n_jobs).fit(X, Y)
    assert_follows(model, history, X)
    np.testing.assert_array_equal(model.predict(X), np.array(history[-1]["scores"]) > 0)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_words_equal_the_plain_loops_round_by_round(seed, container):
    X, Y = words(seed)
    history = naive_boosting.boostexter(X.tolist(), Y.tolist(), 12, words=True)
    model = BoosTexter(12).fit(container(X), Y)
    assert model.words_
    assert_follows(model, history, container(X))
    assert_follows(model, history, X)  # dense rows are tested for presence too


def test_an_explicit_zero_is_an_absent_word():
    X, Y = words(4)
    stored = sp.csr_array(np.ones_like(X))
    stored.data[:] = X.ravel()
    np.testing.assert_array_equal(
        BoosTexter(5).fit(stored, Y).decision_function(stored),
        BoosTexter(5).fit(sp.csr_array(X), Y).decision_function(sp.csr_array(X)),
    )


def test_of_equal_columns_the_first_is_taken():
    X, Y = problem(7)
    twice = BoosTexter(6).fit(np.hstack([X[:, ::-1], X]), Y)
    once = BoosTexter(6).fit(X[:, ::-1], Y)
    np.testing.assert_array_equal(twice.stump_columns_, once.stump_columns_)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_where_no_column_parts_the_rows_the_scores_follow_how_frequent_a_label_is(container):
    X = container(np.ones((8, 2)))
    Y = np.zeros((8, 3), dtype=int)
    Y[:6, 0], Y[:2, 1] = 1, 1
    scores = BoosTexter(50).fit(X, Y).decision_function(X)
    assert (scores == scores[0]).all()
    assert scores[0, 0] > 0 > scores[0, 1] > scores[0, 2]
    # The exponential loss is lowest at half the log-odds of the share of rows with the label.
    np.testing.assert_allclose(scores[0, :2], [0.5 * np.log(3), -0.5 * np.log(3)], rtol=0.02)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20, deadline=None)
def test_training_hamming_loss_is_bounded_by_the_product_of_normalizers(seed):
    """Theorem 1 of the paper."""
    X, Y = problem(seed)
    model = BoosTexter(15).fit(X, Y)
    bounds = np.cumprod(model.normalizers_)
    for scores, bound in zip(model.staged_decision_function(X), bounds, strict=True):
        assert ((scores > 0) != Y).mean() <= bound + 1e-12


@given(seed=st.integers(0, 10**6), power=st.sampled_from([1.0, 3.0]))
@settings(max_examples=15, deadline=None)
def test_only_the_order_of_values_matters(seed, power):
    X, Y = problem(seed)
    first = BoosTexter(8).fit(X, Y)
    second = BoosTexter(8).fit(np.sign(X) * abs(X) ** power * 7 - 3, Y)
    np.testing.assert_array_equal(second.stump_columns_, first.stump_columns_)
    np.testing.assert_allclose(second.stump_scores_, first.stump_scores_)


def test_neighboring_floats_are_parted():
    low = 1.0
    X = np.array([[low], [np.nextafter(low, 2)]])
    model = BoosTexter(5).fit(X, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(model.predict(X), [[1, 0], [0, 1]])


def test_the_last_stage_is_the_decision_function_in_blocks(change_limits):
    X, Y = problem(9)
    model = BoosTexter(20).fit(X, Y)
    change_limits(block_rows=7)
    *_, last = model.staged_decision_function(X)
    np.testing.assert_allclose(model.decision_function(X), last)
    binary = BoosTexter(20).fit(X, Y[:, 0])
    *_, last = binary.staged_decision_function(X)
    np.testing.assert_allclose(binary.decision_function(X), last)


def test_verbose_shows_a_bar(capsys):
    X, Y = problem(1)
    BoosTexter(2, verbose=True).fit(X, Y)
    assert "BoosTexter" in capsys.readouterr().err


@pytest.mark.parametrize("n_rounds", [0, 1.5, True, "many"])
def test_bad_settings(n_rounds):
    X, Y = problem(0)
    with pytest.raises(ValueError, match=r"BoosTexter: n_rounds must be a whole number of at least 1, got"):
        BoosTexter(n_rounds).fit(X, Y)
