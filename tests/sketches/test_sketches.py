"""Sketches converge to the sums, know their error, and refuse to return noise."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel import SMLClassifier, load
from simlabel.metrics import average_precision
from simlabel.model.sketches import SKETCHES, AutoSketch, Condense, RandomFeatures, SketchProblem
from simlabel.ridge import Stages, Uniform
from simlabel.similarities import RBF, Function, Laplacian, Linear
from simlabel.sums import Exact, Job, Power, References, SumReducer, prepare


def clusters(rng, n=400, n_features=5, spread=0.25):
    centers = rng.normal(size=(4, n_features))
    of = rng.integers(0, 4, n)
    X = centers[of] + spread * rng.normal(size=(n, n_features))
    Y = np.zeros((n, 4), dtype=int)
    Y[np.arange(n), of] = 1
    Y[rng.random(n) < 0.2, 0] = 1
    return X, Y


def problem(similarity, rng, n=300):
    X, Y = clusters(rng, n)
    references = References(X, sp.csr_array(Y), np.ones(n))
    prepared = prepare(X, [similarity])
    job = Job(similarity, None, SumReducer(references.influence))
    stages = Stages(similarity=similarity, influence=Uniform(), engine=Exact(), n_jobs=1)
    return SketchProblem(stages, references, prepared, job), X, Y


CASES = [
    (RandomFeatures(8192), RBF(0.3), naive.rbf(0.3), 0.05),
    (RandomFeatures(8192), Laplacian(0.1), naive.laplacian(0.1), 0.05),
    (Condense(300), RBF(0.3), naive.rbf(0.3), 0.02),
    (Condense(60), Linear(), naive.dot, 0.02),
]


@pytest.mark.parametrize(
    ("sketch", "similarity", "phi", "error"), CASES, ids=[f"{case[0]!r}-{case[1]!r}" for case in CASES]
)
def test_sums_are_near_the_plain_loops(sketch, similarity, phi, error, rng):
    task, X, Y = problem(similarity, rng)
    Q = X[:6] + 0.1
    sums = sketch.make(task).sums(Q)[:, : Y.shape[1]]
    wanted = np.array([naive.sums(q, X.tolist(), Y.tolist(), phi) for q in Q.tolist()])
    assert np.abs(sums - wanted).max() < error * np.abs(wanted).max()


@pytest.mark.parametrize(
    ("sketch", "similarity", "phi", "error"), CASES, ids=[f"{case[0]!r}-{case[1]!r}" for case in CASES]
)
def test_the_error_is_measured_without_a_rows_own_entry(sketch, similarity, phi, error, rng):
    task, X, _ = problem(similarity, rng, n=60)
    fitted = sketch.make(task)
    V = task.V.toarray()
    sketched = task.sketched(fitted)
    for at in (0, 7, 29):  # half of the rows are checked, since they are few
        i = task.checked[at]
        own = fitted.self_similarity(X[i : i + 1])[0]
        np.testing.assert_allclose(sketched[at], fitted.sums(X[i : i + 1])[0] - own * V[i], atol=1e-6)
        wanted = naive.sums(X[i].tolist(), X.tolist(), V.tolist(), phi, exclude=i)
        np.testing.assert_allclose(task.exact[at], wanted, rtol=1e-9)
    assert not np.isin(task.checked, task.others(1000)).any()  # judged by rows that it has not learned from


def test_more_columns_are_nearer(rng):
    task, _, _ = problem(RBF(0.5), rng)
    errors = [task.error(RandomFeatures(n).make(task)) for n in (64, 4096)]
    assert errors[1] < errors[0] / 3


def test_noise_is_refused(rng):
    X, Y = clusters(rng)
    narrow = RBF(200.0)
    with pytest.raises(
        ValueError, match=r"RandomFeatures\(n=512\) gives sums that point elsewhere .* mostly noise"
    ):
        SMLClassifier(narrow, normalizer=None, sketch=RandomFeatures(512), random_state=0).fit(X, Y)
    SMLClassifier(narrow, normalizer=None, sketch=None).fit(X, Y)


@pytest.mark.parametrize("sketch", [Condense(100), RandomFeatures(2048), "auto"], ids=str)
def test_the_estimator_predicts_nearly_the_same(sketch, rng):
    X, Y = clusters(rng, 600)
    Q = X[:50] + 0.1
    exact = SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y)
    sketched = SMLClassifier(RBF(1.0), normalizer=None, sketch=sketch, random_state=0).fit(X, Y)
    one, other = exact.label_weights(Q), sketched.label_weights(Q)
    assert np.abs(one - other).max() < 0.25 * one.max()
    assert (exact.predict(Q) == sketched.predict(Q)).mean() > 0.9
    assert sketched.sketch_ is not None
    assert "sketched sums" in str(sketched.plan_)


@pytest.mark.parametrize("sketch", [Condense(100), RandomFeatures(2048)], ids=str)
def test_sparse_rows(sketch, rng):
    X = sp.random_array((300, 20), density=0.2, rng=rng, format="csr", dtype=np.float32)
    Y = sp.csr_array((X[:, :4] > 0).astype(int))
    exact = SMLClassifier(RBF(0.3)).fit(X, Y).label_weights(X)
    sketched = SMLClassifier(RBF(0.3), sketch=sketch, random_state=0).fit(X, Y).label_weights(X)
    assert np.abs(exact - sketched).max() < 0.15 * exact.max()


def test_auto_keeps_its_tolerance_and_takes_the_cheapest(rng):
    task, _, _ = problem(RBF(1.0), rng, n=2000)
    found = AutoSketch(tolerance=0.05).make(task)
    Y = task.references.Y[task.checked]
    exact, sketched = (sums[:, : Y.shape[1]] for sums in (task.exact, task.sketched(found)))
    lost = average_precision(Y, exact) - average_precision(Y, sketched)
    assert lost <= 0.05
    assert found.prepared.n_rows == 100
    narrow, _, _ = problem(RBF(1e6), rng, n=2000)  # nobody is near anybody: nothing can be lost
    assert AutoSketch(tolerance=0.0).make(narrow) is not None


@pytest.mark.parametrize("sketch", [Condense(30), RandomFeatures(256), AutoSketch()], ids=repr)
def test_saved_and_loaded_it_answers_the_same(sketch, rng, tmp_path):
    X, Y = clusters(rng, 300)
    model = SMLClassifier(RBF(1.0), sketch=sketch, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.simlabel")
    loaded = load(tmp_path / "model.simlabel")
    np.testing.assert_array_equal(loaded.label_weights(X), model.label_weights(X))
    assert str(loaded.plan_) == str(model.plan_)


@pytest.mark.parametrize("again", [False, True], ids=["same columns", "new label"])
@pytest.mark.parametrize("similarity", [RBF(1.0), Laplacian(0.1)], ids=repr)
def test_taught_the_sums_are_those_of_all_references(similarity, again, rng):
    """The short form is linear in the references: taught in two parts it is what it is for all at once."""
    X, Y = clusters(rng, 300)
    names = [{f"l{k}" for k in np.flatnonzero(row)} for row in Y]
    if again:
        names[250] = {"l0", "l1", "l2", "new"}
    sketch = RandomFeatures(2048)
    model = SMLClassifier(similarity, normalizer=None, sketch=sketch, random_state=0).fit(
        X[:200], names[:200]
    )
    short = model.sketch_
    model.partial_fit(X[200:], names[200:])
    references = model._model.scorer.references
    whole = short.emptied(references.influence.shape[1]).added(references.X[:], references.influence[:])
    scale = np.abs(whole.sums(X)).max()
    np.testing.assert_allclose(model.sketch_.sums(X), whole.sums(X), atol=1e-8 * scale)
    exact = SMLClassifier(similarity, normalizer=None).fit(X, names).label_weights(X)
    assert np.abs(model.label_weights(X) - exact).max() < 0.25 * exact.max()


@pytest.mark.parametrize("similarity", [RBF(1.0), Laplacian(0.1)], ids=repr)
def test_forgotten_rows_are_gone_from_the_sums(similarity, rng):
    X, Y = clusters(rng, 300)
    model = SMLClassifier(similarity, normalizer=None, sketch=RandomFeatures(256), random_state=0).fit(X, Y)
    short = model.sketch_
    model.forget(list(range(100, 150)))
    references = model._model.scorer.references
    left = np.r_[0:100, 150:300]
    whole = short.emptied(references.influence.shape[1]).added(X[left], references.influence[:])
    scale = np.abs(whole.sums(X)).max()
    np.testing.assert_allclose(model.sketch_.sums(X), whole.sums(X), atol=1e-8 * scale)
    assert model.sketch_.n_references == 250


def test_what_cannot_be_updated_says_why(rng):
    X, Y = clusters(rng, 100)
    condensed = SMLClassifier(RBF(1.0), sketch=Condense(20), random_state=0).fit(X, Y)
    for change in (lambda: condensed.partial_fit(X, Y), lambda: condensed.forget([0])):
        with pytest.raises(ValueError, match="learned from all references at once"):
            change()
    assert condensed.n_references_ == 100


def test_what_cannot_be_sketched_says_why(rng):
    X, Y = clusters(rng, 50)
    for sketch, similarity, words in [
        ("random_features", "linear", "random features are for RBF and Laplacian"),
        ("condense", Function(lambda a, b: 1.0), "does not compare features"),
    ]:
        with pytest.raises(ValueError, match=words):
            SMLClassifier(similarity, sketch=sketch).fit(X, Y)
    with pytest.raises(ValueError, match="sums before the weighting"):
        SMLClassifier(RBF(1.0), weighting=Power(2), sketch="condense").fit(X, Y)
    with pytest.raises(ValueError, match="n must be even"):
        SMLClassifier(RBF(1.0), sketch=RandomFeatures(5)).fit(X, Y)
    with pytest.raises(ValueError, match="Unknown sketch"):
        SMLClassifier(RBF(1.0), sketch="condens").fit(X, Y)
    assert set(SKETCHES.names) == {"auto", "condense", "random_features"}
