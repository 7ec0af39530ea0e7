"""outputs() equals the single methods, and each of them sums only the columns that it needs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel.ridge import Ridge
from simlabel.rules import CutoffRule
from simlabel.similarities import RBF, Quadratic
from simlabel.sums import Auto, Collapsed, Exact

CASES = [
    {},
    {"influence": "ridge"},
    {"influence": "label_mean", "label_rule": "threshold"},
    {"weighting": "top_k", "calibration": "loo"},
    {"engine": "collapsed", "similarity": Quadratic()},
    {"engine": Auto(), "similarity": Quadratic()},
    {"sketch": "random_features"},
    {"sampler": 20},
]


def problem(rng, n=60):
    return rng.random((n, 5)), (rng.random((n, 4)) < 0.4).astype(int), rng.random((25, 5))


class Recorded:
    """Notes the number of columns of each reduction of an engine."""

    widths: ClassVar[list[int]] = []

    def reduce(self, call):
        sums = super().reduce(call)
        self.widths.extend(each.shape[1] for each in sums)
        return sums


class RecordedExact(Recorded, Exact):
    pass


class RecordedCollapsed(Recorded, Collapsed):
    pass


@pytest.fixture
def widths():
    """Return the number of columns of each reduction of a recorded engine in a test."""
    Recorded.widths.clear()
    return Recorded.widths


@pytest.mark.parametrize("stages", CASES, ids=str)
def test_they_are_those_of_the_single_methods(stages, rng, small_blocks):
    small_blocks()
    X, Y, Q = problem(rng)
    model = SMLClassifier(**{"similarity": RBF(2.0), **stages}, random_state=0).fit(X, Y)
    outputs = model.outputs(Q)
    np.testing.assert_allclose(outputs.weights, model.label_weights(Q), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs.probabilities, model.predict_proba(Q), rtol=1e-9)
    np.testing.assert_array_equal(outputs.sets.toarray(), model.predict(Q))
    np.testing.assert_array_equal(outputs.sizes, model.predict_set_size(Q))
    assert [tuple(columns.tolist()) for columns in outputs.columns] == model.predict_sets(Q)


@pytest.mark.parametrize("y", [np.arange(60) % 2, np.arange(60) % 3], ids=["two classes", "three"])
def test_one_class_per_row_has_a_column_for_each(y, rng):
    X, _, Q = problem(rng)
    outputs = SMLClassifier(RBF(2.0)).fit(X, y).outputs(Q)
    assert outputs.weights.shape == outputs.probabilities.shape == (len(Q), y.max() + 1)
    np.testing.assert_array_equal(outputs.sets.indices, outputs.weights.argmax(axis=1))
    assert (outputs.sizes == 1).all()


def test_automl_gives_them_too(rng):
    X, Y, Q = problem(rng)
    model = AutoSMLClassifier(configurations=[("l2", RBF(2.0), "uniform")], random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.outputs(Q).weights, model.best_estimator_.outputs(Q).weights)


def test_pairs_are_visited_once(rng, widths):
    X, Y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0), engine=RecordedExact()).fit(X, Y)
    n_sizes = len(np.unique(Y.sum(axis=1)))
    widths.clear()
    model.outputs(Q)
    assert widths == [4 + n_sizes]


@pytest.mark.parametrize("stages", [{}, {"influence": "ridge"}, {"weighting": "top_k"}], ids=str)
def test_label_weights_alone_do_without_set_sizes(stages, rng, widths):
    X, Y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0), engine=RecordedExact(), **stages).fit(X, Y).partial_fit(X[:3], Y[:3])
    widths.clear()
    model.label_weights(Q)
    assert widths == [4]


def test_what_is_collapsed_already_is_not_collapsed_again(rng, widths):
    X, Y, Q = problem(rng)
    model = SMLClassifier(Quadratic(), engine=RecordedCollapsed()).fit(X, Y)
    widths.clear()
    model.label_weights(Q)
    assert widths == [4 + len(np.unique(Y.sum(axis=1)))]


def test_frames_have_names_and_the_index_that_was_asked_about(rng):
    X, Y, Q = problem(rng)
    names = [f"label {k}" for k in range(Y.shape[1])]
    model = SMLClassifier(RBF(2.0)).fit(X, pd.DataFrame(Y, columns=names))
    requested = pd.DataFrame(Q, index=[f"row {i}" for i in range(len(Q))])
    outputs = model.outputs(requested)
    for what, wanted in {
        "probabilities": model.predict_proba(requested),
        "weights": model.label_weights(requested),
        "sets": model.predict(requested).to_numpy(),
    }.items():
        frame = outputs.frame(what)
        np.testing.assert_allclose(frame.to_numpy(), wanted)
        assert frame.columns.tolist() == names
        assert frame.index.tolist() == requested.index.tolist()
    assert model.outputs(Q).frame().index.tolist() == list(range(len(Q)))
    assert isinstance(model.predict_proba(requested), np.ndarray)  # scikit-learn's tools index its columns
    with pytest.raises(ValueError, match="'scores'"):
        outputs.frame("scores")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_made_ready_says_the_same(rng, tmp_path, case):
    X, Y, Q = problem(rng)
    fitted = SMLClassifier(**case, random_state=0).fit(X, Y)
    fitted.save(tmp_path / "model")
    before, ready = load(tmp_path / "model"), load(tmp_path / "model").warm_up()
    for one in Q[:5]:
        np.testing.assert_allclose(ready.label_weights([one]), before.label_weights([one]), rtol=1e-9)


def test_sums_that_cost_less_are_taken_before_a_query_comes(rng, tmp_path):
    X, Y, Q = problem(rng, n=3000)
    SMLClassifier(Quadratic(), influence=Ridge(0.3)).fit(X, Y).save(tmp_path / "model")
    model = load(tmp_path / "model")
    model.label_weights(Q[:1])
    assert "collapsed" not in model._model.scorer.job.cache
    model.warm_up()
    assert "collapsed" in model._model.scorer.job.cache


def test_labels_that_only_the_minimum_lets_in_are_marked_as_forced():
    """With linear similarity the label weights of a query are its features."""
    rule = CutoffRule(0.5, minimum=1)
    model = SMLClassifier("linear", normalizer=None, label_rule=rule, calibration=None)
    model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"sun"}])
    queries = [[0.9, 0.1], [0.8, 0.6], [0.2, 0.1]]
    outputs = model.outputs(queries)
    assert outputs.forced.tolist() == [False, False, True]
    assert outputs.confidence == pytest.approx([0.9, 0.6 / 1.4, 0.2 / 0.3])
    model.set_params(label_rule=CutoffRule(0.5)).fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"sun"}])
    outputs = model.outputs(queries)
    assert outputs.forced.tolist() == [False, False, False]
    assert np.isnan(outputs.confidence).tolist() == [False, False, True]


def test_a_forced_set_that_pending_rows_change_is_forced_no_more():
    rule = CutoffRule(2.0, minimum=1)  # which no score reaches
    model = SMLClassifier("linear", normalizer=None, influence=Ridge(0.1), label_rule=rule)
    model.fit([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [{"sea"}, {"sea"}, {"sun"}, {"sun"}])
    queries = [[1.0, 0.0], [0.0, 1.0]]
    assert model.outputs(queries).forced.tolist() == [True, True]
    pending_rows = model.pending_rows([[0.0, 1.0]], [{"sun", "moon"}])
    outputs = model.outputs(queries, pending_rows)
    assert "moon" in outputs.names[outputs.columns[1]]
    assert outputs.forced.tolist() == [True, False]


@pytest.mark.parametrize(("rule", "marked"), [("set_size", True), ("per_label", True), ("threshold", False)])
def test_a_guess_that_fills_an_empty_set_is_forced_whatever_the_rule(rule, marked):
    random = np.random.default_rng(0)
    X = np.eye(30).repeat(3, axis=0) + 0.05 * random.normal(size=(90, 30))
    model = SMLClassifier("rbf", label_rule=rule, random_state=0).fit(X, [{f"l{i // 3}"} for i in range(90)])
    outputs = model.outputs(np.vstack([-np.ones(30), X[0]]))  # like nothing that was learned, and like l0
    assert outputs.probabilities[0].max() < 0.1
    assert outputs.forced.tolist() == [marked, False]
    assert outputs.sets[[0]].nnz == marked  # without a minimum the set is empty
