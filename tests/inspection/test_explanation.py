"""Explanations list the terms of the plain loops, and add up to the score."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import naive
from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel import SMLClassifier
from simlabel.model.inspection import explanation_texts
from simlabel.ridge import Ridge
from simlabel.rules import FixedSize
from simlabel.similarities import RBF, ChiSquare, Cosine, Function, Jaccard, Laplacian, Linear, OnColumns
from simlabel.sums import Power, TopK, UniformSampler

NAMES = ["desert", "sea", "sunset", "trees"]


def problem(rng, n=20):
    X = rng.random((n, 4))
    y = [{name for name in NAMES if rng.random() < 0.4} for _ in range(n)]
    y[0] = set(NAMES)
    return X, y, rng.random((3, 4))


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_the_terms_are_those_of_the_plain_loops(case, which, rng):
    X, y, Q = problem(rng)
    weights = rng.integers(1, 4, len(X)).astype(float)
    model = SMLClassifier(case.similarity, weighting=which.weighting, normalizer=None)
    model.fit(X[:12], y[:12], sample_weight=weights[:12]).partial_fit(
        X[12:], y[12:], sample_weight=weights[12:]
    )
    top = 5
    why = model.explain(Q, top=top)
    frame = why.to_frame()
    sums = frame[frame["what"] != "size"].groupby(["query", "label"])["contribution"].sum()
    scores = model.label_weights(Q)
    scale = np.abs(scores).max()
    for query, q in enumerate(Q.tolist()):
        counted = naive.influences(q, X.tolist(), case.phi, which.psi, weights)
        for k, name in enumerate(NAMES):
            assert sums[query, name] == pytest.approx(scores[query, k], rel=1e-12, abs=1e-12 * scale)
            mine = sorted(
                (abs(c) for c, labels in zip(counted, y, strict=True) if name in labels), reverse=True
            )
            listed = frame.query("query == @query and what == 'label' and label == @name")
            np.testing.assert_allclose(
                listed["contribution"].abs(), [c for c in mine[:top] if c > 0], rtol=1e-9, atol=1e-12
            )
            for who, value in zip(listed["id"], listed["contribution"], strict=True):
                assert value == pytest.approx(counted[who], rel=1e-9, abs=1e-12)
                assert name in y[who]
        by_size = frame[frame["query"] == query]
        for size in why.sizes.tolist():
            total = by_size[by_size["size"] == size]["contribution"].sum()
            wanted = sum(c for c, labels in zip(counted, y, strict=True) if len(labels) == size)
            assert total == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"calibration": "loo", "label_rule": "threshold"},
        {"weighting": TopK(4)},
        {"weighting": Power(2)},
        {"influence": Ridge(0.1)},
        {"influence": Ridge(0.1, inducing=6), "calibration": "loo"},
    ],
    ids=repr,
)
def test_explain_makes_one_pass_over_the_similarities_and_printing_none(options, rng):
    mpl.use("Agg")
    n_calls = 0

    def similarity(a, b):
        nonlocal n_calls
        n_calls += 1
        return naive.rbf(2.0)(a, b)

    X, y, Q = problem(rng)
    function = Function(similarity, positive_definite=True, nonnegative=True)
    model = SMLClassifier(function, normalizer=None, random_state=0, **options).fit(X, y)
    n_calls = 0
    why = model.explain(Q)
    assert n_calls == len(Q) * len(X)
    str(why), why._repr_html_(), why.to_frame(), why.plot(1), why.scores, why.lift
    mpl.pyplot.close("all")
    assert n_calls == len(Q) * len(X)
    assert [{why.labels[k] for k in chosen} for chosen in why.chosen] == model.predict(Q)
    np.testing.assert_allclose(why.probabilities, model.predict_proba(Q), rtol=1e-12)


@pytest.mark.parametrize("influence", [Ridge(0.1), Ridge(0.1, inducing=6, mixing=True), "label_mean"])
def test_learned_influence_adds_up_with_its_mean(influence, rng):
    X, y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0), influence=influence, random_state=0).fit(X, y).partial_fit(Q[:1], y[:1])
    why = model.explain(Q, top=3)
    frame = why.to_frame()
    scores = model.label_weights(Q)
    parts = frame.query("what != 'size'").groupby(["query", "label"])["contribution"].sum()
    for query in range(3):
        for k, name in enumerate(NAMES):
            assert parts[query, name] == pytest.approx(scores[query, k], rel=1e-12, abs=1e-12)
    learned = influence != "label_mean"
    assert (frame["what"] == "mean").any() == learned
    assert ("mean" in str(why)) == learned
    if influence == "label_mean" or influence.inducing == 6:
        return
    # the influence of a reference, looked up by its id, times the similarity to it
    V = model._model.scorer.solved.V
    row = frame.query("what == 'label' and query == 1 and label == 'sea'").iloc[0]
    everyone = np.vstack([X, Q[:1]])
    unit = [naive.unit_length(x) for x in everyone.tolist()]
    similarity = naive.rbf(2.0)(naive.unit_length(Q[1].tolist()), unit[row["id"]])
    assert row["contribution"] == pytest.approx(similarity * V[row["id"], 1], rel=1e-9)


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_labels_that_are_numbers_are_not_taken_for_sizes(influence, rng):
    X, _, Q = problem(rng)
    y = [set(rng.choice(4, 1 + i % 3, replace=False).tolist()) for i in range(len(X))]
    model = SMLClassifier(RBF(2.0), influence=influence).fit(X, y)
    frame = model.explain(Q, top=2).to_frame()
    sums = frame.groupby(["query", "label"])["contribution"].sum().unstack()
    np.testing.assert_allclose(sums.to_numpy(dtype=float), model.label_weights(Q), rtol=1e-9, atol=1e-12)
    assert set(frame["size"].dropna()) == {1, 2, 3}
    assert (frame["label"].isna() != frame["size"].isna()).all()


def test_shares_are_of_the_score_and_predicted_is_said(rng):
    X, y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0)).fit(X, y, ids=[f"photo {i}" for i in range(len(X))])
    frame = model.explain(Q, top=20).to_frame()
    labels = frame[frame["what"] == "label"]
    assert labels.groupby(["query", "label"])["share"].sum().to_numpy() == pytest.approx(1.0)
    predicted = labels[labels["predicted"]].groupby("query")["label"].agg(set)
    assert predicted.reindex(range(3), fill_value=set()).tolist() == model.predict(Q)
    sizes = frame[(frame["what"] == "size") & frame["predicted"]].groupby("query")["size"].first()
    assert sizes.tolist() == model.predict_set_size(Q).tolist()
    assert labels["id"].str.startswith("photo").all()


@pytest.mark.parametrize(
    ("similarity", "statistic"),
    [
        (RBF(2.0), lambda q, x: np.sum((q - x) ** 2)),
        (Laplacian(2.0), lambda q, x: np.abs(q - x).sum()),
        (ChiSquare(2.0), lambda q, x: np.sum((q - x) ** 2 / (q + x))),
        (Linear(), lambda q, x: q @ x),
        (Cosine(), lambda q, x: q @ x / np.linalg.norm(q) / np.linalg.norm(x)),
        (OnColumns(Laplacian(1.0), ["b", "d"]), lambda q, x: np.abs(q - x)[[1, 3]].sum()),
    ],
)
def test_columns_add_up_to_the_statistic(similarity, statistic, rng):
    X, y, Q = problem(rng)
    names = list("abcd")
    model = SMLClassifier(similarity, normalizer=None).fit(pd.DataFrame(X, columns=names), y)
    frame = model.explain(pd.DataFrame(Q, columns=names)).columns(1, 7)
    assert frame["term"].sum() == pytest.approx(statistic(Q[1], X[7]), rel=1e-12)
    typical = np.mean([statistic(Q[1], x) for x in X])
    assert frame["typical"].sum() == pytest.approx(typical, rel=1e-12)
    assert set(frame["column"]) == ({"b", "d"} if isinstance(similarity, OnColumns) else set(names))
    if isinstance(similarity, RBF):
        agree = frame["typical"] - frame["term"]
        assert agree.is_monotonic_decreasing


def test_columns_are_refused_where_there_is_no_sum(rng):
    X, y, Q = problem(rng)
    for similarity in (RBF(1.0) + Linear(), lambda a, b: 1.0, Jaccard()):
        with pytest.raises(ValueError, match="no function of one sum over columns"):
            SMLClassifier(similarity).fit(X, y).explain(Q).columns(0, 0)
    with pytest.raises(KeyError, match="id 'nobody'"):
        SMLClassifier(RBF(1.0)).fit(X, y).explain(Q).columns(0, "nobody")
    with pytest.raises(ValueError, match="top must be a whole number of at least 1, got 0"):
        SMLClassifier(RBF(1.0)).fit(X, y).explain(Q, top=0)


def test_it_prints_and_plots(rng):
    mpl.use("Agg")
    X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    model = SMLClassifier(RBF(3.0), normalizer=None).fit(
        X, [{"sea", "sunset"}, {"sea", "sunset"}, {"trees"}], ids=["beach", "pier", "wood"]
    )
    why = model.explain([[1.0, 0.0], [0.0, 1.0]], top=1)
    text = str(why)
    assert "Query 0: sea, sunset" in text
    text = " ".join(text.split())
    assert "sea, 99.9% likely: rows that have it are 67% of all rows and make up 99.9% of the" in text
    assert "of the resemblance; the closest are 'beach' and 'pier'" in text
    assert "2 labels: the row gets the 2 labels that score highest, since" in text
    assert "Query 1: trees" in text
    bars = why.plot(0)
    assert {label.get_text() for label in bars.get_yticklabels()} == {"beach"}
    listed = why.to_frame().query("query == 0 and predicted and what in ('label', 'size')")
    assert [bar.get_width() for bar in bars.patches] == pytest.approx(100 * listed["share"])
    mpl.pyplot.close("all")


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.1), Ridge(0.1, inducing=6)])
def test_shares_are_of_all_that_speaks_for_and_against(influence, rng):
    """No share is above 1, whatever is cancelled, and each side is complete."""
    X, y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0), influence=influence, random_state=0).fit(X, y)
    why = model.explain(Q, top=20)
    frame = why.to_frame().query("what == 'label'")
    assert frame["share"].abs().max() <= 1
    assert (frame["share"] * frame["contribution"] >= 0).all()
    assert frame["share"].abs().groupby([frame["query"], frame["label"]]).sum().to_numpy() == pytest.approx(1)
    for query, k in np.ndindex(3, len(NAMES)):
        own = frame[(frame["query"] == query) & (frame["label"] == NAMES[k])]["contribution"]
        assert why.terms.sides(query, k) == pytest.approx((own[own > 0].sum(), own[own < 0].sum()))
        assert own.abs().is_monotonic_decreasing
    few = model.explain(Q, top=4).to_frame().query("what == 'label'")

    def count(listed):
        signs = np.sign(listed["contribution"])
        return pd.crosstab([listed["query"], listed["label"]], signs).reindex(columns=[-1, 1], fill_value=0)

    assert (count(few) >= np.minimum(count(frame), 2)).all(axis=None)  # neither side is left out


def test_for_and_against_are_printed_apart(rng):
    X, y, Q = problem(rng)
    text = str(SMLClassifier(RBF(2.0), influence=Ridge(0.01)).fit(X, y).explain(Q[:1], top=20))
    label = text.split("Query 0: ")[1].split("\n")[0].split(",")[0]
    assert f"{label}: for, in addition to the mean" in text
    assert f"{label}: against, in addition to the mean" in text
    assert f"{label}: the most similar that have it" in text


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.1), Ridge(0.1, inducing=8)])
def test_what_a_sentence_names_has_what_it_explains(influence, rng):
    X, y, Q = problem(rng, n=40)
    y = [labels or {"sea"} for labels in y]
    why = (
        SMLClassifier(RBF(2.0), influence=influence, random_state=0)
        .fit(X, y)
        .explain(np.vstack([Q, rng.random((9, 4))]), top=20)
    )
    for query in range(len(why)):
        for each in explanation_texts(why, query):
            closest = "; the closest (?:that ha(?:s|ve) \\w+ )?(?:are|is) (.*)|similar rows \\((.*)\\) has "
            text = next(filter(None, re.search(closest, each.sentence).groups()))
            named = [int(word) for word in text.replace(" and ", ", ").split(", ")]
            assert named
            if each.name in NAMES:
                assert all(each.name in y[i] for i in named)
            else:
                assert {len(y[i]) for i in named} == {int(each.name.split()[0])}


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.1)])
def test_what_a_sentence_counts(influence, rng):
    X, y, Q = problem(rng, n=40)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence=influence, random_state=0).fit(X, y)
    why = model.explain(Q, top=3)
    for query, q in enumerate(Q):
        similar = [naive.rbf(2.0)(q, x) for x in X]
        first = sorted(range(len(X)), key=lambda i: -similar[i])[:10]
        for each in explanation_texts(why, query):
            number = each.name.split()[0]
            have = [(each.name in names) if each.name in NAMES else len(names) == int(number) for names in y]
            share = sum(s for s, there in zip(similar, have, strict=True) if there) / sum(similar)
            count = sum(have[i] for i in first)
            said = (
                f"of the resemblance, {share:.0%}"
                if influence == "uniform"
                else f"{count or 'none'} of the 10 most"
            )
            assert said in each.sentence.replace(f"{share:.0%} of the resemblance", said)
            assert f"{sum(have) / len(X):.0%} of all rows" in each.sentence


def texts_of(X, y, q, **settings):
    model = SMLClassifier("linear", normalizer=None, random_state=0, **settings).fit(X, y)
    return {each.name: each.sentence for each in explanation_texts(model.explain([q]), 0)}


def test_a_sentence_says_why_what_is_unlikely_is_given():
    X, y = np.eye(3), [{"a"}, {"b"}, {"c"}]
    unlikely = texts_of(X, y, [3.0, 2.9, 2.8], calibration=None)
    assert unlikely["a"].startswith("a, 34% likely, given only because the row is to get 1 label ")
    likely = texts_of(X, y, [3.0, 1.0, 1.0], calibration=None)
    assert likely["a"].startswith("a, 60% likely: ")
    two = texts_of(X, [{"a", "b"}, {"b", "c"}, {"c", "a"}], [2.0, 2.0, 2.0], calibration=None)
    assert "given" not in two["a"]
    three = [{"a", "b"}, {"c", "d"}, {"c", "e"}]
    assert (
        "likely, given only because the row is to get 2 labels and this is one of the 2 that score highest"
        in texts_of(X, three, [3.0, 2.9, 2.8], calibration=None)["a"]
    )


@pytest.mark.parametrize(
    ("many", "said"),
    [
        (49, "rows that have it are 50% of all rows and make up less of the resemblance, 49%; the"),
        (50, "rows that have it are 50% of all rows and make up no more of the resemblance, 50%; the"),
        (54, "rows that have it are 50% of all rows and make up hardly more of the resemblance, 54%; the"),
        (58, "rows that have it are 50% of all rows and make up 58% of the resemblance; the closest is 0"),
    ],
)
def test_a_sentence_does_not_call_more_no_more(many, said):
    told_all = texts_of(np.eye(2), [{"a"}, {"b"}], [many, 100.0 - many], label_rule=FixedSize(2))
    assert said in told_all["a"]


def test_what_all_rows_have_needs_no_figures():
    sentences = texts_of(np.eye(2), [{"a"}, {"a"}], [1.0, 2.0])
    assert sentences["a"].endswith(" likely: all rows have it")
    assert sentences["1 label"] == (
        "1 label: the row gets the label that scores highest, since all rows have 1 label"
    )


def test_lift_is_over_what_frequency_alone_gives(rng):
    X, y, Q = problem(rng)
    weights = rng.integers(1, 4, len(X)).astype(float)
    why = SMLClassifier(RBF(2.0), normalizer=None).fit(X, y, sample_weight=weights).explain(Q)
    for query, q in enumerate(Q.tolist()):
        counted = naive.influences(q, X.tolist(), naive.rbf(2.0), weights=weights)
        for k, name in enumerate(NAMES):
            have = [name in labels for labels in y]
            share = np.dot(counted, have) / sum(counted)
            assert why.lift[query, k] == pytest.approx(share / (np.dot(weights, have) / weights.sum()))


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.1), Ridge(0.1, inducing=6)])
def test_the_nearest_have_the_label_and_are_the_nearest(influence, rng):
    X, y, Q = problem(rng)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence=influence, random_state=0).fit(X, y)
    why = model.explain(Q)
    for name in NAMES:
        found = why.nearest(1, name, n=3)
        alike = [(naive.rbf(2.0)(Q[1].tolist(), x), i) for i, x in enumerate(X.tolist()) if name in y[i]]
        wanted = sorted(alike, reverse=True)[:3]
        assert found["id"].tolist() == [i for _, i in wanted]
        assert found["similarity"].tolist() == pytest.approx([s for s, _ in wanted])
    with pytest.raises(KeyError, match="no label 'moon'"):
        why.nearest(0, "moon")
    with pytest.raises(IndexError, match="no query 3: 3 were explained"):
        why.nearest(3, "sea")


def test_similar_to_nothing_is_said():
    model = SMLClassifier(RBF(1000.0), normalizer=None).fit([[0.0], [1.0]], [{"a"}, {"a"}])
    why = model.explain([[500.0]])
    assert "similar to nothing" in str(why)
    assert not why.scores.any()


def test_any_objects_single_classes_and_precomputed(rng):
    def overlap(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    words = SMLClassifier(overlap).fit(["sea", "tree"], ["water", "plant"])
    assert words.explain(["trees"]).to_frame().query("predicted and what == 'label'")["id"].tolist() == [1]
    S = np.array([[1.0, 0.2], [0.2, 1.0]])
    given = SMLClassifier("precomputed").fit(S, [{"a"}, {"b"}])
    np.testing.assert_allclose(given.explain([[0.3, 0.7]]).scores, [[0.3, 0.7]])


def test_estimates_are_not_explained(rng):
    X, y, Q = problem(rng)
    for options in ({"sketch": "condense"}, {"sampler": UniformSampler(5, per_query=True)}):
        model = SMLClassifier(RBF(2.0), random_state=0, **options).fit(X, y)
        with pytest.raises(ValueError, match="explain lists the terms of a sum"):
            model.explain(Q)
    drawn = SMLClassifier(RBF(2.0), sampler=8, random_state=0).fit(X, y)
    np.testing.assert_allclose(drawn.explain(Q).scores, drawn.label_weights(Q), rtol=1e-12)
