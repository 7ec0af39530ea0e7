"""Leave-one-out tuning, the literal search, other criteria, and other "auto" parameters."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from test_validation import clusters

import naive
from simlabel import SMLClassifier
from simlabel._utils.rows import content_order
from simlabel.metrics import average_precision, hamming_loss
from simlabel.similarities import RBF, Linear, Polynomial
from simlabel.sums import TopK
from simlabel.tuning import LeaveOneOut, Validation


def test_loo_scores_all_rows_and_equals_the_validation_search_on_few(rng):
    X, Y = clusters(rng, 60)
    one, other = (SMLClassifier(RBF(), tuning=t, random_state=0).fit(X, Y) for t in ("loo", "validation"))
    assert one.tuning_.candidates == other.tuning_.candidates
    np.testing.assert_allclose(one.tuning_.values, other.tuning_.values, atol=1e-9)


def test_beyond_a_number_of_rows_a_sample_is_scored_and_said_so(rng):
    X, Y = clusters(rng, 80)
    tuning = SMLClassifier(RBF(), tuning=LeaveOneOut(max_rows=30), random_state=0).fit(X, Y).tuning_
    assert tuning.n_queries == 30
    assert "30 of 80 rows were scored" in tuning.note


def test_the_papers_words_to_the_letter(rng):
    """Folds are inside a tenth of the rows: every query sees the other folds of this tenth only."""
    X, Y = clusters(rng, 200)
    model = SMLClassifier(RBF(), normalizer=None, tuning=Validation(literal=True, folds=4), random_state=1)
    tuning = model.fit(X, Y).tuning_
    assert tuning.n_queries == 20
    from sklearn.utils import check_random_state

    seed = int(check_random_state(1).randint(np.iinfo(np.int32).max))
    order = content_order(X, sp.csr_array(Y))
    rows = order[np.sort(np.random.default_rng(seed).choice(200, 20, replace=False))]
    folds = np.random.default_rng(seed).permutation(20) % 4
    gamma, phi = tuning.candidates[4]["gamma"], naive.rbf(tuning.candidates[4]["gamma"])
    assert gamma > 0
    precisions = []
    for fold in range(4):
        there = rows[folds != fold]
        sets = [set(np.flatnonzero(Y[j])) for j in there]
        for i in rows[folds == fold]:
            labels = set(np.flatnonzero(Y[i]))
            if labels:
                scores = naive.label_weights(X[i].tolist(), X[there].tolist(), sets, 5, phi)
                precisions.append(naive.average_precision([round(s, 12) for s in scores], labels))
    assert tuning.values[4] == pytest.approx(np.mean(precisions), abs=1e-6)


def test_hamming_loss_decides_by_predicted_sets(rng):
    X, Y = clusters(rng, 50)
    model = SMLClassifier(RBF(), tuning=LeaveOneOut("hamming_loss")).fit(X, Y)
    tuning = model.tuning_
    assert min(tuning.values) == pytest.approx(tuning.values[tuning.candidates.index(tuning.best)])
    xs, sets = [naive.unit_length(x) for x in X.tolist()], [set(np.flatnonzero(y)) for y in Y]
    phi = naive.rbf(model.similarity_.gamma)
    predicted = np.zeros_like(Y)
    for i in range(50):
        others = [j for j in range(50) if j != i]
        there = [xs[j] for j in others], [sets[j] for j in others]
        size = naive.set_size(xs[i], *there, phi)
        predicted[i, naive.strongest(naive.label_weights(xs[i], *there, 5, phi), size)] = 1
    assert min(tuning.values) == pytest.approx(hamming_loss(Y, predicted))


def test_a_function_decides(rng):
    X, Y = clusters(rng, 50)

    def precision(Y_true, scores):
        return average_precision(Y_true, scores)

    by_function = SMLClassifier(RBF(), tuning=LeaveOneOut(precision)).fit(X, Y).tuning_
    by_name = SMLClassifier(RBF(), tuning=LeaveOneOut("average_precision")).fit(X, Y).tuning_
    assert by_function.criterion == "precision"
    assert by_function.best == by_name.best
    np.testing.assert_allclose(by_function.values, by_name.values)


def test_degree_coefficient_and_neighbors_can_be_auto(rng):
    X, Y = clusters(rng, 60)
    model = SMLClassifier(Polynomial("auto", "auto"), weighting=TopK("auto"), tuning="loo").fit(X, Y)
    assert model.tuning_.parameters == ("degree", "coef0", "weighting__k")
    assert model.similarity_.degree in (1, 2, 3, 4, 6, 8)
    assert model.weighting_.k in (5, 10, 20, 50)
    assert len(model.tuning_.values) == 6 * 4 * 4
    both = SMLClassifier(RBF() + Linear(), weighting=TopK("auto")).fit(X, Y)
    assert set(both.tuning_.best) == {"left__gamma", "weighting__k"}


def test_the_curve_can_be_drawn(rng, tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    X, Y = clusters(rng, 40)
    for model in (SMLClassifier(RBF()), SMLClassifier(RBF(), influence="ridge")):
        axes = model.fit(X, Y).tuning_.plot()
        axes.figure.savefig(tmp_path / "curve.png")
        assert axes.get_xlabel() == "gamma"
    with pytest.raises(ValueError, match="nothing was tuned"):
        SMLClassifier(RBF(1.0)).fit(X, Y).tuning_.plot()


@pytest.mark.parametrize("tuning", ["loo", "validation"])
@pytest.mark.parametrize("influence", ["uniform", "label_mean"])
@pytest.mark.parametrize("grouped", [False, True])
def test_rules_and_calibration_learn_the_same_with_and_without_a_search(tuning, influence, grouped, rng):
    X, Y = clusters(rng, 80)
    weights, groups = rng.integers(1, 3, 80), np.arange(80) // 3 if grouped else None
    given = {"label_rule": "threshold", "calibration": "loo", "influence": influence, "tuning": tuning}
    searched = SMLClassifier(RBF(), **given).fit(X, Y, sample_weight=weights, groups=groups)
    fixed = SMLClassifier(searched.similarity_, **given).fit(X, Y, sample_weight=weights, groups=groups)
    np.testing.assert_allclose(searched.predict_proba(X), fixed.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(searched.predict(X), fixed.predict(X))
