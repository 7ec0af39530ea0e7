"""What sentences say where a probability does not seem to follow, or a label is given that is not likely."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import naive
from simlabel import SMLClassifier, Tagger
from simlabel.model.inspection import compare_with_rate, explanation_texts, legend, turning_point
from simlabel.ridge import Ridge
from simlabel.rules import (
    CutoffRule,
    FixedSize,
    LeaveOneOutCalibration,
    OperatingPointRule,
    PerLabel,
    SetSize,
    Threshold,
)
from simlabel.similarities import RBF


def line(n=120):
    """Rows on a line; "low" up to 0.3, "odd" for every third."""
    X = np.linspace(0.0, 1.0, n)[:, None]
    y = [{"low"} if x <= 0.3 else {"high"} for x in X[:, 0]]
    for i in range(0, n, 3):
        y[i] = y[i] | {"odd"}
    return X, y


def explained(q, **settings):
    X, y = line()
    settings = {"calibration": "loo", "label_rule": FixedSize(3)} | settings
    return SMLClassifier(RBF(3.0), normalizer=None, **settings).fit(X, y).explain([[q]])


def sentences(why):
    return {each.name: each.sentence for each in explanation_texts(why, 0)}


def test_what_likely_means_is_said_once_on_a_terminal_and_in_a_notebook():
    X, y = line()
    why = SMLClassifier(RBF(3.0), normalizer=None, calibration="loo").fit(X, y).explain([[0.1], [0.9]])
    text, html = " ".join(str(why).split()), why._repr_html_()
    assert text.count(legend(why)) == 1
    assert html.count(legend(why)) == 1
    for each in explanation_texts(why, 0):
        assert each.sentence in html.replace("&#x27;", "'")


CHECKED, UNCHECKED = "of past cases that looked like this, ", "not checked against past cases"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"calibration": "loo"}, CHECKED),
        ({"calibration": None}, f"share of the similarity that rows with the tag make up; {UNCHECKED}"),
        ({"influence": Ridge(0.1), "calibration": "loo"}, CHECKED),
        ({"influence": Ridge(0.1), "calibration": None}, f"score as a share of the whole; {UNCHECKED}"),
    ],
)
def test_one_line_says_what_the_first_percentage_means(settings, said):
    why = explained(0.1, **settings)
    shown = re.search(r", ([^,]*%) likely", next(explanation_texts(why, 0)).sentence)[1]
    assert legend(why).startswith(f"{shown}: ")
    assert said in legend(why)
    assert (legend(why) == f"{shown}: {CHECKED}{shown} had the tag") == (settings["calibration"] == "loo")


def test_what_a_percentage_means_of_one_class():
    X, y = line()
    single = ["low" if "low" in labels else "high" for labels in y]
    checked = SMLClassifier(RBF(3.0), normalizer=None, calibration="loo").fit(X, single).explain([[0.1]])
    assert CHECKED in legend(checked)
    plain = SMLClassifier(RBF(3.0), normalizer=None, calibration=None).fit(X, single).explain([[0.1]])
    assert legend(plain).endswith(f": the tag's share of the scores of all tags; {UNCHECKED}")


def test_without_a_predicted_label_there_is_no_percentage_to_explain():
    none = explained(0.1, label_rule=PerLabel(thresholds=[1e9] * 3, minimum=0))
    assert legend(none) == ""
    assert str(none).startswith("Query 0: no label")


def test_a_rate_above_zero_is_never_shown_as_zero():
    X = np.vstack([np.linspace(0.0, 1.0, 300)[:, None], [[5.0]]])
    model = SMLClassifier(RBF(3.0), normalizer=None, influence=Ridge(0.1), label_rule=FixedSize(1))
    said = sentences(model.fit(X, [{"often"}] * 300 + [{"once"}]).explain([[5.0]]))["once"]
    assert "while 0.3% of all rows do" in said


def test_of_one_class_among_many_the_first_is_given_however_unlikely():
    why = SMLClassifier("linear", normalizer=None, calibration=None).fit(np.eye(3), ["a", "b", "c"])
    said = sentences(why.explain([[3.0, 2.9, 2.8]]))["a"]
    assert said.startswith("a, 34% likely, given because every row gets 1 label and no other scores higher: ")
    assert "given" not in sentences(why.explain([[3.0, 0.1, 0.1]]))["a"]


@pytest.mark.parametrize("enough", [10, 1000])
def test_the_turning_point_is_where_a_label_becomes_more_likely_than_not(enough):
    """For both kinds of curve, seen from new rows on either side of it."""
    X, y = line()
    calibration = LeaveOneOutCalibration(enough=enough)
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration=calibration).fit(X, y)
    Q = np.linspace(0.0, 1.0, 200)[:, None]
    why, shares, likely = model.explain(Q), model.decision_function(Q)[:, 1], model.predict_proba(Q)[:, 1]
    turn = turning_point(why, 1)
    assert why.labels[1] == "low"
    assert shares.min() < turn < shares.max()
    assert (likely[shares > turn + 1e-6] >= 0.5).all()
    assert (likely[shares < turn - 1e-6] < 0.5).all()


def test_a_share_that_is_enough_or_not_says_from_which_on_it_is():
    """Similarities so wide that shares differ little between rows: a little more tells a lot."""
    X, y = line()
    model = SMLClassifier(RBF(0.3), normalizer=None, calibration="loo", label_rule=FixedSize(3)).fit(X, y)
    enough, short = (sentences(model.explain([[q]]))["low"] for q in (0.0, 1.0))
    for said, words in ((enough, "enough: from"), (short, "not enough: only from")):
        share, turn = map(
            float, re.findall(r"([\d.]+)%[^%]*, which is (?:not )?enough: .*?([\d.]+)%", said)[0]
        )
        assert f", which is {words} " in said
        assert (share >= turn - 0.5) if said is enough else (share <= turn + 0.5)
    assert enough.startswith(("low, 9", "low, 100%"))


def test_where_no_share_was_enough_it_is_said():
    X, y = line()
    y = [labels | ({"rare"} if i % 10 == 0 else set()) for i, labels in enumerate(y)]
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration="loo", label_rule=FixedSize(4)).fit(X, y)
    why = model.explain([[0.5]])
    k = why.labels.tolist().index("rare")
    assert turning_point(why, k) == np.inf
    assert compare_with_rate(why, 0, k, 0.9) == ", which is not enough: no share made it more likely than not"
    assert compare_with_rate(why, 0, k, 0.1) == ""


def changed(why, k, likely, score=None):
    why.probabilities[0, k] = likely
    if score is not None:
        why.terms.totals[0, k] = score
    return why


@pytest.mark.parametrize(
    ("share", "likely", "said"),
    [
        (
            0.9,
            0.70,
            ", which tells little of a frequent label: of labeled rows with as much, 70% have it",
        ),  # 70% of all have it
        (0.9, 0.85, ""),
        (0.7, 0.70, ""),
    ],
)
def test_a_share_above_the_frequency_that_makes_nothing_likelier(share, likely, said):
    why = explained(0.9)
    k = why.labels.tolist().index("high")
    assert why.base_rate[k] == pytest.approx(0.7, abs=0.01)
    assert compare_with_rate(changed(why, k, likely), 0, k, share) == said


AGAINST, FOR = (
    f", but all rows weighed together make it {side} likely than its frequency does"
    for side in ("less", "more")
)


@pytest.mark.parametrize(
    ("share", "likely", "score", "said"),
    [
        (0.9, 0.6, -0.1, AGAINST),
        (0.9, 0.6, 0.1, ", but of labeled rows that scored about as much only 60% have it"),
        (0.5, 0.9, 0.1, FOR),
        (0.5, 0.9, -0.1, ", but of labeled rows that scored about as much 90% have it"),
        (0.9, 0.9, -0.1, ""),
        (0.5, 0.5, 0.1, ""),
        (0.6, 0.4, 0.1, ", but of labeled rows that scored about as much only 40% have it"),
    ],
)
def test_where_similar_rows_and_all_rows_point_apart_it_says_which_way(share, likely, score, said):
    why = explained(0.9, influence=Ridge(0.1))
    k = why.labels.tolist().index("high")  # which 70% of all rows have
    assert compare_with_rate(changed(why, k, likely, score), 0, k, share) == said


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.1)])
def test_without_calibration_nothing_is_said_of_labeled_rows(influence):
    why = explained(0.9, influence=influence, calibration=None)
    for k in range(3):
        for share in (0.1, 0.5, 0.9):
            assert "labeled rows" not in compare_with_rate(changed(why, k, 1 - share), 0, k, share)


def test_a_label_that_a_threshold_gives_though_unlikely_says_from_where_on():
    X, y = line()
    rule = PerLabel(thresholds=[0.0, 0.0, 0.0])
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration="loo", label_rule=rule).fit(X, y)
    said = sentences(model.explain([[0.9]]))
    assert re.match(
        r"low, [\d.]+% likely, given although it is less likely than not, since here this label is given "
        r"from [\d.]+% on \(a threshold that was set\): ",
        said["low"],
    )
    assert "given" not in said["high"]


def test_the_percentage_from_which_a_label_is_given_is_the_one_at_its_threshold():
    """Of the share of the resemblance that the threshold is, by plain loops."""
    X, y = line()
    similar = [naive.rbf(3.0)([0.35], x) for x in X.tolist()]
    score = sum(s for s, labels in zip(similar, y, strict=True) if "low" in labels)
    rule = PerLabel(thresholds={1: 0.97 * score}, minimum=0)
    calibration = LeaveOneOutCalibration(enough=1000)  # a smooth curve
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration=calibration, label_rule=rule).fit(X, y)
    at, here = model.calibration_.curves_[1](np.array([0.97, 1.0]) * score / sum(similar))
    assert at + 0.05 < here < 0.5
    said = sentences(model.explain([[0.35]]))["low"]
    assert said.startswith(f"low, {here:.0%} likely, given although")
    assert f" this label is given from {at:.0%} on (" in said


@pytest.mark.parametrize(
    ("rule", "by"),
    [
        (PerLabel("f1_micro", minimum=3), "a rule tuned for micro F1"),
        (PerLabel("f1_macro"), "a rule tuned for macro F1"),
        (PerLabel(thresholds={2: 0.0}), "a threshold that was set"),
        (CutoffRule(criterion="hamming_loss", minimum=3), "a rule tuned for few wrong labels"),
        (CutoffRule(0.5), "a threshold that was set"),
        (OperatingPointRule("recall", 0.99), "a rule that aims at a recall of 99%"),
        (Threshold(minimum=3), "a threshold that was learned from all scores of a row"),
    ],
    ids=repr,
)
def test_it_says_where_a_threshold_comes_from(rule, by):
    """The label "odd" says nothing of a row, so that it is given to all or to none."""
    said = sentences(explained(0.5, label_rule=rule))
    assert f"({by}): " in said["odd"]


def test_a_label_that_only_the_least_number_lets_in_says_so():
    X, y = line()
    high = PerLabel(thresholds=[1e9, 1e9, 1e9], minimum=1)
    said = sentences(SMLClassifier(RBF(3.0), normalizer=None, label_rule=high).fit(X, y).explain([[0.9]]))
    assert len(said) == 1
    assert ", given only so that no prediction is empty; else this label is given from " in str(said)
    two = PerLabel(thresholds=[1e9, 1e9, 1e9], minimum=2)
    said = sentences(SMLClassifier(RBF(3.0), normalizer=None, label_rule=two).fit(X, y).explain([[0.9]]))
    assert all(
        ", given only so that every row gets at least 2 labels; else " in each for each in said.values()
    )


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (
            SetSize(minimum=2),
            "2 labels: {}2 labels that score highest, since every row gets at least so many; ",
        ),
        (SetSize(maximum=1), "1 label: {}label that scores highest, since no row gets more; similar rows "),
    ],
)
def test_bounds_are_named_where_they_decide_how_many_labels_there_are(rule, said):
    y = [{"a"}, {"b", "c"}]
    query = [[1.0, 0.1]] if rule.minimum else [[0.1, 1.0]]
    why = SMLClassifier("linear", normalizer=None, label_rule=rule).fit(np.eye(2), y).explain(query)
    assert str(sentences(why)).count(said.format("the row gets the ")) == 1


def test_a_frequent_label_fills_the_place_where_nothing_fits_well():
    y = [{"a"}, {"a"}, {"b"}, {"c"}, {"d"}]
    model = SMLClassifier("linear", normalizer=None, calibration=None).fit(np.eye(5), y)
    said = sentences(model.explain([[1.0, 1.0, 1.0, 1.0, 1.0]]))["a"]
    assert said.startswith(
        "a, 40% likely, given only because the row is to get 1 label and nothing fits well: "
        "the most frequent label fills the place; rows that have it are 40% of all rows and make up no more "
    )


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (
            [{"a"}, {"a"}, {"b"}, {"c"}, {"d"}],
            "1 label and no other scores higher, not even b, which is 80% ",
        ),
        (
            [{"a", "b"}, {"a", "b"}, {"c", "d"}],
            "2 labels and this is one of the 2 that score highest, unlike c",
        ),
    ],
)
def test_a_label_that_is_likelier_and_scores_lower_is_named(sizes, said):
    model = SMLClassifier("linear", normalizer=None, calibration=None).fit(np.eye(len(sizes)), sizes)
    why = model.explain([[1.0] * len(sizes)])
    left = 1 if len(sizes) == 5 else 2
    why.probabilities[0] = 0.3
    why.probabilities[0, left] = 0.8
    assert f", given only because the row is to get {said}" in sentences(why)["a"]


def test_it_says_whether_words_or_similar_rows_decided():
    """A word that is rare and sure, in a row that is otherwise like many without the label."""
    tagger = zebras(0, "")
    alone = sentences(tagger.explain([f"zebra {' '.join(COMMON)}"]))["stripes"]
    assert "'zebra'" in alone
    assert ", not because of similar rows: none of the 10 most similar rows has it" in alone
    both = sentences(tagger.explain(["zebra"]))["stripes"]
    assert "because of similar rows" not in both


def zebras(n_copies, query):
    """Forty rows of common words, the first of which are copies of the query, and twelve about zebras."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.permutation(COMMON)) for _ in range(40)]
    texts += [f"zebra v{i} u{i} t{i} s{i}" for i in range(12)]
    texts[:n_copies] = [query] * n_copies
    labels = ["stripes"] * n_copies + ["plain"] * (40 - n_copies) + ["stripes"] * 12
    return Tagger(label_rule=PerLabel(thresholds=[-1e9, -1e9])).fit(texts, labels)


COMMON = [f"w{i}" for i in range(12)]


@pytest.mark.parametrize(("n_copies", "outweighed"), [(2, True), (10, False)])
def test_words_that_outweigh_a_few_similar_rows_are_said_to(n_copies, outweighed):
    query = f"zebra zebra {' '.join(COMMON[:6])}"
    why = zebras(n_copies, query).explain([query])
    sentence = sentences(why)["stripes"]
    assert why.probabilities[0, why.labels.tolist().index("stripes")] >= 0.5
    assert f"{n_copies} of the 10 most similar rows have it" in sentence
    assert ("more than because of similar rows" in sentence) == outweighed


@pytest.mark.parametrize(
    ("have", "said"),
    [
        (
            0,
            "none of the 10 most similar rows has it, while 23% of all rows do; the closest that have it",
        ),
        (1, "1 of the 10 most similar rows (0) has it"),
        (2, "2 of the 10 most similar rows have it"),
    ],
)
def test_the_similar_rows_that_have_the_label_are_named_where_they_are_counted(have, said):
    query = f"zebra {' '.join(COMMON)}"
    sentence = sentences(zebras(have, query).explain([query]))["stripes"]
    assert said in sentence
    assert "namely" not in sentence


def test_what_several_columns_bring_is_a_list():
    table = [{"kind": k, "place": p, "color": c} for k, p, c in ("asx", "aty", "bsx", "bty") * 6]
    labels = [{"yes"} if row["kind"] == "a" and row["place"] == "s" else {"no"} for row in table]
    rows = pd.DataFrame(table)
    sentence = sentences(Tagger(label_rule=FixedSize(1)).fit(rows, labels).explain(rows[:1]))["yes"]
    assert re.search(r"because of '\w' in \w+, '\w' in \w+ and '\w' in \w+", sentence), sentence
