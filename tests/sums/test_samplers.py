"""Samples give the right sums on average, for any distribution, drawn once or for each query."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel import SMLClassifier, load, similarity_sums
from simlabel.similarities import RBF, Precomputed
from simlabel.sums import Sampled
from simlabel.sums._samplers import Balanced, Distribution, UniformSampler, draw, resolve_sampler


def data(rng, n=60):
    X = rng.normal(size=(n, 3))
    Y = (rng.random((n, 4)) < [0.6, 0.3, 0.1, 0.05]).astype(int)
    Y[0] = 1
    return X, Y


SAMPLERS = [
    UniformSampler(12),
    Balanced(12),
    Distribution(lambda X, Y: 0.2 + np.linalg.norm(X, axis=1), n=12),
    Distribution(np.linspace(1, 5, 60), n=12),
]


def assert_mean(estimates, wanted):
    """The mean of the draws is within five standard errors of what it estimates."""
    estimates = np.array(estimates)
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    assert (np.abs(estimates.mean(axis=0) - wanted) <= 5 * error + 1e-12).all()
    assert (error < 0.2 * np.abs(wanted).max()).all()  # and five of them are not everything


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.name)
def test_drawn_at_fit_the_label_weights_are_unbiased(sampler, rng):
    X, Y = data(rng)
    q = rng.normal(size=(2, 3))
    estimates = []
    for seed in range(400):
        model = SMLClassifier(RBF(0.3), normalizer=None, sampler=sampler, random_state=seed).fit(
            X, sp.csr_array(Y)
        )
        estimates.append(model.label_weights(q))
    wanted = [naive.sums(x, X.tolist(), Y.tolist(), naive.rbf(0.3)) for x in q.tolist()]
    assert_mean(estimates, wanted)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=lambda s: s.name)
def test_drawn_for_each_query_the_sums_are_unbiased(sampler, rng):
    X, Y = data(rng)
    p = sampler.probabilities(X, sp.csr_array(Y))
    q = rng.normal(size=(2, 3))
    own = np.array([5, -1])
    estimates = [
        similarity_sums(q, X, Y, RBF(0.3), engine=Sampled(p, 12, seed), exclude=own) for seed in range(400)
    ]
    wanted = [
        naive.sums(x, X.tolist(), Y.tolist(), naive.rbf(0.3), exclude=None if o < 0 else int(o))
        for x, o in zip(q.tolist(), own, strict=True)
    ]
    assert_mean(estimates, wanted)


def test_a_draw_counts_as_often_as_it_was_drawn():
    p = np.array([0.5, 0.3, 0.2])
    rows, scales = draw(p, 1000, np.random.default_rng(0))
    counts = scales * 1000 * p[rows]
    np.testing.assert_allclose(counts, np.round(counts))
    assert counts.sum() == pytest.approx(1000)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_each_query_has_its_own_draw_whatever_its_company(make, rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(0.3), sampler=UniformSampler(10, per_query=True), random_state=0).fit(
        make(X), Y
    )
    Q = make(rng.normal(size=(6, 3)))
    together = model.label_weights(Q)
    alone = np.vstack([model.label_weights(Q[i : i + 1]) for i in range(6)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)
    exact = SMLClassifier(RBF(0.3)).fit(make(X), Y).label_weights(Q)
    assert not np.allclose(together, exact)
    assert model.n_references_ == 60
    assert "drawn for each query" in str(model.plan_)


def test_references_that_were_not_drawn_are_dropped(rng):
    X, Y = data(rng)
    model = SMLClassifier(sampler=10, random_state=0).fit(X, Y)
    assert model.n_references_ <= 10
    assert model.predict(X).shape == Y.shape  # labels that were not drawn are still labels


@pytest.mark.parametrize(
    "sampler", [UniformSampler(10), Balanced(10), UniformSampler(10, per_query=True)], ids=repr
)
def test_saved_and_loaded_it_answers_the_same(sampler, rng, tmp_path):
    X, Y = data(rng)
    model = SMLClassifier(RBF(0.3), sampler=sampler, random_state=0).fit(X, Y)
    model.save(tmp_path / "model.simlabel")
    np.testing.assert_array_equal(load(tmp_path / "model.simlabel").label_weights(X), model.label_weights(X))


def test_rare_labels_are_drawn_as_often():
    Y = sp.csr_array(np.array([[1, 0]] * 90 + [[0, 1]] * 9 + [[0, 0]]))
    p = Balanced().probabilities(None, Y)
    np.testing.assert_allclose([p[:90].sum(), p[90:99].sum(), p[99]], 1 / 3)


@pytest.mark.parametrize("similarity", [RBF(0.3), lambda a, b: float(a @ b)])
def test_teaching_and_forgetting_are_refused(similarity, rng):
    X, Y = data(rng)
    model = SMLClassifier(similarity, sampler=10, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="sampler"):
        model.partial_fit(X, Y)
    with pytest.raises(ValueError, match="sampler"):
        model.forget([0])


def test_mistakes_are_named(rng):
    X, Y = data(rng)
    with pytest.raises(ValueError, match=r"reference 1 has probability 0\.0; each must be above 0"):
        SMLClassifier(sampler=Distribution([1.0, 0.0] * 30)).fit(X, Y)
    with pytest.raises(ValueError, match="for each of the 60 references, got shape"):
        SMLClassifier(sampler=np.ones(3)).fit(X, Y)
    with pytest.raises(ValueError, match="UniformSampler: n must be a whole number of at least 1, got 0"):
        SMLClassifier(sampler=0).fit(X, Y)
    with pytest.raises(ValueError, match="give p"):
        resolve_sampler("distribution")
    with pytest.raises(ValueError, match="Unknown sampler"):
        resolve_sampler("unifrom")
    S = np.eye(60)
    with pytest.raises(ValueError, match="precomputed"):
        SMLClassifier(Precomputed(), sampler=UniformSampler(5, per_query=True)).fit(S, Y).predict(S)
    with pytest.raises(ValueError, match="whole rows"):
        SMLClassifier(weighting="top_k", sampler=UniformSampler(5, per_query=True)).fit(X, Y).predict(X)


def test_label_means_are_those_of_the_sample_with_each_row_counted_for_what_it_stands_for(rng):
    """A quotient of two unbiased sums: equal to plain loops over the drawn rows, own entry left out too."""
    X, Y = data(rng)
    model = SMLClassifier(
        RBF(0.3), normalizer=None, influence="label_mean", sampler=Balanced(40), random_state=3
    ).fit(X, Y)
    scorer = model._model.scorer
    ids, scales = scorer.references.ids.tolist(), scorer.stages.scales
    assert len(set(scales.tolist())) > 1

    def mean(x, k, but=None):
        rows = [(i, c) for i, c in zip(ids, scales, strict=True) if i != but and Y[i, k]]
        total = sum(c * naive.rbf(0.3)(x, X[i].tolist()) for i, c in rows)
        return total / sum(c for _, c in rows) if rows else 0.0

    wanted = [[mean(X[i].tolist(), k, but=i) for k in range(4)] for i in ids]
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=1e-9, atol=1e-12)
    q = rng.normal(size=3)
    wanted = [mean(q.tolist(), k) for k in range(4)]
    np.testing.assert_allclose(model.label_weights([q])[0], wanted, rtol=1e-9)


@pytest.mark.parametrize("tuning", ["loo", "validation"])
@pytest.mark.parametrize("influence", ["uniform", "label_mean"])
def test_tuning_counts_drawn_rows_for_what_they_stand_for(influence, tuning, rng):
    """The curve is that of plain loops: sums and the criterion's mean, both with inverse probabilities."""
    X, Y = data(rng)
    Y[:, 1] |= 1 - Y[:, 0]  # every row has a label, so that the criterion is defined
    model = SMLClassifier(
        "rbf", normalizer=None, influence=influence, sampler=Balanced(40), tuning=tuning, random_state=1
    ).fit(X, Y)
    scorer = model._model.scorer
    ids, scales = (
        scorer.references.ids.tolist(),
        dict(zip(scorer.references.ids, scorer.stages.scales, strict=True)),
    )
    first = model.tuning_.candidates[0]["gamma"]
    total = weight = 0.0
    for i in ids:
        others = [j for j in ids if j != i]
        S = {j: naive.rbf(first)(X[i].tolist(), X[j].tolist()) * scales[j] for j in others}
        scores = [sum(S[j] for j in others if Y[j, k]) for k in range(4)]
        if influence == "label_mean":
            counts = [sum(scales[j] for j in others if Y[j, k]) for k in range(4)]
            scores = [s / c if c else 0.0 for s, c in zip(scores, counts, strict=True)]
        labels = set(np.flatnonzero(Y[i]).tolist())
        total += scales[i] * naive.average_precision(scores, labels)
        weight += scales[i]
    assert model.tuning_.values[0] == pytest.approx(total / weight, abs=1e-9)
