"""The paper's tables: the constants equal the paper's text, and quick runs agree with them.

A quick run has 3 folds in place of 10, the boosting algorithms have fewer rounds, and Rank-SVM stops at a
larger gap. So a mean may differ from the published one by at most TOLERANCE published standard deviations.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from simlabel.datasets import DatasetError, load_dataset
from simlabel.experiments import PUBLISHED, PaperValue, check_claims, find_algorithm, reproduce
from simlabel.metrics import CRITERIA

TOLERANCE = 2.0
QUICK_SETTINGS = {"boostexter": {"n_rounds": 60}, "adtboost": {"n_rounds": 15}, "ranksvm": {"tol": 0.05}}
ALGORITHMS = {
    "sml": "SML",
    "mlknn": "ML-kNN",
    "boostexter": "BoosTexter",
    "adtboost": "ADTBoost.MH",
    "ranksvm": "Rank-SVM",
}

# copied from the LaTeX source of the paper: a row per criterion, a column per algorithm
PAPER = {
    "yeast": """
        0.193 0.013 | 0.194 0.010 | 0.220 0.011 | 0.207 0.010 | 0.207 0.013
        0.220 0.021 | 0.230 0.030 | 0.278 0.034 | 0.244 0.035 | 0.243 0.039
        6.082 0.184 | 6.275 0.240 | 6.550 0.243 | 6.390 0.203 | 7.090 0.503
        0.155 0.011 | 0.167 0.016 | 0.186 0.015 | N/A         | 0.195 0.021
        0.783 0.016 | 0.765 0.021 | 0.737 0.022 | 0.744 0.025 | 0.749 0.026""",
    "image": """
        0.140 0.009 | 0.169 0.016 | 0.179 0.015 | 0.193 0.014 | 0.253 0.055
        0.252 0.026 | 0.300 0.046 | 0.311 0.041 | 0.375 0.049 | 0.491 0.135
        0.984 0.112 | 0.939 0.100 | 0.939 0.092 | 1.102 0.111 | 1.382 0.381
        0.164 0.020 | 0.168 0.024 | 0.168 0.020 | N/A         | 0.278 0.096
        0.852 0.016 | 0.803 0.027 | 0.798 0.024 | 0.755 0.027 | 0.682 0.093""",
}
# SML's published values on image are not reached: no choice of the paper's parameters that was tried does
NOT_REACHED = {("image", "sml"): {"hamming_loss", "one_error", "average_precision"}}


def paper_value(name, algorithm, criterion):
    """Mean and standard deviation of the paper, or None."""
    row = PAPER[name].strip().splitlines()[list(CRITERIA).index(criterion)]
    cell = row.split("|")[list(ALGORITHMS.values()).index(algorithm)].split()
    return None if cell == ["N/A"] else tuple(map(float, cell))


@pytest.fixture(params=["yeast", "image"])
def name(request):
    if request.param == "image" and "SIMLABEL_DATA" not in os.environ:
        pytest.skip("image needs the folder of data sets that SIMLABEL_DATA names")
    try:
        load_dataset(request.param)
    except DatasetError as error:
        pytest.skip(str(error))
    return request.param


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_quick_run_agrees_with_the_paper(name, algorithm):
    found = find_algorithm(algorithm)
    quick = replace(found, estimator=found.estimator.set_params(**QUICK_SETTINGS.get(algorithm, {})))
    reproduction = reproduce(name, algorithms=[quick], folds=3)
    assert not reproduction.comparison.failures
    rows = reproduction.rows()
    assert [row.criterion for row in rows] == list(CRITERIA)
    apart = set()
    for row in rows:
        assert row.algorithm == ALGORITHMS[algorithm]
        published = paper_value(name, row.algorithm, row.criterion)
        if published is None:
            assert row.published is row.agrees is None
            continue
        deviation = (row.measured.mean - published[0]) / published[1]
        assert row.agrees == (abs(deviation) <= 1.0)
        if abs(deviation) > TOLERANCE:
            apart.add(row.criterion)
    assert apart == NOT_REACHED.get((name, algorithm), set())


@pytest.mark.parametrize("name", ["yeast", "image"])
def test_the_constants_are_those_of_the_paper(name):
    assert set(PUBLISHED[name]) == set(ALGORITHMS.values())
    for algorithm, row in PUBLISHED[name].items():
        for criterion, figure in row.items():
            found = None if figure is None else (figure.mean, figure.std)
            assert found == paper_value(name, algorithm, criterion)


def published(name):
    """The paper's values; ADTBoost.MH has no ranking loss."""
    nothing = PaperValue(float("nan"), float("nan"))
    return {
        algorithm: {criterion: figure or nothing for criterion, figure in row.items()}
        for algorithm, row in PUBLISHED[name].items()
    }


@pytest.mark.parametrize("name", ["yeast", "image"])
def test_the_papers_values_support_its_claims(name):
    for claim in check_claims(name, published(name)):
        assert claim.holds, claim


def test_one_better_baseline_is_enough_to_refute():
    table = published("yeast")
    table["ML-kNN"] = {**table["ML-kNN"], "one_error": PaperValue(0.210, 0.001)}
    best, spread, everywhere = check_claims("yeast", table)
    assert not best.holds
    assert best.because == "one-error of ML-kNN is 0.210, of SML 0.220"
    assert "one-error against ML-kNN" in spread.because
    assert everywhere.holds
    table["ML-kNN"]["coverage"] = PaperValue(6.275, 0.183)
    everywhere = check_claims("yeast", table)[2]
    assert everywhere.verdict == "does not hold"
    assert "coverage against ML-kNN" in everywhere.because


def test_a_tie_is_not_better():
    table = published("yeast")
    table["ML-kNN"] = {**table["ML-kNN"], "hamming_loss": PaperValue(0.1934, 0.01)}
    assert not check_claims("yeast", table)[0].holds


def test_without_baselines_nothing_is_judged():
    assert [claim.verdict for claim in check_claims("image", {"SML": published("image")["SML"]})] == [
        "cannot be judged",
        "cannot be judged",
    ]


def test_reproduce_lists_absent_algorithms():
    try:
        load_dataset("yeast")
    except DatasetError as error:
        pytest.skip(str(error))
    found = reproduce("yeast", algorithms=["sml", "nosuch:Model"], folds=2)
    assert [failure.algorithm for failure in found.comparison.failures] == ["nosuch:Model"]
    assert found.to_dict()["claims"][0]["holds"] is None


def test_only_the_papers_sets():
    with pytest.raises(ValueError, match="tables for yeast and image, got 'scene'"):
        reproduce("scene")
