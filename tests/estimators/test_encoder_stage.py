"""The encoder stage of SMLClassifier, and embeddings instead of words."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import (
    check_dataframe_column_names_consistency,
    estimator_checks_generator,
)

from simlabel import SMLClassifier, Tagger, load
from simlabel.model.persistence import register
from simlabel.similarities import RBF
from simlabel.sums import TopK
from simlabel.tables import Embedding, TableEncoder, TableWarning, table_cells

TEXTS = ["a shark at sea", "the sea and a boat", "a wedding in May", "love and a wedding", "shark love"]
TABLE = [{"t": text, "n": i} for i, text in enumerate(TEXTS)]
SETS = [{"sea", "horror"}, {"sea"}, {"romance"}, {"romance"}, {"horror", "romance"}]
ASKED = [{"t": "a boat and a shark", "n": 2}, {"t": None, "n": None}]


@pytest.mark.parametrize(
    "options",
    [
        {"similarity": RBF(1.0)},
        {"similarity": "rbf", "normalizer": "l2", "random_state": 0},
        {"similarity": "cosine", "normalizer": None},
        {"similarity": "linear", "weighting": TopK(2)},
        {"similarity": "linear", "influence": "ridge", "random_state": 0},
        {"similarity": "linear", "normalizer": "zscore"},
    ],
    ids=str,
)
def test_it_is_the_same_as_encoding_first(options, tmp_path):
    model = SMLClassifier(**options, encoder=TableEncoder({"t": "text"}, {"t": 2.0})).fit(TABLE, SETS)
    encoder = TableEncoder({"t": "text"}, {"t": 2.0}).fit(table_cells(TABLE))
    plain = SMLClassifier(**options).fit(encoder.encode(table_cells(TABLE).rows), SETS)
    Q = encoder.encode(table_cells(ASKED).rows)
    np.testing.assert_allclose(model.label_weights(ASKED), plain.label_weights(Q), rtol=1e-12)
    assert model.predict(ASKED) == plain.predict(Q)
    np.testing.assert_allclose(model.leave_one_out(), plain.leave_one_out(), rtol=1e-12)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.label_weights(ASKED), model.label_weights(ASKED))
    for each in (model, again):
        each.partial_fit([{"t": "whales", "n": 9}], [{"sea"}], ids=["w"]).forget([0])
    np.testing.assert_allclose(again.label_weights(ASKED), model.label_weights(ASKED), rtol=1e-9)
    with pytest.warns(TableWarning, match="'n' is missing"):
        model.predict([{"t": "a boat"}])


def test_clone_and_parameters():
    encoder = TableEncoder({"t": "text"})
    model = clone(SMLClassifier("linear", encoder=encoder)).set_params(encoder__weights={"t": 3.0})
    assert model.get_params()["encoder__columns"] == {"t": "text"}
    assert encoder.weights is None
    assert model.fit(TABLE, SETS).encoder_.weights == {"t": 3.0}
    assert not hasattr(model.encoder, "fitted_")
    tagger = clone(Tagger({"t": "category"}, id_column="n"))
    assert tagger.get_params()["columns"] == {"t": "category"}
    with pytest.raises(ValueError, match="Unknown encoder 'nope'"):
        SMLClassifier(encoder="nope").fit(TABLE, SETS)
    with pytest.raises(ValueError, match="compares no columns: omit the encoder"):
        SMLClassifier("precomputed", encoder="table").fit(TABLE, SETS)


#: scikit-learn's checks that an encoder cannot pass, and why
BY_NAME = "columns are matched by name: in any order, absent or new"
TABLES = "a table is a frame, dicts, texts or a 2-D array; a list of lists has no names"
ROWS = "rows that a term is in, and quantiles, are counted without weights"
EXPECTED = {
    "check_n_features_in_after_fitting": BY_NAME,
    "check_estimators_partial_fit_n_features": BY_NAME,
    "check_classifiers_train": TABLES,
    "check_classifier_data_not_an_array": TABLES,
    "check_sample_weights_not_an_array": TABLES,
    "check_fit1d": TABLES,
    "check_fit2d_predict1d": TABLES,
    "check_estimators_empty_data_messages": "refused, in other words",
    "check_sample_weight_equivalence_on_dense_data": ROWS,
    "check_sample_weight_equivalence_on_sparse_data": ROWS,
}


CHECKS = [check for _, check in estimator_checks_generator(SMLClassifier(RBF(1.0), encoder="table"))]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.func.__name__)
@pytest.mark.filterwarnings("ignore::simlabel.tables.TableWarning")
def test_checks_of_scikit_learn(check):
    model = SMLClassifier(RBF(1.0), encoder="table")
    if check.func.__name__ not in EXPECTED:
        return check(model)
    with pytest.raises((AssertionError, TypeError)):
        check(model)
    return None


def test_columns_are_matched_by_name_unlike_in_scikit_learn():
    with pytest.raises(AssertionError, match="predict did not raise"):
        check_dataframe_column_names_consistency("SMLClassifier", SMLClassifier(RBF(1.0), encoder="table"))


def letters(texts):
    return [[text.count(letter) for letter in "aeiost"] for text in texts]


def test_an_embedding_that_is_a_function(tmp_path):
    register("letters of a test", letters)
    tagger = Tagger({"t": Embedding(letters)}).fit(TABLE, SETS)
    kinds = {column.name: column.kind for column in tagger.encoder_.columns_}
    assert kinds == {"t": "embedding", "n": "number"}
    block = dict(tagger.encoder_.blocks(table_cells(ASKED).rows))["t"].toarray()[:, :6]
    expected = np.array(letters([ASKED[0]["t"], ""]), dtype=float)
    np.testing.assert_allclose(block[0], expected[0] / np.linalg.norm(expected[0]), rtol=1e-12)
    assert not block[1].any()
    tagger.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_array_equal(again.label_weights(ASKED), tagger.label_weights(ASKED))
    again.partial_fit([{"t": "whales", "n": 9}], [{"sea"}]).forget([0]).retune()
    assert again.n_references_ == 5


def test_an_embedding_in_a_folder(tmp_path):
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = sorted({"[UNK]", "[PAD]", *" ".join(TEXTS).lower().split()})
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.random.default_rng(0).normal(size=(len(words), 8)).astype(np.float32)
    model2vec.StaticModel(vectors, tokenizer, config={"normalize": False}).save_pretrained(tmp_path / "words")
    tagger = Tagger({"t": Embedding(str(tmp_path / "words"))}).fit(TABLE, SETS)
    block = dict(tagger.encoder_.blocks([("shark sea", None)]))["t"].toarray()[0, :8]
    expected = vectors[vocabulary["shark"]] + vectors[vocabulary["sea"]]
    np.testing.assert_allclose(block, expected / np.linalg.norm(expected), rtol=1e-4, atol=1e-5)
    tagger.save(tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.label_weights(ASKED), tagger.label_weights(ASKED), rtol=1e-9)


@pytest.mark.parametrize(
    ("source", "error", "said"),
    [
        ("nowhere", ValueError, "there is no folder 'nowhere'"),
        (3, TypeError, "source must be a function or a folder, got 3"),
        (lambda texts: [1.0] * len(texts), ValueError, "one row of finite numbers for each text"),
        (lambda texts: [[float("nan")]] * len(texts), ValueError, "finite numbers for each"),
        (lambda texts: [["a"]] * len(texts), ValueError, "one row of finite numbers for each text"),
        (lambda texts: [[1.0]] * (len(texts) - 1), ValueError, "one row of finite numbers for each text"),
        (lambda texts: np.ones((len(texts), 1 + len(texts))), ValueError, "pass the same embedding"),
    ],
    ids=["no folder", "no source", "numbers", "nan", "texts", "too few", "another width"],
)
def test_an_embedding_that_is_none(source, error, said):
    with pytest.raises(error, match=said):
        Tagger({"t": Embedding(source)}).fit(TABLE, SETS)
