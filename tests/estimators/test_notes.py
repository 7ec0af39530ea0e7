"""Pending rows count in the outputs of a model by a formula, and do not change the model."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier, Tagger
from simlabel.labels import PartialLabels
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Linear

X = np.random.default_rng(0).random((40, 4))
Y = [{"a"} if x[0] > 0.5 else {"b"} if x[1] > 0.5 else {"a", "b"} for x in X]
MORE = np.random.default_rng(1).random((5, 4))
SAID = [{"a"}, PartialLabels({"b"}), {"a", "new"}, PartialLabels((), {"a"}), set()]
QUERIES = np.random.default_rng(2).random((7, 4))


def fitted(similarity):
    return SMLClassifier(similarity, normalizer=None, influence=Ridge(0.5), calibration="loo").fit(X, Y)


def plainly(model, similar, said, queries):
    """p + sum over pending rows of s(query, row) * (known - p(row)) / (penalty + sum of |s(row, other)|)."""
    names = [*model.classes_.tolist(), "new"]
    own, found = model.predict_proba(MORE[: len(said)]), model.predict_proba(queries)
    found = np.column_stack([found, np.zeros(len(found))])
    for k, name in enumerate(names):
        known = []
        for i, one in enumerate(said):
            p = own[i, k] if name != "new" else 0.0
            present, absent = (one.present, one.absent) if isinstance(one, PartialLabels) else (one, None)
            if name in present:
                known.append((i, 1.0 - p))
            elif name != "new" and (absent is None or name in absent):
                known.append((i, -p))
        for i, off in known:
            whole = sum(abs(similar(MORE[i], MORE[j])) for j, _ in known)
            found[:, k] += [similar(q, MORE[i]) * off / (0.5 + whole) for q in queries]
    return np.clip(found, 1e-4, 1 - 1e-4)


@pytest.mark.parametrize(
    ("similarity", "similar"),
    [(Linear(), np.dot), (RBF(2.0), lambda a, b: np.exp(-2.0 * ((a - b) ** 2).sum()))],
)
def test_probabilities_are_what_the_formula_says(similarity, similar):
    model = fitted(similarity)
    found = model.outputs(QUERIES, model.pending_rows(MORE, SAID))
    assert found.names.tolist() == ["a", "b", "new"]
    np.testing.assert_allclose(found.probabilities, plainly(model, similar, SAID, QUERIES), atol=1e-6)


def test_notes_one_by_one_are_notes_together_and_some_of_them_are_fewer():
    model = fitted(Linear())
    whole, each = model.pending_rows(MORE, SAID), [model.pending_rows(MORE[[i]], [SAID[i]]) for i in range(5)]
    joined = each[0] + each[1] + each[2] + each[3] + each[4]
    assert len(joined) == 5
    wanted = model.outputs(QUERIES, whole)
    np.testing.assert_allclose(model.outputs(QUERIES, joined).probabilities, wanted.probabilities, atol=1e-9)
    few = model.outputs(QUERIES, joined.part(np.array([0, 1])))
    assert few.names.tolist() == ["a", "b"]
    again = model.outputs(QUERIES, model.pending_rows(MORE[:2], SAID[:2]))
    np.testing.assert_allclose(few.probabilities, again.probabilities, atol=1e-9)


def test_sets_are_the_models_but_where_a_label_has_moved():
    model = fitted(Linear())
    plain, found = model.outputs(QUERIES), model.outputs(QUERIES, model.pending_rows(MORE, SAID))
    moved = abs(found.probabilities[:, :2] - plain.probabilities) > 0.05
    assert moved.any()
    assert not moved.all()
    before, after = plain.sets.toarray() > 0, found.sets.toarray() > 0
    np.testing.assert_array_equal(after[:, :2][~moved], before[~moved])
    np.testing.assert_array_equal(after[:, :2][moved], found.probabilities[:, :2][moved] >= 0.5)
    for row, columns in enumerate(found.columns):
        assert (np.diff(found.probabilities[row, columns]) <= 0).all()
    np.testing.assert_array_equal(found.weights[:, :2], plain.weights)


def test_a_tagger_notes_rows_of_a_table():
    rows = [{"plot": f"{what} {i}"} for what in ("shark number", "kiss") for i in range(8)]
    model = Tagger().fit(rows, [{"horror"}] * 8 + [{"romance"}] * 8)
    pending = model.pending_rows([{"plot": "a kiss"}], [{"music"}])
    found = model.outputs([{"plot": "one more kiss"}, {"plot": "shark"}], pending)
    assert found.names.tolist() == ["horror", "romance", "music"]
    assert found.frame()["music"].tolist()[0] > 0.01 >= found.frame()["music"].tolist()[1]


def test_notes_are_on_one_model_as_it_is():
    model, other = fitted(Linear()), fitted(Linear())
    pending = model.pending_rows(MORE[:1], SAID[:1])
    with pytest.raises(ValueError, match="call pending_rows again"):
        other.outputs(QUERIES, pending)
    model.partial_fit(MORE[:1], [{"a"}])
    with pytest.raises(ValueError, match="call pending_rows again"):
        model.outputs(QUERIES, pending)
    with pytest.raises(ValueError, match="call pending_rows again"):
        pending + other.pending_rows(MORE[:1], SAID[:1])


def test_what_is_not_learned_or_has_one_class_takes_no_notes():
    with pytest.raises(ValueError, match="learned influence"):
        SMLClassifier("linear").fit(X, Y).pending_rows(MORE, SAID)
    one = SMLClassifier("linear", influence="ridge").fit(X, ["a" if x[0] > 0.5 else "b" for x in X])
    with pytest.raises(ValueError, match="label sets"):
        one.pending_rows(MORE, ["a"] * 5)
