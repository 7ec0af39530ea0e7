from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import naive
from simlabel import metrics
from simlabel.metrics import CRITERIA, evaluate, row_criteria

# three labels: 0.9, 0.5, 0.1 are ranked 1, 2, 3
HAND = [
    # labels, scores, one-error, coverage, ranking loss, average precision
    ({0}, [0.9, 0.5, 0.1], 0.0, 0, 0.0, 1.0),
    ({2}, [0.9, 0.5, 0.1], 1.0, 2, 1.0, 1 / 3),
    ({0, 2}, [0.9, 0.5, 0.1], 0.0, 2, 0.5, (1 + 2 / 3) / 2),
    ({1, 2}, [0.9, 0.5, 0.1], 1.0, 2, 1.0, (1 / 2 + 2 / 3) / 2),
    # a tie at the top counts against the scorer
    ({0}, [0.5, 0.5, 0.1], 1.0, 1, 0.5, 1 / 2),
    ({0, 1}, [0.5, 0.5, 0.1], 0.0, 1, 0.0, 1.0),
    ({0}, [0.0, 0.0, 0.0], 1.0, 2, 1.0, 1 / 3),
]


def indicator(sets, n):
    return np.array([[int(k in labels) for k in range(n)] for labels in sets])


@pytest.mark.parametrize(("labels", "scores", "error", "depth", "loss", "precision"), HAND)
def test_by_hand(labels, scores, error, depth, loss, precision):
    Y, F = indicator([labels], 3), np.array([scores])
    assert metrics.one_error(Y, F) == error
    assert metrics.coverage(Y, F) == depth
    assert metrics.ranking_loss(Y, F) == pytest.approx(loss)
    assert metrics.average_precision(Y, F) == pytest.approx(precision)
    np.testing.assert_allclose(row_criteria(Y, F)[0], [error, depth, loss, precision])


def test_hamming_loss_by_hand():
    assert metrics.hamming_loss([[1, 0, 1], [0, 0, 0]], [[1, 1, 0], [0, 0, 0]]) == pytest.approx(2 / 6)
    assert metrics.hamming_loss([[1], [0]], [[1], [1]]) == 0.5
    assert metrics.hamming_loss(sp.csr_array([[1, 0]]), sp.csr_matrix([[0, 0]])) == 0.5


@given(seed=st.integers(0, 2**32 - 1), n_labels=st.integers(2, 7), ties=st.booleans())
def test_equal_the_loops_and_scikit_learn(seed, n_labels, ties):
    rng = np.random.default_rng(seed)
    F = rng.integers(0, 3, (12, n_labels)).astype(float) if ties else rng.random((12, n_labels))
    Y = (rng.random((12, n_labels)) < 0.5).astype(int)
    some = (Y.sum(axis=1) > 0) & (Y.sum(axis=1) < n_labels)
    Y, F = Y[some], F[some]
    if len(Y) == 0:
        return
    sets = [set(np.flatnonzero(row)) for row in Y]
    for name, criterion in CRITERIA.items():
        if not criterion.needs_scores:
            continue
        wanted = np.mean([getattr(naive, name)(f.tolist(), s) for f, s in zip(F, sets, strict=True)])
        assert getattr(metrics, name)(Y, F) == pytest.approx(wanted)
        assert criterion.rows(Y, F).mean() == pytest.approx(wanted)
    assert metrics.coverage(Y, F) == pytest.approx(sk.coverage_error(Y, F) - 1)
    assert metrics.ranking_loss(Y, F) == pytest.approx(sk.label_ranking_loss(Y, F))
    assert metrics.average_precision(Y, F) == pytest.approx(sk.label_ranking_average_precision_score(Y, F))


def test_rows_without_meaning_are_left_out_and_counted():
    Y = np.array([[0, 0], [1, 1], [1, 0]])
    F = np.array([[0.3, 0.2], [0.1, 0.9], [0.2, 0.8]])
    result = evaluate(Y, Y, F)
    assert result.undefined == {
        "hamming_loss": 0,
        "one_error": 1,
        "coverage": 1,
        "ranking_loss": 2,
        "average_precision": 1,
    }
    assert result["one_error"] == 0.5
    assert result["ranking_loss"] == 1.0
    assert "2 of 3 rows left out" in str(result)
    assert np.isnan(metrics.one_error(np.zeros((2, 2)), F[:2]))


def test_the_form_of_the_truth_does_not_show(rng):
    Y, F = (rng.random((50, 6)) < 0.4).astype(int), rng.random((50, 6))
    whole = evaluate(Y, Y, F).values
    assert evaluate(sp.csr_array(Y), Y, F).values == pytest.approx(whole)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"scores have shape \(1, 3\), but Y_true has \(1, 2\)"):
        metrics.one_error([[1, 0]], [[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"only 0 and 1, got .*2"):
        metrics.hamming_loss([[2, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="NaN"):
        metrics.coverage([[1, 0]], [[np.nan, 0.0]])


def test_one_label_is_ranked_first_where_it_is_true():
    Y, F = np.array([[1], [0], [1]]), np.array([[0.3], [0.9], [-2.0]])
    result = evaluate(Y, Y, F)
    assert (result["one_error"], result["coverage"], result["average_precision"]) == (0.0, 0.0, 1.0)
    assert np.isnan(result["ranking_loss"])
