"""Leave-one-out with a vocabulary: as if the vocabulary had been learned without the row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.preprocessing import normalize

from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel.ridge import LinearRidge, Ridge, linear_form
from simlabel.similarities import RBF, Cosine, Linear, Polynomial

WORDS = [f"{a}{b}" for a in "bdfgklmnpr" for b in "aeiou"]


def random_texts(rng, n):
    """Return texts in which many words occur in one text only."""
    chance = 1.0 / np.arange(1, len(WORDS) + 1)
    return [" ".join(rng.choice(WORDS, 6, p=chance / chance.sum())) for _ in range(n)]


def loo_scores(model):
    """Return the leave-one-out scores of the solution."""
    return model._model.scorer.solved.loo_scores[:, : len(model.classes_)]


def plain_model(similarity, penalty, **settings):
    return SMLClassifier(
        similarity,
        influence=Ridge(penalty, vocabulary=True, **settings),
        calibration=None,
        tuning="validation",
    )


@given(seed=st.integers(0, 10**6), similarity=st.sampled_from([Cosine(), RBF(0.8), Polynomial(2, 1.0)]))
def test_leave_one_out_treats_a_row_as_a_new_text(seed, similarity):
    rng = np.random.default_rng(seed)
    texts, Y = random_texts(rng, 12), (rng.random((12, 3)) < 0.4).astype(int)
    X = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float))
    found = loo_scores(plain_model(similarity, 0.3).fit(X, Y))
    for i in range(12):
        rest = np.arange(12) != i
        reader = CountVectorizer().fit([text for text, there in zip(texts, rest, strict=True) if there])
        # the others have all their words; the query has those that they know
        known = np.isin(np.array(sorted(set(" ".join(texts).split()))), reader.get_feature_names_out())
        queries = sp.csr_array(X[[i]].toarray() * known)
        # sizes and labels that the row alone has are no columns without it
        without = SMLClassifier(similarity, influence=Ridge(0.3), calibration=None).fit(X[rest], Y[rest])
        np.testing.assert_allclose(found[i], without.label_weights(queries)[0], rtol=1e-9, atol=1e-9)


@given(seed=st.integers(0, 10**6))
def test_group_is_left_out_with_its_own_words(seed):
    rng = np.random.default_rng(seed)
    texts, Y, groups = random_texts(rng, 12), (rng.random((12, 2)) < 0.5).astype(int), rng.integers(0, 4, 12)
    groups[:2] = 0, 1  # at least two groups
    X = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float))
    found = loo_scores(plain_model(RBF(0.8), 0.3).fit(X, Y, groups=groups))
    for i in range(12):
        rest = groups != groups[i]
        known = np.asarray(X[rest].sum(axis=0)).ravel() > 0
        without = SMLClassifier(RBF(0.8), influence=Ridge(0.3), calibration=None).fit(X[rest], Y[rest])
        queries = sp.csr_array(X[[i]].toarray() * known)
        np.testing.assert_allclose(found[i], without.label_weights(queries)[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize(
    "similarity", [Cosine(), Linear(), Polynomial(1, 2.0), 3.0 * Polynomial(1, 2.0)], ids=repr
)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5)
def test_factor_equals_the_closed_form(similarity, grouped, seed, changed_limits):
    rng = np.random.default_rng(seed)
    texts, Y = random_texts(rng, 40), (rng.random((40, 3)) < 0.4).astype(int)
    groups = rng.integers(0, 15, 40) if grouped else None
    X = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float))
    wanted = loo_scores(plain_model(similarity, 0.3).fit(X, Y, groups=groups))
    with changed_limits(exact_bytes=0, sketched_columns=6):
        found = plain_model(similarity, 0.3).fit(X, Y, groups=groups)
    np.testing.assert_allclose(loo_scores(found), wanted, atol=1e-3)  # the factor is in single precision


@pytest.mark.parametrize("similarity", [Cosine(), Polynomial(1, 2.0)], ids=repr)
def test_iteration_leaves_out_folds_with_their_own_words(similarity, changed_limits):
    rng = np.random.default_rng(6)
    texts, Y = random_texts(rng, 40), (rng.random((40, 3)) < 0.4).astype(float)
    X = sp.csr_array(normalize(CountVectorizer().fit_transform(texts).astype(float)))
    with changed_limits(exact_bytes=0, sketched_columns=6, factor_bytes=0):
        ridge = LinearRidge(linear_form(similarity, X), X, sp.csr_array(Y), np.ones(40), 0.3, vocabulary=True)
        found = ridge.solution().loo_scores
    constant = 2.0 if isinstance(similarity, Polynomial) else 0.0
    for fold in ridge.folds():
        rest = X[~fold].toarray()
        queries = normalize(X[fold].toarray() * (rest > 0).any(axis=0))
        S, mean = rest @ rest.T + constant, Y[~fold].mean(axis=0)
        V = np.linalg.solve(S + 0.3 * np.eye(len(rest)), Y[~fold] - mean)
        np.testing.assert_allclose(found[fold], (queries @ rest.T + constant) @ V + mean, atol=0.02)


def test_weights_are_copies_which_share_their_words():
    rng = np.random.default_rng(0)
    texts, Y = random_texts(rng, 10), (rng.random((10, 2)) < 0.5).astype(int)
    X, weights = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float)), np.arange(10) % 3 + 1
    weighted = loo_scores(plain_model(RBF(0.8), 0.3).fit(X, Y, sample_weight=weights.astype(float)))
    copied = loo_scores(
        plain_model(RBF(0.8), 0.3).fit(X[np.repeat(np.arange(10), weights)], np.repeat(Y, weights, 0))
    )
    np.testing.assert_allclose(np.repeat(weighted, weights, axis=0), copied, rtol=1e-9, atol=1e-9)


def test_teaching_and_forgetting_equal_a_fresh_fit():
    rng = np.random.default_rng(1)
    texts, Y = random_texts(rng, 40), (rng.random((40, 3)) < 0.4).astype(int)
    X = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float))
    model = plain_model(RBF(0.8), 0.3).fit(X[:25], Y[:25])
    for part in (slice(25, 32), slice(32, 40)):
        model.partial_fit(X[part], Y[part])
    model.forget(list(range(5)))
    fresh = plain_model(RBF(0.8), 0.3).fit(X[5:], Y[5:])
    np.testing.assert_allclose(model.leave_one_out(), fresh.leave_one_out(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.label_weights(X), fresh.label_weights(X), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("mmap", [False, True])
def test_saved_model(mmap, tmp_path):
    rng = np.random.default_rng(5)
    texts, Y = random_texts(rng, 30), (rng.random((30, 3)) < 0.4).astype(int)
    X = sp.csr_array(CountVectorizer().fit_transform(texts).astype(float))
    model = plain_model(RBF(0.8), 0.3, mixing=True).fit(X[:25], Y[:25])
    model.save(tmp_path / "texts")
    again = load(tmp_path / "texts", mmap=mmap)
    np.testing.assert_allclose(again.leave_one_out(), model.leave_one_out(), rtol=1e-12)
    for each in (again, model):
        each.partial_fit(X[25:], Y[25:])
    np.testing.assert_allclose(again.leave_one_out(), model.leave_one_out(), rtol=1e-9)


def test_dense_rows_have_no_words():
    rng = np.random.default_rng(2)
    X, Y = np.eye(8) + rng.random((8, 8)), (rng.random((8, 2)) < 0.5).astype(int)
    np.testing.assert_array_equal(
        loo_scores(plain_model(RBF(0.8), 0.3).fit(X, Y)),
        loo_scores(SMLClassifier(RBF(0.8), influence=Ridge(0.3)).fit(X, Y)),
    )


@pytest.mark.parametrize(
    ("reader", "words"), [(CountVectorizer(), True), (HashingVectorizer(n_features=4096), False)]
)
def test_auto_detects_a_vocabulary(reader, words):
    rng = np.random.default_rng(3)
    texts = random_texts(rng, 120)
    Y = np.array([[word in text for word in ("ba", "be", "bi")] for text in texts]).astype(int)
    X = sp.csr_array(reader.fit_transform(texts).astype(float))
    assert AutoSMLClassifier(random_state=0).fit(X, Y).influence_.vocabulary is words


def test_scores_of_new_and_left_out_rows_have_the_same_spread():
    """Half of the words of a text occur in no other; each label has words that indicate it."""
    rng = np.random.default_rng(4)

    def drawn(n, first):
        shared = rng.integers(0, 30, (n, 5))
        own = [[f"own{first + i}x{j}" for j in range(5)] for i in range(n)]
        words = [[*map("word{}".format, row), *mine] for row, mine in zip(shared, own, strict=True)]
        speaks = (shared[:, :, None] // 3 == np.arange(10)).sum(axis=1)
        return [" ".join(row) for row in words], (rng.random(speaks.shape) < 0.4 * speaks).astype(int)

    (texts, Y), (new, _) = drawn(300, 0), drawn(1000, 300)
    reader = CountVectorizer().fit(texts)
    X, Q = (sp.csr_array(reader.transform(some).astype(float)) for some in (texts, new))

    def louder(vocabulary):
        """By how much scores of new rows spread more than those of rows that were left out."""
        model = SMLClassifier("cosine", influence=Ridge(0.3, vocabulary=vocabulary)).fit(X, Y)
        return model.label_weights(Q).std() / model.leave_one_out().std() - 1.0

    assert abs(louder(True)) < 0.05 < 0.2 < louder(False)
