"""Statistics of the benchmark on chosen values: ranks, tests, differences, costs, the page."""

from __future__ import annotations

import math

import numpy as np
import pytest
from league.analysis import (
    compared,
    costs,
    differences,
    paper_claims,
    practically,
    ranking,
    signed_rank,
    subsets,
    wins,
)
from league.page import page
from league_results import THREE, score, table

WITHOUT_OURS = {key: one for key, one in THREE.items() if key != ("b", "autosml")}
WITHOUT_RF = {key: one for key, one in THREE.items() if key != ("b", "rf")}


def test_ranks_and_differences():
    results = table(THREE)
    assert ranking(results, "average_precision").mean_ranks == {"rf": 2.0, "autosml": 2.0, "lr": 2.0}
    by_set = {one.data: one for one in differences(results, "average_precision")}
    assert by_set["a"].method == "lr"
    assert by_set["a"].gain == pytest.approx(0.1)
    # two folds of which the test part is a quarter of the training part
    assert by_set["a"].error == pytest.approx(np.std([0.2, 0.0], ddof=1) * math.sqrt(1 / 2 + 1 / 4))
    assert by_set["a"].verdict == "level"
    assert by_set["b"].verdict == "behind"
    assert wins(results).loc["rf"].to_dict() == {"dense": "1-0-1", "all": "1-0-1"}
    assert wins(results).loc["lr", "all"] == "1-1-0"  # a difference of 0.005 is a tie
    assert wins(results, "ranking_loss").loc["rf", "all"] == "1-0-1"  # lower is better


def test_a_failed_method_ranks_last_and_a_skipped_one_does_not():
    skipped = ranking(table(WITHOUT_RF), "average_precision")
    assert skipped.mean_ranks == {"autosml": 1.5, "lr": 1.5}
    failed = table(WITHOUT_RF, failed=[("b", "rf")])
    assert ranking(failed, "average_precision").mean_ranks["rf"] == 3.0  # the last on both
    assert ranking(failed, "ranking_loss").mean_ranks["rf"] == 2.0  # first on a, third on b
    assert ranking(failed, "average_precision", subsets(failed)["no method failed"]) is None  # one set
    assert compared(failed) == (["a", "b"], ["autosml", "rf", "lr"])
    ours = ranking(table(WITHOUT_OURS, failed=[("b", "autosml")]), "average_precision")
    assert (ours.n_sets, ours.mean_ranks["autosml"]) == (2, 2.0)  # the first on a, the last on b


def test_a_failure_is_a_rank_and_a_loss_but_not_a_value():
    scores = WITHOUT_RF | {("c", "autosml"): score(0.9), ("c", "rf"): score(0.85), ("c", "lr"): score(0.1)}
    failed = table(scores, failed=[("b", "rf")])
    assert practically(failed)["rf"] == (2, signed_rank(np.array([0.15, 0.05])))
    assert wins(failed).loc["rf", "all"] == "3-0-0"
    pairs = {(pair.first, pair.second): pair.p_value for pair in ranking(failed, "average_precision").pairs}
    assert pairs["autosml", "rf"] == pytest.approx(0.5)  # Wilcoxon's minimum for two sets; for three 0.25
    own = {key: one for key, one in scores.items() if key != ("b", "autosml")} | {("b", "rf"): score(0.6)}
    assert wins(table(own, failed=[("b", "autosml")])).loc["rf", "all"] == "2-0-1"
    both = table(THREE | {("c", "lr"): score(0.1)}, failed=[("c", "autosml"), ("c", "rf")])
    assert wins(both).loc["rf", "synthetic"] == "0-1-0"


def test_a_failure_of_our_method_has_no_difference():
    results = table(WITHOUT_OURS, failed=[("b", "autosml")])
    (one,) = [one for one in differences(results, "average_precision") if one.data == "b"]
    assert (one.verdict, one.method, one.other) == ("failed", "rf", 0.6)


def test_a_fold_without_a_defined_value_is_left_out():
    scores = THREE | {("a", "autosml"): score(0.8, math.nan, 0.9), ("a", "lr"): score(0.6, math.nan, 0.9)}
    one = differences(table(scores), "average_precision")[0]
    assert (one.folds, one.verdict) == (2, "level")
    assert one.gain == pytest.approx(0.1)


def test_ranks_over_subsets():
    more = THREE | {("c", "autosml"): score(0.9), ("c", "lr"): score(0.95), ("d", "lr"): score(0.5)}
    results = table(more, failed=[("c", "rf")], kinds=("dense", "raw table", "synthetic", "dense"))
    assert subsets(results) == {
        "all sets": ["a", "b", "c", "d"],
        "matrices": ["a", "c", "d"],
        "without synthetic sets": ["a", "b", "d"],
        "no method failed": ["a", "b", "d"],
    }
    found = ranking(results, "average_precision", ["a", "c"])
    assert found.mean_ranks == {"autosml": 1.5, "lr": 1.5, "rf": 3.0}
    assert ranking(results, "average_precision", []) is None


def test_costs():
    frame = costs(table(THREE))
    assert frame.loc["lr", "seconds"] == pytest.approx(0.1)
    assert frame.loc["autosml", "average precision"] == pytest.approx(0.675)
    assert frame["best"].to_dict() == {"lr": True, "autosml": True, "rf": False}  # slower and worse


def test_the_signed_rank_test_in_closed_form():
    """One set: the weights are Beta(1, 1/2), and the winner is known for every weight."""
    # 0.03: its pair with "no difference" has a mean of 0.015, above the region: better where w0^2 < 1/2
    above = 1 - math.sqrt(0.5)
    # P(w1 > t) = sqrt(1 - t) for Beta(1, 1/2)
    assert signed_rank(np.array([0.03]))[0] == pytest.approx(math.sqrt(1 - above), abs=0.015)
    # 0.015: only the set with itself is above; P(w1^2 > 1/2)
    better, equal, _ = signed_rank(np.array([0.015]))
    assert better == pytest.approx(math.sqrt(1 - math.sqrt(0.5)), abs=0.015)
    assert equal == pytest.approx(1 - better)
    assert signed_rank(np.array([-0.015]))[::2] == (0.0, pytest.approx(better))
    assert signed_rank(np.zeros(5)) == (0.0, 1.0, 0.0)
    clear = {(data, name): score(value) for data in "ab" for name, value in (("autosml", 0.9), ("lr", 0.5))}
    assert practically(table(clear))["lr"][1][0] > 0.8


def test_the_paper_s_claims():
    (one,) = paper_claims(table({("a", "sml"): score(0.9, 0.9), ("a", "mlknn"): score(0.8, 0.7)}))
    # all five criteria have the same values: for losses those of ML-kNN are better
    assert (one.first_on, one.best) == (1, "mlknn")
    assert (one.smaller_errors, one.errors) == (5, 5)


def test_the_page():
    ablation = table({("a", "autosml"): score(0.8), ("a", "without_rule"): score(0.7)})
    part = page(table(THREE | {}, failed=[("b", "svc")]), ablation, "An introduction.", 60.0)
    (rows,) = [rows for heading, rows in part.tables.items() if heading.startswith("autosml minus the best")]
    assert rows[1][:2] == ["b (2 folds)", "-0.1000 ± 0.0000 rf: behind"]
    (rows,) = [rows for heading, rows in part.tables.items() if heading.startswith("AutoSML minus")]
    assert rows == [["without_rule", "+0.1000", "+0.1000", "+0.1000", "+0.1000"]]
    (rows,) = [rows for heading, rows in part.tables.items() if heading.startswith("b: ")]
    assert ["svc", "timed out", "", "", "", ""] in rows
    assert any("more than 60 processor seconds" in note for note in part.notes)
