"""Similarities of a user's own, and what is made of them, are as good as those that come with the package."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from simlabel import SMLClassifier
from simlabel.similarities import (
    RBF,
    SIMILARITIES,
    Function,
    Grid,
    OnColumns,
    Polynomial,
    Precomputed,
    Scaled,
    Similarity,
)

Y = np.array([[1, 0], [0, 1], [1, 1], [0, 1], [1, 0]] * 4)


class Shrunk(Similarity):
    """A multiple of the inner product."""

    form = "dot"

    def __init__(self, share="auto"):
        self.share = share

    def finish(self, T, q_side, x_side):
        return T * self.share


class Vouched(Shrunk):
    positive_definite = True


class Searched(Vouched):
    def grids(self, X, sample_weight, seed):
        return {"share": Grid((0.5, 1.0))} if self.share == "auto" else {}


def letters(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


@pytest.mark.parametrize("make", [*SIMILARITIES.classes.values(), lambda: Polynomial("auto", "auto")])
def test_every_attribute_can_be_looked_at_before_fit(make):
    similarity = make()
    for name in dir(similarity):
        getattr(similarity, name)


def test_the_notebook_view_of_a_fitted_model(rng):
    model = SMLClassifier(RBF()).fit(rng.random((20, 3)), Y)
    assert "RBF" in model._repr_html_()


def test_a_matrix_can_be_vouched_for(rng):
    X, Q = rng.random((20, 3)), rng.random((4, 3))
    S, to_queries = (np.exp(-2.0 * ((A[:, None] - X[None]) ** 2).sum(axis=2)) for A in (X, Q))
    with pytest.raises(ValueError, match=r"needs a positive definite .* positive_definite=True in Precomp"):
        SMLClassifier(Precomputed(), influence="ridge").fit(S, Y)
    given = SMLClassifier(Precomputed(positive_definite=True), influence="ridge").fit(S, Y)
    same = SMLClassifier(RBF(2.0), normalizer=None, influence="ridge").fit(X, Y)
    np.testing.assert_allclose(given.label_weights(to_queries), same.label_weights(Q), rtol=1e-6)


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.parametrize("around", [lambda s: s, lambda s: s + RBF(), lambda s: 2 * OnColumns(s, [0, 1])])
def test_what_is_open_without_candidates_is_refused_by_fit(around, influence, rng):
    X = rng.random((20, 3))
    with pytest.raises(
        ValueError, match=r"share='auto', but no values to try for it: .*grids\(X, sample_weight"
    ):
        SMLClassifier(around(Vouched()), influence=influence).fit(X, Y)
    searched = SMLClassifier(around(Searched()), influence=influence).fit(X, Y)
    assert any(name.endswith("share") for name in searched.tuning_.best)


def test_a_multiple_of_a_similarity(rng):
    X, Q = rng.random((20, 3)), rng.random((4, 3))
    plain, twice = (SMLClassifier(one).fit(X, Y) for one in (RBF(3.0), np.float64(2.0) * RBF(3.0)))
    assert repr(twice.similarity_) == repr(RBF(3.0) * 2.0) == repr(Scaled(RBF(3.0), 2.0))
    np.testing.assert_allclose(twice.label_weights(Q), 2 * plain.label_weights(Q), rtol=1e-12)
    assert SMLClassifier(2 * RBF()).fit(X, Y).tuning_.best.keys() == {"similarity__gamma"}
    assert (2 * RBF()).positive_definite
    assert not (2 * Function(letters)).positive_definite


@pytest.mark.parametrize("factor", [0, -1.0, "two", np.nan])
def test_a_multiple_that_is_no_similarity(factor):
    with pytest.raises((TypeError, ValueError), match="factor"):
        SMLClassifier(RBF() * factor).fit(np.eye(2), [{"a"}, {"b"}])
    with pytest.raises(ValueError, match="multiply the matrix itself"):
        SMLClassifier(2 * Precomputed()).fit(np.eye(2), [{"a"}, {"b"}])


def test_a_large_factor_is_not_for_float32(rng):
    X = rng.random((20, 3)).astype(np.float32)
    assert np.isfinite(SMLClassifier(1e60 * RBF(1.0)).fit(X, Y).label_weights(X)).all()


def test_sums_and_multiples_of_functions_compare_objects():
    model = SMLClassifier(2 * Function(letters) + Function(letters)).fit(
        ["sea", "tree"], [{"water"}, {"plant"}]
    )
    assert model.predict(["trees"]) == [{"plant"}]


@pytest.mark.parametrize("form", [pd.DataFrame, lambda rows: rows.values.tolist()])
def test_text_in_columns_is_refused_in_words(form):
    rows = pd.DataFrame({"height": [1.0, 2.0], "story": ["12", "a tree"]})
    X = rows if form is pd.DataFrame else form(rows)
    column = "story" if form is pd.DataFrame else 1
    words = rf"text \(first at row 1, column {column!r}: 'a tree'\).*Function\(...\).*without OnColumns"
    with pytest.raises(ValueError, match=words):
        SMLClassifier(OnColumns(Function(letters), [1]) + OnColumns(RBF(), [0])).fit(X, [{"a"}, {"b"}])


def test_text_after_a_missing_value_is_refused_in_words():
    X = np.array([[None, "abc"], [1, 2]], dtype=object)
    with pytest.raises(ValueError, match=r"text \(first at row 0, column 1: 'abc'\)"):
        SMLClassifier().fit(X, [{"a"}, {"b"}])
