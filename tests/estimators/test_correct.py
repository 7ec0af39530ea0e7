"""correct() replaces the labels of rows, as if the rows were forgotten and added again."""

from __future__ import annotations

import numpy as np
import pytest

from film_tables import films
from simlabel import SMLClassifier, Tagger, load
from simlabel.model.persistence import ModelFileError, check_fitted


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_correct_is_forget_and_teach(rng, influence):
    X, y = rng.normal(size=(12, 3)), [{"ab"[k % 2]} for k in range(12)]
    weights = rng.integers(1, 4, 12).astype(float)
    names = [f"r{k}" for k in range(12)]
    model = SMLClassifier("linear", normalizer=None, influence=influence)
    model.fit(X, y, sample_weight=weights, ids=names)
    wanted = SMLClassifier("linear", normalizer=None, influence=influence)
    wanted.fit(X, y, sample_weight=weights, ids=names).forget(["r7", "r2"])
    wanted.partial_fit(X[[7, 2]], [{"a", "c"}, set()], sample_weight=weights[[7, 2]], ids=["r7", "r2"])
    model.correct(["r7", "r2"], [{"a", "c"}, set()])
    assert model.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.label_weights(X), wanted.label_weights(X), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("names", "one"), [(["R07", "R08", "R09"], "R07"), ([4, 5, 6], 4)])
def test_what_one_row_is_called_may_stand_alone(names, one):
    X, y = np.eye(3), [{"x"}, {"y"}, {"x"}]
    right = SMLClassifier("linear").fit(X, [{"y", "z"}, {"y"}, {"x"}], ids=names)
    for labels in ({"y", "z"}, [{"y", "z"}]):
        model = SMLClassifier("linear").fit(X, y, ids=names).correct(one, labels)
        assert model.ids_.tolist() == [*names[1:], one]
        np.testing.assert_allclose(model.label_weights(X), right.label_weights(X), rtol=1e-12)
    fewer = SMLClassifier("linear").fit(X, y, ids=names).forget(one)
    assert fewer.ids_.tolist() == names[1:]


def test_a_corrected_row_stays_in_its_group(rng):
    X, y = rng.normal(size=(6, 3)), [{"a"}, {"a"}, {"b"}, {"b"}, {"a"}, {"b"}]
    groups = ["g", "g", None, "h", "h", None]
    model = SMLClassifier("linear", normalizer=None).fit(X, y, groups=groups).correct([0], [{"b"}])
    right, order = [{"b"}, *y[1:]], [1, 2, 3, 4, 5, 0]
    wanted = SMLClassifier("linear", normalizer=None).fit(X, right, groups=groups)
    np.testing.assert_allclose(model.leave_one_out(), wanted.leave_one_out()[order], rtol=1e-9)


@pytest.mark.parametrize(
    ("ids", "y", "message"),
    [
        (["a", "z"], [{"x"}, {"x"}], "'z'"),
        (["a", "a"], [{"x"}, {"x"}], "given twice"),
        (["a"], [{"x"}, {"y"}], "2"),
        (["a"], ["x"], "label sets"),
        (["a", "b", "c"], [{"x"}] * 3, "all 3 labeled instances; call fit instead"),
    ],
)
def test_what_cannot_be_corrected_changes_nothing(ids, y, message):
    X = np.eye(3)
    model = SMLClassifier("linear").fit(X, [{"x"}, {"y"}, {"x"}], ids=["a", "b", "c"])
    before = model.label_weights(X)
    with pytest.raises((ValueError, LookupError), match=message):
        model.correct(ids, y)
    np.testing.assert_array_equal(model.label_weights(X), before)


def test_rows_of_tables_are_called_and_corrected():
    frame = films(20, 1)
    tags = frame.pop("tags")
    tagger = Tagger(id_column="id", empty="none").fit(frame, tags)
    assert tagger.ids_.tolist() == frame["id"].tolist()
    tagger.correct("tt1-4", "heist | crime")
    listed = tagger.suspicious_labels(None)
    given = listed[listed["given"] & (listed["id"] == "tt1-4")]
    assert set(given["label"]) == {"heist", "crime"}
    assert tagger.n_references_ == 20


def test_a_table_with_one_label_in_each_cell_is_saved(tmp_path):
    frame = films(20, 1)[["title", "synopsis"]]
    tagger = Tagger().fit(frame, ["sea" if k % 2 else "land" for k in range(20)])
    assert tagger.label_separator_ is None
    tagger.save(tmp_path / "one.simlabel")
    assert load(tmp_path / "one.simlabel").predict(frame) == tagger.predict(frame)


@pytest.mark.parametrize("wrong", [3, "", [], True])
def test_what_is_no_separator_is_refused_in_a_file(wrong):
    with pytest.raises(ModelFileError, match="are no texts"):
        check_fitted({"n_features_in_": 2, "label_separator_": wrong})
    check_fitted({"n_features_in_": 2, "label_separator_": None})
