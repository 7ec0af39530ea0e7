"""What the league table says, on made-up figures: places, tests, gaps, accuracy for the time, the page."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from league_tables import THREE, score, table
from simlabel.experiments.league import (
    League,
    all_played,
    gaps,
    paper_claims,
    per_second,
    practically,
    ranking,
    selections,
    signed_rank,
    wins,
)
from simlabel.reports import league_report, to_html, to_markdown


def test_places_and_gaps():
    league = table(THREE)
    found = ranking(league, "average_precision")
    assert found.mean_ranks == {"rf": 2.0, "autosml": 2.0, "lr": 2.0}
    by_set = {gap.data: gap for gap in gaps(league, "average_precision")}
    assert by_set["a"].rival == "lr"
    assert by_set["a"].gain == pytest.approx(0.1)
    # two folds of which the test part is a quarter of the training part
    assert by_set["a"].error == pytest.approx(np.std([0.2, 0.0], ddof=1) * math.sqrt(1 / 2 + 1 / 4))
    assert by_set["a"].verdict == "level"
    assert by_set["b"].verdict == "behind"
    assert wins(league).loc["rf"].to_dict() == {"dense": "1-0-1", "all": "1-0-1"}
    assert wins(league).loc["lr", "all"] == "1-1-0"  # 0.005 less is a tie
    assert wins(league, "ranking_loss").loc["rf", "all"] == "1-0-1"  # there the lower figure wins


def test_who_was_late_is_last_and_who_did_not_play_has_not_lost():
    scores = {key: one for key, one in THREE.items() if key != ("b", "rf")}
    assert ranking(table(scores), "average_precision").mean_ranks == {"autosml": 1.5, "lr": 1.5}
    late = table(scores, late=[("b", "rf")])
    assert ranking(late, "average_precision").mean_ranks["rf"] == 3.0  # the last on both
    assert ranking(late, "ranking_loss").mean_ranks["rf"] == 2.0  # first on a, third on b
    assert (
        ranking(late, "average_precision", selections(late)["nobody late"]) is None
    )  # a is the only set left
    assert all_played(late) == (["a", "b"], ["autosml", "rf", "lr"])


def test_our_method_loses_too_where_it_is_late():
    scores = {key: one for key, one in THREE.items() if key != ("b", "autosml")}
    found = ranking(table(scores, late=[("b", "autosml")]), "average_precision")
    assert found.n_sets == 2
    assert found.mean_ranks["autosml"] == 2.0  # the first on a, the last on b


def test_late_is_a_place_and_no_figure():
    """Who was late is compared with nobody: else late were the worse, the worse somebody else is."""
    scores = {key: one for key, one in THREE.items() if key != ("b", "rf")}
    scores |= {("c", "autosml"): score(0.9), ("c", "rf"): score(0.85), ("c", "lr"): score(0.1)}
    late = table(scores, late=[("b", "rf")])
    assert practically(late)["rf"] == signed_rank(np.array([0.15, 0.05]))
    assert practically(late)["rf"].n_sets == 2
    assert wins(late).loc["rf", "all"] == "3-0-0"  # and that is a loss
    pairs = {(pair.first, pair.second): pair.p_value for pair in ranking(late, "average_precision").pairs}
    assert pairs["autosml", "rf"] == pytest.approx(0.5)  # Wilcoxon's least of two sets; of three 0.25
    own = table(scores | {("b", "rf"): score(0.6)}, late=[("b", "autosml")])
    del own.scores["b", "autosml"]
    assert wins(own).loc["rf", "all"] == "2-0-1"
    assert (
        wins(table(THREE | {("c", "lr"): score(0.1)}, late=[("c", "autosml"), ("c", "rf")])).loc["rf", "made"]
        == "0-1-0"
    )


def test_where_our_method_was_late_that_is_said():
    scores = {key: one for key, one in THREE.items() if key != ("b", "autosml")}
    gap = {one.data: one for one in gaps(table(scores, late=[("b", "autosml")]), "average_precision")}["b"]
    assert (gap.verdict, gap.rival, gap.other) == ("late", "rf", 0.6)


def test_a_fold_on_which_nothing_is_defined_is_left_out():
    scores = THREE | {("a", "autosml"): score(0.8, math.nan, 0.9), ("a", "lr"): score(0.6, math.nan, 0.9)}
    gap = gaps(table(scores), "average_precision")[0]
    assert (gap.folds, gap.verdict) == (2, "level")
    assert gap.gain == pytest.approx(0.1)


def test_places_over_some_of_the_sets():
    more = THREE | {("c", "autosml"): score(0.9), ("c", "lr"): score(0.95), ("d", "lr"): score(0.5)}
    league = table(more, late=[("c", "rf")], kinds=("dense", "raw table", "made", "dense"))
    assert selections(league) == {
        "all sets": ["a", "b", "c", "d"],
        "matrices": ["a", "c", "d"],
        "without made sets": ["a", "b", "d"],
        "nobody late": ["a", "b", "d"],
    }
    found = ranking(league, "average_precision", ["a", "c"])
    assert found.mean_ranks == {"autosml": 1.5, "lr": 1.5, "rf": 3.0}
    assert "| critical difference |" in to_markdown(league_report(league))
    assert ranking(league, "average_precision", []) is None  # of no sets there are no places


def test_accuracy_for_the_time():
    frame = per_second(table(THREE))
    assert frame.loc["lr", "seconds"] == pytest.approx(0.1)
    assert frame.loc["autosml", "average precision"] == pytest.approx(0.675)
    assert frame["unbeaten"].to_dict() == {"lr": True, "autosml": True, "rf": False}  # slow, and behind
    assert frame["gain"].isna().all()  # above what, where frequencies have not played?
    more = per_second(table(THREE | {("a", "prior"): score(0.4), ("b", "prior"): score(0.4)}))
    assert more.loc["autosml", "gain"] == pytest.approx(0.275)


def test_the_signed_rank_test_in_closed_form():
    """One set: the weights are Beta(1, 1/2), and the winner is known for every weight."""
    # 0.03: its pair with "no difference" has a mean of 0.015, above the region: better where w0^2 < 1/2
    above = 1 - math.sqrt(0.5)
    # P(w1 > t) = sqrt(1 - t) for Beta(1, 1/2)
    expected = math.sqrt(1 - above)
    assert signed_rank(np.array([0.03])).better == pytest.approx(expected, abs=0.015)
    # 0.015: only the set with itself is above; P(w1^2 > 1/2)
    found = signed_rank(np.array([0.015]))
    assert found.better == pytest.approx(math.sqrt(1 - math.sqrt(0.5)), abs=0.015)
    assert found.equal == pytest.approx(1 - found.better)
    turned = signed_rank(np.array([-0.015]))
    assert (turned.worse, turned.better) == (pytest.approx(found.better), 0.0)
    assert signed_rank(np.zeros(5)).equal == 1.0


def test_practical_differences_are_against_our_method():
    league = table(
        {
            ("a", "autosml"): score(0.9),
            ("b", "autosml"): score(0.9),
            ("a", "lr"): score(0.5),
            ("b", "lr"): score(0.5),
        }
    )
    assert practically(league)["lr"].better > 0.8


def test_the_paper_s_claims():
    scores = {("a", "sml"): score(0.9, 0.9), ("a", "mlknn"): score(0.8, 0.7)}
    (one,) = paper_claims(table(scores))
    # the same numbers stand for all five criteria: of losses the rival has the better ones
    assert (one.first_on, one.of, one.best) == (1, 5, "mlknn")
    assert (one.smaller_spread, one.spreads) == (5, 5)


def test_what_is_kept_comes_back(tmp_path):
    league = table(THREE, late=[("a", "svc")])
    league.write(tmp_path / "league.json")
    back = League.read(tmp_path / "league.json")
    assert back.scores == league.scores
    assert (back.late, back.sets, back.machine, back.limit) == (league.late, league.sets, "here", 60.0)
    json.loads((tmp_path / "league.json").read_text(), parse_constant=lambda name: pytest.fail(name))


def test_the_page_opens_every_figure_down_to_its_folds():
    league = table(THREE, late=[("b", "svc")])
    page = to_html(league_report(league))
    assert "<summary>0.850 ± 0.050</summary><div>fold 1: 0.8000</div><div>fold 2: 0.9000</div>" in page
    assert "https://" not in page
    text = to_markdown(
        league_report(league, table({("a", "autosml"): score(0.8), ("a", "without_rule"): score(0.7)}))
    )
    assert "| b | 0.500 | rf | 0.600 | -0.1000 ± 0.0000 | 2 | behind |" in text
    assert "took more than 60 processor seconds" in text
    assert "+0.1000" in text
