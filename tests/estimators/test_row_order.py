"""Permuted training rows give the same model: samples depend on the content of rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel._utils.rows import content_order
from simlabel.model.sketches import Condense, RandomFeatures
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Precomputed
from simlabel.sums import Balanced, TopK, UniformSampler
from simlabel.tuning import LeaveOneOut, Validation

N = 300


@pytest.fixture
def rows(rng):
    X = np.abs(rng.normal(size=(N, 5)))
    X[-20:] = X[:20]  # equal rows, half of them with other labels
    Y = (X[:, :3] + 0.6 * rng.normal(size=(N, 3)) > 0.9).astype(int)
    return X, Y, rng.integers(1, 3, N).astype(float), rng.integers(0, 90, N)


def _check(model, rows, queries, rng, with_groups=False):
    """Fit in two orders, and compare the chosen values and the predicted sets."""
    X, Y, weights, groups = rows
    order = rng.permutation(N)
    moved = sp.csr_array(X[order]) if sp.issparse(X) else X[order]
    more = [{"groups": g} if with_groups else {} for g in (groups, groups[order])]
    model.fit(X, Y, sample_weight=weights, ids=np.arange(N), **more[0])
    wanted, best = model.predict(queries), model.tuning_.best
    model.fit(moved, Y[order], sample_weight=weights[order], ids=np.arange(N)[order], **more[1])
    assert model.tuning_.best == pytest.approx(best, rel=1e-6)
    np.testing.assert_array_equal(model.predict(queries), wanted)


@pytest.mark.parametrize(
    "stages",
    [
        {"tuning": LeaveOneOut(max_rows=40)},
        {"tuning": Validation(literal=True, share=0.3)},
        {"similarity": "laplacian", "normalizer": "zscore", "tuning": LeaveOneOut(max_rows=40)},
        {"similarity": "chi_square", "tuning": LeaveOneOut(max_rows=40)},
        {"normalizer": "auto"},
        {"influence": "ridge"},
        {"influence": Ridge(0.5, inducing=30)},
        {"sampler": UniformSampler(80)},
        {"sampler": Balanced(60, per_query=True)},
        {"sketch": Condense(20)},
        {"similarity": RBF(1.0), "sketch": RandomFeatures(256)},
    ],
    ids=str,
)
def test_the_order_of_rows_does_not_matter(stages, rows, rng, changed_limits):
    with changed_limits(tuned_rows=100, normalizer_rows=100):
        _check(SMLClassifier(**stages, random_state=3), rows, np.abs(rng.normal(size=(60, 5))), rng)


def test_nor_does_it_with_groups_and_sparse_rows(rows, rng):
    X, *others = rows
    tuning = Validation(literal=True, share=0.5)
    queries = np.abs(rng.normal(size=(60, 5)))
    _check(SMLClassifier(tuning=tuning, random_state=0), rows, queries, rng, with_groups=True)
    X = sp.csr_array(np.where(X > 0.4, X, 0.0))
    _check(SMLClassifier(tuning=LeaveOneOut(max_rows=40), random_state=0), (X, *others), queries, rng)


@pytest.mark.parametrize(
    "stages",
    [
        {"influence": "ridge"},
        {"label_rule": "per_label"},
        {"label_rule": "cutoff"},
        {"weighting": TopK("auto"), "tuning": LeaveOneOut(max_rows=40)},
        {"weighting": TopK("auto"), "tuning": Validation(literal=True, share=0.3)},
        {"weighting": TopK("auto"), "tuning": Validation(folds=3)},
    ],
    ids=str,
)
def test_nor_does_it_with_precomputed_similarities(stages, rng, changed_limits):
    """With a precomputed matrix, columns are permuted with the rows."""
    X, Q = rng.normal(size=(N, 4)), rng.normal(size=(60, 4))
    Y = (X[:, :3] + 0.6 * rng.normal(size=(N, 3)) > 0.9).astype(int)
    similar = lambda A: np.exp(-((A[:, None] - X[None]) ** 2).sum(axis=2))  # noqa: E731
    S, new, order = similar(X), similar(Q), rng.permutation(N)
    model = SMLClassifier(Precomputed(positive_definite=True), random_state=0, **stages)
    with changed_limits(tuned_rows=100, evaluated_entries=400):
        wanted, best = model.fit(S, Y).predict(new), model.tuning_.best
        found = model.fit(S[np.ix_(order, order)], Y[order]).predict(new[:, order])
    np.testing.assert_array_equal(found, wanted)
    assert model.tuning_.best == pytest.approx(best, rel=1e-6)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_content_order_of_similarities(form, rng):
    A = rng.normal(size=(40, 3))
    S, order = A @ A.T, rng.permutation(40)
    one, other = content_order(form(S), pairwise=True), content_order(form(S[order][:, order]), pairwise=True)
    np.testing.assert_array_equal(order[other], one)


def test_nor_does_it_where_stages_are_chosen(rows, rng, changed_limits):
    X, Y, *_ = rows
    order, queries = rng.permutation(N), np.abs(rng.normal(size=(60, 5)))
    with changed_limits(tuned_rows=120, evaluated_entries=400):
        one, other = (
            AutoSMLClassifier(random_state=0).fit(X[some], Y[some]) for some in (np.arange(N), order)
        )
    assert type(one.similarity_) is type(other.similarity_)
    assert other.tuning_.best == pytest.approx(one.tuning_.best, rel=1e-6)
    np.testing.assert_array_equal(one.predict(queries), other.predict(queries))


def test_nor_does_it_for_tables(rng, changed_limits):
    words = np.array(["sea", "ship", "sail", "tree", "leaf", "wood", "rain", "wind", "sun"])
    texts = [" ".join(rng.choice(words, 4)) for _ in range(200)]
    table = pd.DataFrame({"text": texts, "year": rng.integers(1900, 2000, 200)})
    sets = [{label for label in ("sea", "tree", "rain") if label in text} or {"none"} for text in texts]
    order = rng.permutation(200)
    with changed_limits(tuned_rows=80):
        one = Tagger().fit(table, sets)
        other = Tagger().fit(table.iloc[order], [sets[i] for i in order])
    assert other.tuning_.best == pytest.approx(one.tuning_.best, rel=1e-6)
    assert one.predict_sets(table[:50]) == other.predict_sets(table[:50])


def test_content_order_of_rows_on_a_disk_and_of_objects(rng):
    X = rng.normal(size=(40, 3))
    order = rng.permutation(40)
    for form in (np.asarray, sp.csr_array, lambda rows: [tuple(row) for row in rows.tolist()]):
        one, other = content_order(form(X)), content_order(form(X[order]))
        np.testing.assert_array_equal(X[one], X[order][other])
    np.testing.assert_array_equal(content_order(X), content_order(sp.csr_array(X)))
    sets = [{"b", "a", str(i)} for i in range(9)]
    assert [sets[i] for i in content_order(sets)] == [sets[::-1][i] for i in content_order(sets[::-1])]
