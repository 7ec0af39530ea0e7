"""A weight means repetition in the search too, also if only a sample of the rows is scored."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel._utils.rows import sample_copies
from simlabel.tuning import LeaveOneOut


@pytest.mark.parametrize("similarity", ["rbf", "laplacian", "chi_square"])
@pytest.mark.parametrize("tuning", ["validation", LeaveOneOut(max_rows=700)])
def test_weights_choose_what_repeated_rows_choose(similarity, tuning, rng):
    X = np.abs(rng.normal(size=(700, 3)))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(700, 2)) > 0.6).astype(int)
    weights = rng.integers(1, 4, len(X))
    model = SMLClassifier(similarity, tuning=tuning, random_state=0)
    weighted = model.fit(X, Y, sample_weight=weights).tuning_
    repeated = model.fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)).tuning_
    assert weighted.n_queries == repeated.n_queries < len(X) + 1
    assert weighted.best == pytest.approx(repeated.best, rel=1e-6)
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-6)


def test_copies_are_drawn_as_often_as_weights_say(rng):
    weights, order = np.array([0.5, 4.0, 0.25, 1.25] * 100), rng.permutation(400)
    rows = np.concatenate([sample_copies(order, weights, 60, seed) for seed in range(200)])
    shares = np.bincount(rows % 4, minlength=4) / len(rows)
    np.testing.assert_allclose(shares, weights[:4] / 6.0, atol=0.02)
    assert (sample_copies(order, weights * 1e-6, 300, 0) < len(weights)).all()
    assert sample_copies(order[order < 9], np.ones(9), 9, 0).tolist() == list(range(9))
