"""Statements and caveats of guarantees, when they are impossible, and errors."""

import numpy as np
import pytest
import scipy.sparse as sp

import simlabel
from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.guarantees import (
    GUARANTEES,
    LabelCoverage,
    Precision,
    Recall,
    SelectionBiasWarning,
    SetCoverage,
)
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Precomputed

ALL = [LabelCoverage(0.8), SetCoverage(0.8), Recall(0.8), Precision(0.6, confidence=0.6)]


def data(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X + 0.3 * rng.normal(size=(n, 3)) > 0.2).astype(int)


def model(**settings):
    return SMLClassifier(RBF(0.5), normalizer=None, random_state=0, **settings)


@pytest.mark.parametrize("guarantee", ALL, ids=repr)
@pytest.mark.parametrize(
    "settings",
    [{}, {"influence": Ridge(1.0)}, {"influence": Ridge(1.0, inducing=30)}, {"weighting": "top_k"}],
    ids=["sums", "ridge", "inducing", "top-k"],
)
def test_every_model_has_every_guarantee(guarantee, settings):
    X, Y = data()
    fitted = model(**settings).fit(X, Y)
    fitted_guarantee = fitted.guarantee(guarantee)
    sets = fitted.predict_sets(X[:9], guarantee=fitted_guarantee)
    assert sets == fitted.predict_sets(X[:9], guarantee=guarantee)
    whole = "weighting" not in settings and getattr(settings.get("influence"), "inducing", None) != 30
    assert fitted_guarantee.method == ("full" if whole and not isinstance(guarantee, Precision) else "split")
    scores, inside, trivial = fitted_guarantee.inside(X[:9])
    for q, found in enumerate(sets):
        if found is None:
            assert trivial[q]
        else:
            assert set(found) == set(np.flatnonzero(inside[q]).tolist())
            assert list(scores[q, list(found)]) == sorted(scores[q, list(found)], reverse=True)


@pytest.mark.parametrize("guarantee", ALL, ids=repr)
def test_every_classifier_has_every_guarantee(guarantee):
    X, Y = data(60)
    names = [{"abc"[k] for k in np.flatnonzero(row)} for row in Y]
    auto = AutoSMLClassifier(random_state=0, configurations=[(None, RBF(0.5), Ridge(1.0))]).fit(X, names)
    table = [{"a": float(x[0]), "b": float(x[1])} for x in X]
    tagger = Tagger().fit(table, names)
    single = model().fit(X, np.array(list("xyz"))[X.argmax(axis=1)])
    for fitted, rows in ((auto, X), (tagger, table), (single, X)):
        sets = fitted.predict_sets(rows[:5], guarantee=guarantee)
        assert len(sets) == 5
        assert all(found is None or set(found) <= set(fitted.classes_.tolist()) for found in sets)
    assert not auto.guarantee(guarantee).exact
    assert not tagger.guarantee(guarantee).exact


def test_what_was_chosen_on_the_rows_is_a_caveat():
    X, Y = data()
    assert model().fit(X, Y).guarantee(Recall(0.9)).exact
    tuned = SMLClassifier("rbf", normalizer="zscore").fit(X, Y)
    (caveat,) = tuned.guarantee(Recall(0.9)).caveats
    assert "gamma" in caveat
    assert "normalizer" in caveat
    assert caveat in str(tuned.guarantee(Recall(0.9)))
    Q, truth = data(50, seed=1)
    fitted_guarantee = tuned.guarantee(Recall(0.9), Q, truth)
    assert fitted_guarantee.exact
    assert fitted_guarantee.method == "split"
    assert fitted_guarantee.n_rows == int(truth.any(axis=1).sum())


def test_held_out_rows_work_where_the_models_own_do_not():
    X, Y = data(120)
    Q, truth = data(90, seed=1)
    for fitted in (
        model(sampler=40).fit(X, Y),
        model().fit(X, Y, sample_weight=np.arange(120) % 3),
        SMLClassifier(Precomputed(), normalizer=None).fit(np.exp(-((X[:, None] - X) ** 2).sum(axis=2)), Y),
    ):
        rows = Q if fitted.similarity_.form != "precomputed" else np.exp(-((Q[:, None] - X) ** 2).sum(axis=2))
        fitted_guarantee = fitted.guarantee(SetCoverage(0.8), rows, truth)
        assert fitted_guarantee.exact
        assert len(fitted.predict_sets(rows[:4], guarantee=fitted_guarantee)) == 4


@pytest.mark.parametrize("alpha", [0.1, 0.25])
def test_labels_that_too_few_rows_have_are_never_excluded(alpha):
    least = round(1 / alpha) - 1
    X, _ = data(60)
    Y = np.zeros((60, 3), dtype=int)
    Y[: least - 1, 0] = Y[:least, 1] = Y[:, 2] = 1
    fitted = model().fit(X, Y)
    fitted_guarantee = fitted.guarantee(LabelCoverage(1 - alpha))
    assert fitted_guarantee.always == (0,)
    inside = fitted_guarantee.inside(np.full((1, 3), 9.0))[1]  # a row that is not similar to any of them
    assert inside[0, 0]
    assert "too few rows" in str(fitted_guarantee)


def test_no_useful_set_is_none():
    X, Y = data(30)
    fitted = model().fit(X, Y)
    assert fitted.predict_sets(X[:3], guarantee=Recall(0.99)) == [None] * 3  # 30 rows allow no loss
    sets = fitted.predict_sets(X, guarantee=SetCoverage(0.8))
    small = fitted.predict_sets(X, guarantee=SetCoverage(0.8, max_labels=1))
    assert any(found is not None and len(found) > 1 for found in sets)
    assert [None if found is None or len(found) > 1 else found for found in sets] == small
    assert fitted.predict_sets(X, guarantee=Precision(0.99, confidence=0.99)) == [None] * 30
    assert "No threshold" in str(fitted.guarantee(Precision(0.99, confidence=0.99)))


@pytest.mark.parametrize("influence", ["uniform", Ridge(1.0)], ids=["sums", "ridge"])
def test_after_teaching_and_forgetting_it_equals_that_of_a_new_fit(influence):
    X, Y = data(50)
    Q = data(8, seed=2)[0]
    fitted = model(influence=influence).fit(X[:40], Y[:40])
    fitted_guarantee = fitted.guarantee(Recall(0.8))
    fitted.partial_fit(X[40:], Y[40:]).forget(list(range(5)))
    with pytest.raises(ValueError, match="before it was changed"):
        fitted.predict_sets(Q, guarantee=fitted_guarantee)
    refitted = model(influence=influence).fit(X[5:], Y[5:])
    for guarantee in (LabelCoverage(0.8), SetCoverage(0.8), Recall(0.8)):
        assert fitted.predict_sets(Q, guarantee=guarantee) == refitted.predict_sets(Q, guarantee=guarantee)


def test_one_row_of_each_group_counts():
    X, Y = data(40)
    copies = np.repeat(np.arange(40), 3)
    fitted = model().fit(X[copies], Y[copies], groups=copies)
    assert fitted.guarantee(LabelCoverage(0.8)).n_rows == 40
    plain = model().fit(X, Y)
    Q = data(8, seed=2)[0]
    for guarantee in (LabelCoverage(0.8), Recall(0.8)):
        assert fitted.predict_sets(Q, guarantee=guarantee) == plain.predict_sets(Q, guarantee=guarantee)
    given = plain.guarantee(SetCoverage(0.8), X[copies], Y[copies], groups=copies)
    assert given.n_rows == 40


def test_it_is_the_same_after_a_file(tmp_path):
    X, Y = data()
    fitted = model(influence=Ridge(1.0)).fit(X, Y)
    fitted.save(tmp_path / "m.simlabel")
    again = simlabel.load(tmp_path / "m.simlabel")
    assert again.predict_sets(X[:9], guarantee=Recall(0.8)) == fitted.predict_sets(
        X[:9], guarantee=Recall(0.8)
    )


def test_sparse_rows_and_no_labels_at_all():
    X, Y = data()
    dense, sparse = model().fit(X, Y), model().fit(sp.csr_array(X), Y)
    for guarantee in ALL:
        assert sparse.predict_sets(sp.csr_array(X[:9]), guarantee=guarantee) == dense.predict_sets(
            X[:9], guarantee=guarantee
        )
    Y[:, 1] = 0
    assert model().fit(X, Y).guarantee(LabelCoverage(0.8)).always == (1,)


@pytest.mark.parametrize("kind", ["dense", "sparse", "table"])
def test_rows_that_suggest_picked_are_warned_of(kind, tmp_path):
    X, Y = data(60)
    names = [{"abc"[k] for k in np.flatnonzero(row)} for row in Y]
    rows = {"dense": X, "sparse": sp.csr_array(X), "table": [{"a": x[0], "b": x[1]} for x in X.tolist()]}[
        kind
    ]
    fitted = Tagger() if kind == "table" else model()
    fitted.fit(rows[:40], names[:40])
    picked = fitted.suggest(rows[40:], n=3)
    other = min(set(range(20)) - set(picked.tolist()))
    fitted.partial_fit(rows[40 + other : 41 + other], names[40 + other : 41 + other])
    fitted.guarantee(Recall(0.8))  # which was not picked
    for i in picked[:2]:
        fitted.partial_fit(rows[40 + i : 41 + i], names[40 + i : 41 + i])
    fitted.save(tmp_path / "m.simlabel")
    for each in (fitted, simlabel.load(tmp_path / "m.simlabel")):
        with pytest.warns(SelectionBiasWarning, match="2 of the labeled rows were picked"):
            each.predict_sets(rows[:1], guarantee=Recall(0.8))
    fitted.guarantee(Recall(0.8), rows[40:], names[40:])  # these were not
    with pytest.warns(SelectionBiasWarning):
        fitted.retune().guarantee(Recall(0.8))
    fitted.fit(rows[:40], names[:40]).guarantee(Recall(0.8))


def test_a_precomputed_similarity_is_the_same():
    X, Y = data(50)
    Q = data(7, seed=3)[0]
    gaussian = [np.exp(-0.5 * ((rows[:, None] - X) ** 2).sum(axis=2)) for rows in (X, Q)]
    given = SMLClassifier(Precomputed(), normalizer=None).fit(gaussian[0], Y)
    for guarantee in (LabelCoverage(0.8), Recall(0.8), SetCoverage(0.8)):
        assert given.guarantee(guarantee).method == "full"
        wanted = model().fit(X, Y).predict_sets(Q, guarantee=guarantee)
        assert given.predict_sets(gaussian[1], guarantee=guarantee) == wanted
    with pytest.raises(ValueError, match="needs features"):
        given.predict_sets(gaussian[1], guarantee=Precision(0.8))


def test_measures_by_hand():
    truths = [{"a", "b"}, {"a"}, {"b", "c"}, set()]
    sets = [("a",), None, ("b", "c", "a"), ()]
    assert Recall(0.9).measure(truths, sets).value == pytest.approx((0.5 + 1 + 1) / 3)
    assert SetCoverage(0.9).measure(truths, sets).value == pytest.approx(3 / 4)
    assert Precision(0.9).measure(truths, sets).value == pytest.approx((1 + 2 / 3) / 2)
    found = LabelCoverage(0.9).measure(truths, sets)
    assert found.value == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert found.lowest == ("b", 0.5, 2)
    assert found.abstained == 1
    assert found.size == pytest.approx(4 / 3)
    assert np.isnan(Recall(0.9).measure([], []).value)


REFUSED = [
    (Recall(1.0), "level must be a share below 1, got 1.0"),
    (Recall(0), "level"),
    (Recall("high"), "level"),
    (SetCoverage(0.9, max_labels=0), "max_labels"),
    (LabelCoverage(0.9, method="cross"), "method must be one of 'auto', 'full', 'split', got 'cross'"),
    (Precision(0.9, confidence=1.0), "confidence must be below 1"),
]


@pytest.mark.parametrize(("guarantee", "words"), REFUSED, ids=lambda each: repr(each)[:40])
def test_wrong_parameters_are_refused(guarantee, words):
    X, Y = data(20)
    with pytest.raises(ValueError, match=words):
        model().fit(X, Y).predict_sets(X, guarantee=guarantee)


def test_wrong_companions_are_refused():
    X, Y = data(20)
    fitted = model().fit(X, [{"abc"[k] for k in np.flatnonzero(row)} for row in Y])
    with pytest.raises(TypeError, match=r"Recall\(0\.9\), got 'recall'"):
        fitted.predict_sets(X, guarantee="recall")
    with pytest.raises(ValueError, match="or neither"):
        fitted.guarantee(Recall(0.9), X)
    with pytest.raises(ValueError, match="row 1 of y has a label that the model does not know"):
        fitted.guarantee(Recall(0.9), X[:2], [{"a"}, {"z"}])
    with pytest.raises(ValueError, match="same length"):
        fitted.guarantee(Recall(0.9), X[:2], [{"a"}])


def test_impossible_guarantees_are_refused():
    X, Y = data(20)
    weighted = model().fit(X, Y, sample_weight=[1.0] * 19 + [3.0])
    with pytest.raises(ValueError, match="row 19 has a weight of 3"):
        weighted.predict_sets(X, guarantee=Recall(0.8))
    with pytest.raises(ValueError, match="pushes another out"):
        model(weighting="top_k").fit(X, Y).guarantee(LabelCoverage(0.8, method="full"))
    with pytest.raises(ValueError, match="sampler"):
        model(sampler=10).fit(X, Y).guarantee(Recall(0.8))
    with pytest.raises(ValueError, match="that there are"):
        model().fit(X[:1], Y[:1]).guarantee(Recall(0.8, method="split"))


def test_names_are_those_of_the_classes():
    assert {name: one.__name__ for name, one in GUARANTEES.items()} == {
        "recall": "Recall",
        "precision": "Precision",
        "label coverage": "LabelCoverage",
        "set coverage": "SetCoverage",
    }
