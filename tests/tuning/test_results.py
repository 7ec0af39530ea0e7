"""Results of a search in the form of scikit-learn's `cv_results_`."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from made_data import make_data
from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.tuning import LeaveOneOut, TuningResult, Validation

RESULT_KEYS = {"params", "mean_test_score", "standard_error_test_score", "rank_test_score"}
MODELS = {
    "sums": SMLClassifier(random_state=0),
    "ridge": SMLClassifier(influence="ridge", tuning="loo", random_state=0),
    "own gamma and penalty": SMLClassifier("laplacian", influence="ridge", random_state=0),
    "loss": SMLClassifier(tuning=Validation(criterion="hamming_loss"), random_state=0),
    "ranking loss": SMLClassifier(tuning=LeaveOneOut(criterion="ranking_loss"), random_state=0),
    "auto": AutoSMLClassifier(random_state=0),
    "auto by a loss": AutoSMLClassifier(criterion="ranking_loss", random_state=0),
    "table": Tagger(random_state=0),
}


def fitted(name, rows=80):
    data = make_data(rows=rows)
    table = pd.DataFrame(data.X, columns=list(data.feature_names))
    table["text"] = ["red fox" if x > 0 else "blue sky" for x in data.X[:, 0]]
    return clone(MODELS[name]).fit(table if name == "table" else data.X, data.Y)


def unmasked(results, row):
    """Return the parameters of a row, read from the columns."""
    columns = {key.removeprefix("param_"): value for key, value in results.items() if "param_" in key}
    return {name: column[row] for name, column in columns.items() if not np.ma.getmaskarray(column)[row]}


@pytest.mark.parametrize("name", MODELS)
def test_results_are_columns_of_one_length_with_the_best_first_in_rank(name):
    model = fitted(name)
    results = model.cv_results_
    n = len(results["params"])
    assert n > 1
    assert set(results) >= RESULT_KEYS
    assert {len(column) for column in results.values()} == {n}
    assert {key for key in results if key.startswith("param_")} == {
        f"param_{each}" for one in results["params"] for each in one
    }
    assert [unmasked(results, row) for row in range(n)] == results["params"]

    frame = pd.DataFrame(results)
    assert frame.shape == (n, len(results))
    assert frame.params.tolist() == results["params"]
    first = frame.params[frame.rank_test_score == 1].tolist()
    if isinstance(model, AutoSMLClassifier):
        assert first == [results["params"][0]]
        top = model.leaderboard_.iloc[0]
        assert first == [{name: top[name] for name in ("normalizer", "similarity", "influence")}]
    else:
        assert model.tuning_.best in first


@pytest.mark.parametrize("name", ["sums", "ridge", "loss", "ranking loss"])
def test_a_higher_score_has_a_better_rank_and_losses_are_negative(name):
    model = fitted(name)
    results, values = model.cv_results_, np.array(model.tuning_.values)
    scores, ranks = results["mean_test_score"], results["rank_test_score"]
    loss = model.tuning_.criterion in ("hamming_loss", "ranking_loss")
    np.testing.assert_allclose(scores, -values if loss else values)
    assert ranks.tolist() == [1 + int((scores > score).sum()) for score in scores]


def test_candidates_that_could_not_be_scored_come_last():
    gammas = ({"gamma": 1.0}, {"gamma": 2.0}, {"gamma": 4.0})
    result = TuningResult(
        ("gamma",), gammas, "one_error", (0.2, float("nan"), 0.1), (0.0,) * 3, {"gamma": 4.0}, 9
    )
    assert result.cv_results()["rank_test_score"].tolist() == [2, 3, 1]


def test_a_search_without_candidates_gives_an_empty_frame():
    results = SMLClassifier("linear").fit([[0.0, 1.0], [1.0, 0.0]], [{"a"}, {"b"}]).cv_results_
    assert pd.DataFrame(results).empty
    assert set(results) == RESULT_KEYS


@pytest.mark.parametrize(
    "model", [SMLClassifier(), AutoSMLClassifier(), Tagger()], ids=lambda m: type(m).__name__
)
def test_results_are_there_after_fit_only(model):
    with pytest.raises(AttributeError, match="not fitted yet"):
        model.cv_results_  # noqa: B018
