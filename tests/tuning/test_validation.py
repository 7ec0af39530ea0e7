from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier
from simlabel.metrics import average_precision
from simlabel.similarities import RBF, ChiSquare, Laplacian, Linear, OnColumns
from simlabel.sums import References
from simlabel.tuning import Validation


def clusters(rng, n=60):
    centers = rng.random((4, 6))
    which = rng.integers(0, 4, n)
    X = centers[which] + 0.1 * rng.standard_normal((n, 6))
    Y = (rng.random((4, 5)) < 0.5).astype(int)[which]
    Y[:, 0] |= which == 0
    Y[:, 1] |= which != 0
    Y[0], Y[1] = 0, 1  # so that every label varies
    return np.abs(X), Y


@pytest.mark.parametrize("similarity", [RBF(), Laplacian(), ChiSquare()], ids=str)
def test_the_curve_is_leave_one_out(similarity, rng):
    """On few rows every candidate's value equals that of leaving each row out."""
    X, Y = clusters(rng, 30)
    model = SMLClassifier(similarity, random_state=0).fit(X, Y)
    phi = {RBF: naive.rbf, Laplacian: naive.laplacian, ChiSquare: naive.chi_square}[type(similarity)]
    xs, sets = [naive.unit_length(x) for x in X.tolist()], [set(np.flatnonzero(y)) for y in Y]
    frame = model.tuning_.to_frame()
    for gamma, value in frame[["gamma", "average_precision"]].to_numpy()[::5]:
        scores = []
        for i in range(30):
            others = [j for j in range(30) if j != i]
            left = [xs[j] for j in others], [sets[j] for j in others]
            scores.append(naive.label_weights(xs[i], *left, 5, phi(gamma)))
        assert value == pytest.approx(average_precision(Y, np.array(scores)), abs=1e-9)
    assert frame.average_precision.max() == pytest.approx(
        frame.loc[frame.gamma == model.similarity_.gamma, "average_precision"].item()
    )


def test_deterministic_under_random_state(rng):
    X, Y = clusters(rng, 1500)
    one, same, other = (SMLClassifier(random_state=seed).fit(X, Y) for seed in (0, 0, 1))
    assert one.tuning_ == same.tuning_
    assert one.tuning_.n_queries == 150
    assert one.tuning_.values != other.tuning_.values


def test_how_many_rows_are_queries(rng):
    for n, queries in ((1000, 1000), (1001, 100), (3000, 300)):
        X, Y = clusters(rng, n)
        assert SMLClassifier(random_state=0).fit(X, Y).tuning_.n_queries == queries
    X, Y = clusters(rng, 3000)
    assert SMLClassifier(tuning=Validation(share=1.0)).fit(X, Y).tuning_.n_queries == 2000


@pytest.mark.parametrize(("n_labels", "queries"), [(2000, 500), (20_000, 209), (1_000_000, 50)])
def test_fewer_rows_are_queries_where_labels_are_many(n_labels, queries):
    references = References(np.zeros((5000, 1)), sp.csr_array((5000, n_labels), dtype=np.int8), np.ones(5000))
    rows = Validation().queries(references, 0)
    assert len(rows) == queries
    assert len(np.unique(rows)) == queries


def test_compositions_are_tuned_part_by_part(rng):
    X, Y = clusters(rng)
    both = OnColumns(RBF(), [0, 1, 2], "zscore") + Laplacian() * Linear()
    model = SMLClassifier(both, random_state=0).fit(X, Y)
    assert model.tuning_.parameters == ("left__similarity__gamma", "right__left__gamma")
    assert model.similarity_.left.similarity.gamma > 0
    assert model.similarity_.right.left.gamma > 0
    assert both.left.similarity.gamma == "auto"  # the user's object is not ours to change


def test_nothing_to_tune(rng):
    X, Y = clusters(rng)
    assert SMLClassifier(RBF(2.0)).fit(X, Y).tuning_.best == {}


@pytest.mark.parametrize("criterion", ["one_error", "coverage", "ranking_loss"])
def test_other_criteria(criterion, rng):
    X, Y = clusters(rng)
    tuning = SMLClassifier(tuning=Validation(criterion=criterion)).fit(X, Y).tuning_
    chosen = tuning.values[tuning.candidates.index(tuning.best)]
    assert chosen == pytest.approx(min(tuning.values))
    with pytest.raises(ValueError, match="unknown criterion 'f1'"):
        SMLClassifier(tuning=Validation(criterion="f1")).fit(X, Y)


def test_where_nothing_can_be_told_apart(rng):
    X = rng.random((10, 3))
    model = SMLClassifier(normalizer=None).fit(X, np.ones((10, 2), dtype=int))
    assert "cannot tell" in model.tuning_.note
    mean = ((X[:, None] - X[None]) ** 2).sum(axis=2).mean()
    assert model.similarity_.gamma == pytest.approx(1 / mean)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=20)
def test_mean_distances_in_closed_form(seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((15, 3)) + 100
    w = rng.integers(1, 4, 15).astype(float) if weighted else None
    share = np.full(15, 1 / 15) if w is None else w / w.sum()
    pairs = np.outer(share, share)
    differences = X[:, None, :] - X[None, :, :]
    for similarity, distances in (
        (RBF(), (differences**2).sum(axis=2)),
        (Laplacian(), np.abs(differences).sum(axis=2)),
    ):
        grid = similarity.grids(X, share if w is None else w, 0)["gamma"]
        assert 1 / grid.values[grid.at_mean] == pytest.approx((pairs * distances).sum())


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("most", [1, 2000])
def test_candidates_of_many_labels_in_several_passes_are_scored_the_same(most, n_jobs, rng, change_limits):
    X, Y = rng.random((60, 4)), (rng.random((60, 7)) < 0.4).astype(int)
    wanted = SMLClassifier("rbf").fit(X, Y).tuning_
    change_limits(candidate_bytes=most, candidate_queries=8)
    found = SMLClassifier("rbf", n_jobs=n_jobs).fit(X, Y).tuning_
    assert found.candidates == wanted.candidates
    np.testing.assert_allclose(found.values, wanted.values)
