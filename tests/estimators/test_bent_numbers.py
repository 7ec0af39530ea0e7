"""Numbers of a small table are compared by an RBF if that improves scores, and by splines otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from simlabel import SMLClassifier, Tagger, load
from simlabel.similarities import Linear


def signs(n, seed):
    """Return two numbers that only together determine a label, a word for another label, and empty cells."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(rng.normal(size=(n, 2)), columns=["gamma", "b"])
    table["penalty"] = rng.choice(["red apple pie", "green pear tart", "blue plum cake now"], n)
    y = [
        {"alike" if a * b > 0 else "unlike", *({"red"} if "red" in word else ())}
        for a, b, word in table.itertuples(index=False)
    ]
    table.loc[::17, "b"] = None
    return table, y


@pytest.fixture(scope="module")
def rbf_block():
    return Tagger({"penalty": "text"}).fit(*signs(150, 0))


def test_what_only_an_rbf_sees_is_seen(rbf_block, changed_limits):
    X, y = signs(100, 1)
    with changed_limits(exact_bytes=24 * 100**2):  # matrices of 100 rows, and no more
        straight = Tagger({"penalty": "text"}).fit(*signs(150, 0))
    assert isinstance(straight.similarity_, Linear)
    assert rbf_block.score(X, y) > straight.score(X, y) + 0.1
    said = [dict(each.describe().facts)["similarity"] for each in (rbf_block, straight)]
    assert "RBF" in said[0]
    assert "splines" in said[1]
    assert len(said[0]) < 100


def test_a_column_may_be_called_as_a_value_that_is_chosen(rbf_block):
    assert set(rbf_block.tuning_.parameters) == {
        "weight of penalty",
        "weight of numbers and dates",
        "penalty",
        "gamma",
    }
    weights = rbf_block.describe().tables[0][1].set_index("column")["weight"]
    assert weights["gamma"] == weights["b"] == rbf_block.similarity_.right.factor
    assert weights.max() == 1.0


def test_words_and_numbers_add_up_to_the_score(rbf_block):
    X, _ = signs(20, 2)
    why = rbf_block.explain(X)
    for query, label in ((0, "red"), (3, "alike"), (17, "unlike")):
        at = rbf_block.classes_.tolist().index(label)
        found = why.words(query, label)["contribution"].sum() + why.mean[at]
        np.testing.assert_allclose(found, why.scores[query, at], rtol=1e-9)
    columns = set(why.by_column(3, "alike")["column"])
    assert columns == {"gamma", "b", "penalty", "numbers and dates"}
    assert "because gamma" in " ".join(str(why).split())


def test_taught_forgotten_and_loaded_equals_a_fresh_fit(rbf_block, tmp_path):
    X, y = signs(30, 3)
    rbf_block.save(tmp_path / "model")
    model = load(tmp_path / "model")
    np.testing.assert_array_equal(model.decision_function(X), rbf_block.decision_function(X))
    model.partial_fit(X[:20].assign(penalty="quince jam"), y[:20]).forget([*range(10), 155])
    references = model._model.scorer.references
    rows = model.encoder_.encode(references.raw[:])
    raw = clone(model.influence_).set_params(mixing=False)
    Y, mixing = references.Y.toarray(), rbf_block._model.scorer.solved.mixing  # the mixing is held
    fresh = SMLClassifier(model.similarity_, normalizer=None, influence=raw).fit(rows, Y)
    requested = model.encoder_.encode([tuple(row) for row in X.astype(object).itertuples(index=False)])
    expected = mixing.scores(fresh.label_weights(requested), Y.mean(axis=0), len(Y))
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-6, atol=1e-9)


def test_texts_alone_have_no_rbf():
    X, y = signs(40, 4)
    tagger = Tagger().fit(X[["penalty"]], y)
    assert isinstance(tagger.similarity_, Linear)
    assert "gamma" not in tagger.tuning_.parameters
