"""Hierarchies of labels, from fit to predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, load
from simlabel.guarantees import LabelCoverage, Precision, Recall, SetCoverage
from simlabel.labels import PartialLabels
from simlabel.metrics import hierarchical_f1, hierarchical_precision, hierarchical_recall
from simlabel.similarities import RBF

PATHS = ["mail::imap", "mail::smtp", "web::http", "web", "game"]
MODELS = {
    "uniform": {"influence": "uniform"},
    "ridge": {"influence": "ridge", "label_rule": "per_label", "calibration": "loo"},
    "threshold": {"influence": "label_mean", "label_rule": "threshold", "calibration": "loo"},
}


def problem(seed, n=24):
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(PATHS, rng.integers(0, 3), replace=False).tolist()) for _ in range(n)]
    y[0], y[1] = {"mail::imap"}, {"web::http"}
    return rng.normal(size=(n, 4)), y


def closed(labels):
    """Return a label set with all ancestors."""
    return {"::".join(label.split("::")[: i + 1]) for label in labels for i in range(label.count("::") + 1)}


def model(kind, **more):
    return SMLClassifier(RBF(0.5), normalizer=None, random_state=0, **MODELS[kind], **more)


@pytest.mark.parametrize("kind", MODELS)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_sets_are_closed_and_wider_labels_are_at_least_as_probable(kind, seed):
    X, y = problem(seed)
    fitted = model(kind, hierarchy="::").fit(X, y)
    Q = np.random.default_rng(seed + 1).normal(size=(10, 4))
    sets = fitted.predict(Q)
    assert all(one == closed(one) for one in sets)
    assert [set(one) for one in fitted.predict_sets(Q)] == sets
    assert fitted.predict_set_size(Q).tolist() == [len(one) for one in sets]
    names = fitted.classes_.tolist()
    for scores in (fitted.predict_proba(Q), fitted.decision_function(Q)):
        for narrow in names:
            for wide in closed({narrow}):
                assert (scores[:, names.index(wide)] >= scores[:, names.index(narrow)]).all()


@pytest.mark.parametrize("kind", MODELS)
def test_it_is_a_fit_on_sets_that_were_closed_by_hand(kind):
    X, y = problem(3)
    nested, plain = model(kind, hierarchy="::").fit(X, y), model(kind).fit(X, [closed(one) for one in y])
    assert nested.classes_.tolist() == plain.classes_.tolist()
    np.testing.assert_allclose(nested.leave_one_out(), plain.leave_one_out())
    more, theirs = problem(4, n=6)
    nested.partial_fit(more, theirs)
    plain.partial_fit(more, [closed(one) for one in theirs])
    np.testing.assert_allclose(nested.leave_one_out(), plain.leave_one_out())
    nested.correct([2], [{"mail::smtp"}])
    plain.correct([2], [{"mail", "mail::smtp"}])
    np.testing.assert_allclose(nested.leave_one_out(), plain.leave_one_out())
    assert nested.score(X, nested.predict(X)) == 1.0


def test_a_new_label_brings_those_above_it():
    X, y = problem(5)
    fitted = model("uniform", hierarchy={"imap": "mail", "mail": ["net"]}).fit(X, [{"game"}] * len(y))
    fitted.partial_fit(X[:1], [{"imap"}])
    assert fitted.classes_.tolist() == ["game", "imap", "mail", "net"]
    assert {"imap", "mail", "net"} in [fitted._model.labels.decode(fitted._model.scorer.references.Y)[-1]]


def test_what_is_partly_known_is_known_as_far_as_the_hierarchy_says():
    X, y = problem(6)
    y[2], y[3] = PartialLabels({"mail::imap"}), PartialLabels(absent={"mail"})
    fitted = model("uniform", hierarchy="::").fit(X, y)
    references, names = fitted._model.scorer.references, fitted.classes_.tolist()
    Y, unknown = references.Y.toarray(), references.unknown.toarray()
    assert Y[2, names.index("mail")] == 1
    assert not unknown[2, names.index("mail")]
    assert unknown[2, names.index("web")]
    for narrow in ("mail", "mail::imap", "mail::smtp"):
        assert not Y[3, names.index(narrow)]
        assert not unknown[3, names.index(narrow)]
    assert unknown[3, names.index("web::http")]


@pytest.mark.parametrize("form", ["frame", "array"])
def test_columns(form):
    X, y = problem(7)
    names = ["mail", "mail::imap", "web"]
    Y = np.array([[("mail" in "".join(s)), "mail::imap" in s, "web" in s] for s in y]).astype(int)
    Y[:, 0] = 0  # what the narrower ones say is enough
    given = pd.DataFrame(Y, columns=names) if form == "frame" else Y
    hierarchy = "::" if form == "frame" else {1: 0}
    fitted = model("uniform", hierarchy=hierarchy).fit(X, given)
    np.testing.assert_array_equal(fitted._model.scorer.references.Y.toarray()[:, 0], Y[:, 1])
    with pytest.raises(ValueError, match="no column for"):
        model("uniform", hierarchy="::" if form == "frame" else {1: 7}).fit(
            X, given.rename(columns={"mail": "post"}) if form == "frame" else given
        )


def test_one_class_per_row_has_no_hierarchy():
    with pytest.raises(ValueError, match="one class per row"):
        SMLClassifier(hierarchy="::").fit([[1.0], [2.0]], ["a", "b"])


def test_it_is_saved(tmp_path):
    X, y = problem(8)
    fitted = model("ridge", hierarchy={"mail::imap": "mail"}).fit(X, y)
    fitted.save(tmp_path / "m.simlabel")
    again = load(tmp_path / "m.simlabel")
    assert again.hierarchy == {"mail::imap": "mail"}
    assert again.predict(X) == fitted.predict(X)
    assert again.partial_fit(X[:1], [{"mail::imap"}]).predict(X) == fitted.partial_fit(
        X[:1], [{"mail::imap"}]
    ).predict(X)


def test_tables_have_it_too():
    texts = ["read mail on a server", "send mail to a server", "a web page", "web server pages"] * 3
    tagger = Tagger(hierarchy="::").fit(texts, ["mail::imap", "mail::smtp", "web::html", "web::http"] * 3)
    assert tagger.classes_.tolist() == ["mail", "mail::imap", "mail::smtp", "web", "web::html", "web::http"]
    assert all(one == closed(one) for one in tagger.predict(texts))


@pytest.mark.parametrize(
    "guarantee", [Recall(0.7), LabelCoverage(0.7), SetCoverage(0.7), Precision(0.5)], ids=repr
)
def test_sets_with_a_guarantee_are_closed_too(guarantee):
    X, y = problem(10, n=60)
    fitted = model("uniform", hierarchy="::").fit(X, [one or {"game"} for one in y])
    sets = fitted.predict_sets(X, guarantee=guarantee)
    assert all(set(one) == closed(one) for one in sets if one is not None)


def test_a_choice_of_stages_has_it_too():
    X, y = problem(9)
    auto = AutoSMLClassifier(hierarchy="::", random_state=0).fit(X, y)
    for fitted in (auto, auto.best_estimator_):
        assert all(one == closed(one) for one in fitted.predict(X))


def test_criteria_by_hand():
    true, predicted = [{"a::b"}, {"c"}], [{"a::d", "a::b"}, set()]
    # closed: {a, a::b}, {c} against {a, a::b, a::d}, {}
    assert hierarchical_precision(true, predicted, "::") == pytest.approx(2 / 3)
    assert hierarchical_recall(true, predicted, "::") == pytest.approx(2 / 3)
    assert hierarchical_f1(true, predicted, "::") == pytest.approx(2 / 3)
    assert np.isnan(hierarchical_precision([{"a"}], [set()], "::"))
    with pytest.raises(ValueError, match="2 rows, but y_pred has 1"):
        hierarchical_f1(true, predicted[:1], "::")
