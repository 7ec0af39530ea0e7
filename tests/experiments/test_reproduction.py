from __future__ import annotations

import pytest

from simlabel.datasets import DatasetError, load_dataset
from simlabel.experiments import PUBLISHED, Figure, judge, reproduce
from simlabel.metrics import CRITERIA


def published(name):
    """The paper's own figures; ADTBoost.MH has no ranking loss."""
    nothing = Figure(float("nan"), float("nan"))
    return {
        algorithm: {criterion: figure or nothing for criterion, figure in row.items()}
        for algorithm, row in PUBLISHED[name].items()
    }


@pytest.mark.parametrize("name", ["yeast", "image"])
def test_the_papers_own_figures_bear_out_its_claims(name):
    for claim in judge(name, published(name)):
        assert claim.holds, claim


def test_one_better_rival_is_enough_to_refute():
    table = published("yeast")
    table["ML-kNN"] = {**table["ML-kNN"], "one_error": Figure(0.210, 0.001)}
    best, spread, everywhere = judge("yeast", table)
    assert not best.holds
    assert best.because == "one-error of ML-kNN is 0.210, of SML 0.220"
    assert "one-error against ML-kNN" in spread.because
    assert everywhere.holds
    table["ML-kNN"]["coverage"] = Figure(6.275, 0.183)
    everywhere = judge("yeast", table)[2]
    assert everywhere.verdict == "does not hold"
    assert "coverage against ML-kNN" in everywhere.because


def test_a_tie_is_not_better():
    table = published("yeast")
    table["ML-kNN"] = {**table["ML-kNN"], "hamming_loss": Figure(0.1934, 0.01)}
    assert not judge("yeast", table)[0].holds


def test_without_rivals_nothing_is_judged():
    assert [claim.verdict for claim in judge("image", {"SML": published("image")["SML"]})] == [
        "cannot be judged",
        "cannot be judged",
    ]


def test_reproduce_says_who_is_absent():
    try:
        load_dataset("yeast")
    except DatasetError as error:
        pytest.skip(str(error))
    found = reproduce("yeast", algorithms=["sml", "nosuch:Model"], folds=2)
    rows = found.rows()
    assert [row.criterion for row in rows] == list(CRITERIA)
    assert all(
        row.published is not None and row.agrees == row.published.agrees(row.measured.mean) for row in rows
    )
    assert [failure.algorithm for failure in found.comparison.failures] == ["nosuch:Model"]
    assert found.to_dict()["claims"][0]["holds"] is None


def test_only_the_papers_sets():
    with pytest.raises(ValueError, match="tables for yeast and image, got 'scene'"):
        reproduce("scene")
