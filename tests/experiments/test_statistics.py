from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from simlabel.experiments import critical_difference, holm, rank_algorithms

# Demšar (2006), table 6: AUC of C4.5 with four settings on 14 sets; mean ranks 3.143, 2.000, 2.893, 1.964
DEMSAR = pd.DataFrame(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ],
    columns=["C4.5", "+m", "+cf", "+m+cf"],
)


def test_the_example_of_the_textbook():
    ranking = rank_algorithms(DEMSAR, "average_precision")
    expected = {"C4.5": 3.143, "+m": 2.000, "+cf": 2.893, "+m+cf": 1.964}
    assert ranking.mean_ranks == pytest.approx(expected, abs=0.0006)
    assert list(ranking.mean_ranks) == ["+m+cf", "+m", "+cf", "C4.5"]
    # chi-square 9.28 with 3 degrees of freedom, before the correction for ties that scipy makes
    assert 0.01 < ranking.friedman < stats.chi2.sf(9.28, 3) + 1e-3
    # the two-tailed critical value for 4 classifiers is 2.569: CD = 2.569 * sqrt(4 * 5 / (6 * 14)) = 1.25
    assert ranking.critical_difference == pytest.approx(1.25, abs=0.005)
    assert all(pair.p_holm >= pair.p_value for pair in ranking.pairs)
    assert "Significant by Wilcoxon with Holm" in str(ranking)


@pytest.mark.parametrize(("algorithms", "value"), [(2, 1.960), (3, 2.343), (5, 2.728), (10, 3.164)])
def test_critical_values_of_the_table(algorithms, value):
    expected = value * math.sqrt(algorithms * (algorithms + 1) / (6 * 20))
    assert critical_difference(algorithms, 20) == pytest.approx(expected, rel=5e-4)


def test_lower_is_better_turns_the_ranks_round():
    up, down = rank_algorithms(DEMSAR, "average_precision"), rank_algorithms(-DEMSAR, "hamming_loss")
    assert up.mean_ranks == down.mean_ranks
    if up.nemenyi is not None:
        np.testing.assert_allclose(up.nemenyi, down.nemenyi)


def test_nemenyi_and_holm_agree_with_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    ranking = rank_algorithms(DEMSAR, "average_precision")
    assert ranking.nemenyi.loc["C4.5", "+m+cf"] < 0.1
    long = DEMSAR.melt()
    table = posthocs.posthoc_wilcoxon(long, val_col="value", group_col="variable", p_adjust="holm")
    for pair in ranking.pairs:
        assert pair.p_holm == pytest.approx(table.loc[pair.first, pair.second])


def test_equal_algorithms_do_not_differ_significantly():
    means = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.3]})
    ranking = rank_algorithms(means, "hamming_loss")
    assert ranking.mean_ranks == {"a": 1.5, "b": 1.5}
    assert ranking.pairs[0].p_value == 1.0
    assert math.isnan(ranking.friedman)
    assert "at least three algorithms" in str(ranking)


def test_too_few_data_sets_raise():
    with pytest.raises(ValueError, match="at least 2 data sets and 2 algorithms"):
        rank_algorithms(DEMSAR.iloc[:1], "hamming_loss")


def test_holm_keeps_the_order():
    assert holm([0.01, 0.5, 0.9]) == [0.03, 1.0, 1.0]
    assert holm([]) == []
