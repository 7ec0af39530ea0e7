"""normalizer="auto" chooses the best by leave-one-out, which is saved and updated like any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel.metrics import average_precision
from simlabel.normalizers import UnitLength, UnitsWarning
from simlabel.similarities import RBF, ChiSquare, Precomputed


def mixed_units(rng, n=120):
    """Return rows whose labels depend on small columns, and with a large column of noise."""
    X = rng.normal(size=(n, 4))
    Y = (X[:, :3] > 0).astype(int)
    return X * [1.0, 0.01, 0.1, 1000.0], Y


SPECS = ["l2", "zscore", "minmax", "quantile", ["zscore", "l2"], ["minmax", "l2"], ["quantile", "l2"]]


@pytest.mark.parametrize("similarity", [RBF(), RBF(0.5)], ids=["open", "fixed"])
@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.filterwarnings("ignore::simlabel.SimlabelWarning")  # misfits are tried too
def test_it_takes_the_best_by_leave_one_out(similarity, influence, rng):
    X, Y = mixed_units(rng)
    stages = {"influence": influence, "tuning": "loo", "random_state": 0}
    model = SMLClassifier(similarity, normalizer="auto", **stages).fit(X, Y)
    values = {}
    for spec in SPECS:
        one = SMLClassifier(similarity, normalizer=spec, **stages).fit(X, Y)
        values[str(spec)] = average_precision(Y, one.leave_one_out())
    best = max(values, key=values.get)
    note = model.tuning_.note
    for spec in SPECS:
        name = "+".join(spec) if isinstance(spec, list) else spec
        assert f"{name} {values[str(spec)]:.4f}" in note
    chosen = SMLClassifier(similarity, normalizer=model.normalizer_, **stages).fit(X, Y)
    assert average_precision(Y, chosen.leave_one_out()) == pytest.approx(values[best])
    assert best != "l2"


def test_saved_taught_forgotten_and_chosen_anew(rng, tmp_path):
    X, Y = mixed_units(rng)
    model = SMLClassifier(RBF(0.5), normalizer="quantile").fit(X[:60], Y[:60])
    held = model.normalizer_
    model.partial_fit(X[60:80], Y[60:80]).forget(range(10))
    fresh = SMLClassifier(RBF(0.5), normalizer=None).fit(held.transform(X[10:80]), Y[10:80])
    Q = mixed_units(rng)[0]
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(held.transform(Q)), rtol=1e-9)
    model.save(tmp_path / "m.simlabel")
    np.testing.assert_array_equal(load(tmp_path / "m.simlabel").label_weights(Q), model.label_weights(Q))
    auto = SMLClassifier(RBF(0.5), normalizer="auto").fit(X, Y)
    auto.save(tmp_path / "a.simlabel")
    again = load(tmp_path / "a.simlabel")
    np.testing.assert_array_equal(again.label_weights(Q), auto.label_weights(Q))
    assert again.normalizer == "auto"
    assert again.retune().tuning_.note == auto.tuning_.note


def test_what_suits_rows_and_similarity_is_compared(rng, changed_limits):
    X, Y = mixed_units(rng)
    sparse = SMLClassifier(normalizer="auto").fit(sp.csr_array(np.maximum(X, 0.0)), Y)
    assert "quantile" not in sparse.tuning_.note
    for rows, wanted in ((X, ["minmax"]), (np.abs(X), ["l2", "minmax"])):
        note = SMLClassifier(ChiSquare(), normalizer="auto").fit(rows, Y).tuning_.note
        tried = [part.split()[0] for part in note.partition("(")[2].partition(")")[0].split(", ")]
        assert [name for name in tried if "+" not in name] == wanted
    S = SMLClassifier(Precomputed(), normalizer="auto").fit(np.eye(60) + 0.1, Y[:60])
    assert S.normalizer_ is None
    with changed_limits(normalizer_rows=50):
        assert "on 50 rows" in SMLClassifier(normalizer="auto", random_state=0).fit(X, Y).tuning_.note


def test_a_word_about_units_with_the_way_out(rng):
    X, Y = mixed_units(rng)
    table = pd.DataFrame(X, columns=["a", "b", "c", "income"])
    for normalizer in ("l2", None):
        with pytest.warns(UnitsWarning, match="column 'income' makes up 100.0% .*normalizer='auto'"):
            SMLClassifier(RBF(1.0), normalizer=normalizer).fit(table, Y)
    for meant in ("zscore", "quantile", UnitLength(), ["minmax", "l2"]):
        SMLClassifier(RBF(1.0), normalizer=meant).fit(table, Y)  # warnings are errors here
    AutoSMLClassifier(configurations=[("l2", RBF(1.0), "uniform")]).fit(table, Y)
