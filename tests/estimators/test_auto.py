from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from simlabel import AutoSMLClassifier, SMLClassifier
from simlabel._utils.progress import report_progress_to
from simlabel.similarities import RBF, Laplacian, Linear, Polynomial

FEW = [("l2", RBF(), "ridge"), ("zscore", Laplacian(), "uniform"), (None, Linear(), "ridge")]


def data(rng, n=70):
    X = rng.random((n, 4)) * [1, 10, 100, 1]
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 6, X[:, 2] > 40]).astype(int)
    return X, Y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_check_estimator():
    """Return no expected failures; bandwidths are given, since these are a hundred fits."""
    configurations = [("l2", RBF(2.0), "ridge"), ("zscore", Laplacian(1.0), "uniform")]
    check_estimator(AutoSMLClassifier(configurations=configurations, random_state=0))


def test_the_choice_is_a_plain_classifier_with_all_values_fixed(rng):
    X, Y = data(rng)
    auto = AutoSMLClassifier(random_state=0).fit(X, Y)
    chosen = auto.best_estimator_
    assert type(chosen) is SMLClassifier
    left_open = [name for name, value in chosen.get_params().items() if str(value) == "auto"]
    assert sorted(left_open) == ["calibration", "engine"]  # these choose no value
    again = clone(chosen).fit(X, Y)
    np.testing.assert_allclose(again.label_weights(X), auto.label_weights(X))
    assert np.array_equal(again.predict(X), auto.predict(X))


def test_the_leaderboard_is_ranked_and_honest(rng):
    X, Y = data(rng)
    auto = AutoSMLClassifier(configurations=FEW, random_state=0).fit(X, Y)
    board = auto.leaderboard_
    assert len(board) == 3
    assert board.average_precision.is_monotonic_decreasing
    assert (board.standard_error >= 0).all()
    from simlabel.metrics import average_precision

    top = average_precision(Y, auto.best_estimator_.leave_one_out())
    assert top == pytest.approx(board.average_precision.iloc[0], abs=1e-9)


def test_finalists_are_tried_on_more_rows(rng):
    X, Y = data(rng, 450)
    board = AutoSMLClassifier(configurations=FEW, random_state=0).fit(X, Y).leaderboard_
    assert board.rows.tolist() == [450, 450, 450, 400, 400, 400]


def test_equal_data_equal_results(rng):
    X, Y = data(rng, 450)
    one, other = (AutoSMLClassifier(configurations=FEW, random_state=3).fit(X, Y) for _ in range(2))
    assert one.leaderboard_.equals(other.leaderboard_)


def test_a_budget_stops_between_configurations(rng):
    X, Y = data(rng)
    board = AutoSMLClassifier(budget=1e-9, random_state=0).fit(X, Y).leaderboard_
    assert len(board) == 1
    with pytest.raises(ValueError, match="budget must be a number above 0 or None"):
        AutoSMLClassifier(budget=0).fit(X, Y)


@pytest.mark.filterwarnings("ignore::simlabel.normalizers.UnitsWarning")  # what was chosen, by hand
def test_sparse_sets_weights_and_progress(rng, capsys):
    X, Y = data(rng)
    names = np.array(["a", "b", "c"])
    y = [set(names[row == 1]) for row in Y]
    model = AutoSMLClassifier(configurations=FEW[:2], verbose=True, random_state=0)
    counts = rng.integers(0, 3, 70)
    model.fit(X, y, sample_weight=counts)
    assert "choosing" in capsys.readouterr().err
    repeated = (
        clone(model).set_params(verbose=False).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, 0))
    )
    np.testing.assert_allclose(model.label_weights(X), repeated.label_weights(X), rtol=1e-9)
    assert model.predict(X) == [set(names[row == 1]) for row in repeated.predict(X)]
    few = [("l2", "rbf", "ridge"), ("l2", "polynomial", "ridge")]  # of sparse rows z-scores do not shift
    sparse = AutoSMLClassifier(configurations=few, random_state=0).fit(sp.csr_array(X), Y)
    dense = clone(sparse.best_estimator_).fit(X, Y)
    scores = sparse.label_weights(sp.csr_array(X))
    np.testing.assert_allclose(scores, dense.label_weights(X), rtol=1e-6, atol=1e-9)
    assert (sparse.predict(sp.csr_array(X)) == Y).mean() > 0.8


def test_odd_labels(rng):
    X, _ = data(rng, 12)
    for Y, base_rate in ((np.zeros((12, 2)), 0), (np.ones((12, 2)), 1), (np.eye(12, 2), 0)):
        model = AutoSMLClassifier(configurations=FEW, random_state=0).fit(X, Y.astype(int))
        far = np.full((1, 4), 1e6)
        assert model.predict(np.vstack([X[2:], far])).tolist() == [[base_rate, base_rate]] * 11
    one = AutoSMLClassifier(configurations=FEW).fit(X[:1], [{"a"}])
    assert one.predict(X[:1]) == [{"a"}]
    with pytest.raises(ValueError, match="configurations is empty"):
        AutoSMLClassifier(configurations=[]).fit(X, np.eye(12, 2))


def test_what_was_found_on_few_rows_is_a_start_on_more_whose_grid_differs(rng):
    X = rng.normal(size=(450, 4)) * rng.lognormal(size=(450, 1))  # offsets are multiples of the mean square
    Y = np.column_stack([X[:, 0] * X[:, 1] > 0, X[:, 2] > 0.3]).astype(int)
    few = [(None, Polynomial("auto", "auto"), "ridge"), (None, Linear(), "ridge")]
    similarity = AutoSMLClassifier(configurations=few, random_state=0).fit(X, Y).best_estimator_.similarity_
    shares = similarity.coef0 / np.mean((X**2).sum(axis=1))
    assert min(abs(shares - [0.0, 0.25, 1.0, 4.0])) < 1e-6


def test_threads_look_at_other_candidates_and_change_nothing(rng):
    X, Y = data(rng, 300)
    boards = [AutoSMLClassifier(n_jobs=n, random_state=0).fit(X, Y).leaderboard_ for n in (1, 3)]
    shown = [board[["normalizer", "influence", "rows"]].to_dict("list") for board in boards]
    assert shown[0] == shown[1]
    np.testing.assert_allclose(*(board["average_precision"] for board in boards), rtol=1e-4)


def test_progress_never_goes_back_and_ends_with_all_of_it(rng):
    X, Y = data(rng, 60)
    message = []
    with report_progress_to(lambda done, total, what: message.append((done, total))):
        AutoSMLClassifier(configurations=FEW, random_state=0).fit(X, Y)
    done = [each for each, _ in message]
    assert done == sorted(done)
    assert message[-1][0] == message[-1][1] > len(FEW)
