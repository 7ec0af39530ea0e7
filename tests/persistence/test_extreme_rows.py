"""Models of extreme numbers: whatever `fit` accepts can be saved and loaded, and predicts the same."""

import extreme_rows
import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel.similarities import RBF, Jaccard, OnColumns

PLAIN = {"influence": "uniform", "label_rule": "threshold", "calibration": None, "dtype": "f8"}


@pytest.mark.parametrize("influence", ["uniform", "label_mean"])
@pytest.mark.parametrize(
    ("normalizer", "values"),
    [("zscore", "1e200 column"), (["zscore", "l2"], "1e200 column"), ("minmax", "both signs")],
)
def test_a_normalizer_that_overflows_is_refused(normalizer, values, influence, tmp_path, monkeypatch):
    """Jaccard ignores NaN, so these models were fitted and saved; load refused their normalizers."""
    monkeypatch.chdir(tmp_path)
    settings = {"similarity": "jaccard", "normalizer": normalizer, "values": values}
    extreme_rows.check({**PLAIN, **settings, "influence": influence})
    X, y = extreme_rows.rows(values, "f8")
    with pytest.raises(ValueError, match=r"^normalizer .* cannot be fitted: X has features that are too"):
        SMLClassifier("jaccard", normalizer=normalizer).fit(X, y)
    on_columns = OnColumns(Jaccard(), [0], normalizer)
    with pytest.raises(ValueError, match=r"^normalizer .* cannot be fitted: X has features that are too"):
        SMLClassifier(on_columns, normalizer=None).fit(X, y)


def test_queries_and_new_rows_that_overflow_are_refused(rng):
    X, y = rng.random((6, 2)), [{"a"}, {"b"}] * 3
    X = 1e-150 * X
    model = SMLClassifier(RBF(1.0), normalizer="zscore").fit(X, y)
    known = model.decision_function(X)
    for call in (model.predict, lambda Q: model.partial_fit(Q, [{"a"}])):
        with pytest.raises(ValueError, match="produces NaN or infinity for some rows"):
            call([[1e200, -1e200]])
    np.testing.assert_array_equal(model.decision_function(X), known)


@pytest.mark.parametrize("seed", range(0, extreme_rows.N_CASES, extreme_rows.N_CASES // 60))
def test_some_of_all_combinations(seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    extreme_rows.case(None, seed)
