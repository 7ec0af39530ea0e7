from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simlabel import SMLClassifier, load
from simlabel.labels import LabelSpace

names = st.one_of(st.text(max_size=4), st.integers(-5, 5), st.tuples(st.integers(0, 2), st.text(max_size=1)))


@given(st.lists(st.frozensets(names, max_size=4), min_size=1, max_size=12))
def test_label_sets_come_back(rows):
    space, Y = LabelSpace.learn(rows)
    assert Y.shape == (len(rows), len(set().union(*rows)))
    assert space.decode(Y) == rows
    again, unknown = space.encode(rows)
    assert (again != Y).nnz == 0
    assert not unknown.any()


@given(st.lists(st.one_of(st.integers(-3, 3)), min_size=1, max_size=20))
def test_one_class_per_row_comes_back(values):
    y = np.array(values)
    space, Y = LabelSpace.learn(y)
    assert space.kind == "single"
    assert space.classes.tolist() == sorted(set(values))
    assert space.decode(Y).tolist() == values


def test_names_that_do_not_compare_keep_their_order():
    space, _ = LabelSpace.learn([{"b"}, {3}, {"a"}])
    assert space.classes.tolist() == ["b", 3, "a"]


def test_unseen_labels_are_told_not_crashed_on():
    space, _ = LabelSpace.learn([{"a"}, {"b"}])
    Y, unknown = space.encode([{"a", "new"}, {"b"}])
    assert Y.toarray().tolist() == [[1, 0], [0, 1]]
    assert unknown.tolist() == [True, False]
    single, _ = LabelSpace.learn(np.array([1, 3]))
    assert single.encode(np.array([3, 2, 9]))[1].tolist() == [False, True, True]


def test_stored_zeros_and_duplicates_are_no_labels():
    y = sp.csr_array((np.array([0, 1]), (np.array([0, 1]), np.array([0, 1]))), shape=(2, 2))
    _, Y = LabelSpace.learn(y)
    assert Y.nnz == 1
    assert y.nnz == 2  # the user's matrix is not ours to change


@pytest.mark.parametrize("y", [[1.5, 2.5, 0.1], np.array([0.2, 0.7])])
def test_continuous_y_is_refused(y):
    with pytest.raises(ValueError, match="Unknown label type"):
        LabelSpace.learn(y)


def test_another_form_at_score_time_is_named():
    space, _ = LabelSpace.learn(np.eye(3, dtype=int))
    with pytest.raises(ValueError, match="y has 2 labels given as 'array', but fit saw 3"):
        space.encode(np.eye(2, dtype=int))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_of_bool_come_back_as_bool(library, tmp_path):
    y = library({"sea": [True, False, True], "trees": [False, True, True]})
    model = SMLClassifier("linear").fit(np.eye(3), y)
    model.save(tmp_path / "model")
    for one in (model, load(tmp_path / "model")):
        predicted = one.predict(np.eye(3))
        assert isinstance(predicted, library)
        assert predicted.to_numpy().dtype == bool
    numbers = SMLClassifier("linear").fit(np.eye(3), library({"sea": [1, 0, 1], "trees": [0, 1, 1]}))
    assert numbers.predict(np.eye(3)).to_numpy().dtype == np.int8


def test_lazy_frames_are_read():
    X = pl.DataFrame({"a": [1.0, 0.0, 0.2], "b": [0.0, 1.0, 0.9]})
    y = pl.DataFrame({"sea": [1, 0, 0], "trees": [0, 1, 1]})
    lazy, eager = SMLClassifier("linear").fit(X.lazy(), y.lazy()), SMLClassifier("linear").fit(X, y)
    assert lazy.feature_names_in_.tolist() == ["a", "b"]
    assert lazy.predict(X.lazy()).equals(eager.predict(X))
    assert lazy.score(X.lazy(), y.lazy()) == eager.score(X, y)
    assert lazy.partial_fit(X.lazy(), y.lazy()).n_references_ == 6
