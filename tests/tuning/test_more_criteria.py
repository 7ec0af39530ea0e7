"""A search can use any criterion, with the value that `evaluate` gives."""

from __future__ import annotations

import numpy as np
import pytest

from made_data import make_data
from simlabel import SMLClassifier
from simlabel.metrics import MORE_CRITERIA, evaluate, propensities
from simlabel.similarities import RBF
from simlabel.tuning import Validation

NAMES = [name for name in MORE_CRITERIA if not name.endswith("@5")]


@pytest.mark.parametrize("name", NAMES)
def test_the_curve_is_leave_one_out_by_that_criterion(name):
    data = make_data(rows=40)
    model = SMLClassifier(tuning=Validation(criterion=name), random_state=0).fit(data.X, data.Y)
    curve = model.tuning_.to_frame()
    assert model.tuning_.criterion == name
    assert curve[name].max() == pytest.approx(curve[name][curve["gamma"] == model.similarity_.gamma].item())
    if name.startswith("psp"):
        return  # the curve has the gains that are not yet divided by the best possible sum
    gamma = curve["gamma"].iloc[len(curve) // 2]
    predicted, scores = [], []
    for i in range(data.n_rows):
        others = np.delete(np.arange(data.n_rows), i)
        # the normalizer is unit length, which does not learn from rows
        left = SMLClassifier(RBF(gamma=gamma)).fit(data.X[others], data.Y[others])
        predicted.append(left.predict(data.X[[i]]).toarray()[0])
        scores.append(left.label_weights(data.X[[i]])[0])
    found = evaluate(data.Y, np.array(predicted), np.array(scores), criteria=[name])
    assert curve[name][curve["gamma"] == gamma].item() == pytest.approx(found[name])


def test_propensity_scored_precision_ranks_candidates_as_evaluate_does():
    data = make_data(rows=60)
    model = SMLClassifier(tuning=Validation(criterion="psp@1"), random_state=0).fit(data.X, data.Y)
    curve = model.tuning_.to_frame()
    best = 1.0 / propensities(data.Y)
    ideal = (data.Y.toarray() * best).max(axis=1).mean()
    assert (curve["psp@1"] <= ideal + 1e-12).all()


def test_an_unknown_criterion_is_named():
    with pytest.raises(ValueError, match=r"Validation: unknown criterion 'f1'; .* Or pass a function"):
        SMLClassifier(tuning=Validation(criterion="f1")).fit([[0.0], [1.0]], [{"a"}, {"b"}])
