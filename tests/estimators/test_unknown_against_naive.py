"""With unknown labels, sums equal plain loops over the rows in which each label is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier
from simlabel._utils.rows import assign_folds
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Laplacian, Linear, Quadratic
from simlabel.sums import Cutoff, Power, TopK

PAIRS = [
    (RBF(1.0), naive.rbf(1.0), False),
    (Laplacian(0.7), naive.laplacian(0.7), False),
    (Quadratic(), naive.polynomial(2, 1.0), False),
    (Linear(), naive.dot, True),
]
WEIGHTINGS = [
    (None, naive.keep_all),
    (TopK(4), naive.top_k(4)),
    (Cutoff(0.3), naive.cutoff(0.3)),
    (Power(2.0), naive.power(2.0)),
]


def made(seed, n=14, n_labels=4, hidden=0.4, whole=True):
    """Return rows, and labels as lists with None for unknown ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))  # no two are equally far from a query: top-k has no ties
    Y = (X @ rng.normal(size=(3, n_labels)) + 0.3 * rng.normal(size=(n, n_labels)) > 0).astype(float)
    Y[rng.random(Y.shape) < hidden] = np.nan
    if whole:
        Y[:3] = np.nan_to_num(Y[:3])
    else:
        Y[np.arange(n), rng.integers(0, n_labels, n)] = np.nan
    if seed % 2:  # one label of which nothing is known, and one that is constant where it is known
        Y[:, 0], Y[:, 1] = np.nan, np.where(np.isnan(Y[:, 1]), np.nan, seed // 2 % 2)
    rows = [[None if np.isnan(v) else bool(v) for v in row] for row in Y]
    return X, Y, rows, rng.normal(size=(5, 3))


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("similarity", "phi", "by_counts"), PAIRS, ids=lambda v: repr(v)[:12])
@pytest.mark.parametrize(("weighting", "psi"), WEIGHTINGS, ids=lambda v: repr(v)[:12])
@given(
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
    whole=st.booleans(),
    engine=st.sampled_from(["exact", "auto"]),
)
@settings(max_examples=4)
def test_sums_and_sizes(similarity, phi, by_counts, weighting, psi, engine, seed, weighted, whole):
    by_counts = by_counts and not isinstance(weighting, Cutoff)  # which leaves nothing below 0
    X, Y, rows, Q = made(seed, whole=whole)
    weights = np.random.default_rng(seed).integers(1, 4, len(X)).astype(float) if weighted else None
    model = SMLClassifier(similarity, weighting=weighting, normalizer=None, engine=engine)
    model.fit(X, Y, sample_weight=weights)
    given_weights = None if weights is None else weights.tolist()
    requested = [(q, X.tolist(), rows, phi, psi, given_weights) for q in Q.tolist()]
    close(
        model.label_weights(Q) if hasattr(model, "label_weights") else model.decision_function(Q),
        [naive.known_label_weights(*one, by_counts=by_counts) for one in requested],
    )
    if not by_counts:
        assert model.predict_set_size(Q).tolist() == [naive.known_set_size(*one) for one in requested]


@pytest.mark.parametrize("weighting", [None, TopK(3)], ids=repr)
@pytest.mark.parametrize("grouped", [False, True])
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=6)
def test_leave_one_out(weighting, grouped, seed, weighted):
    X, Y, rows, _ = made(seed)
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 3, len(X)).astype(float) if weighted else np.ones(len(X))
    groups = rng.integers(0, 5, len(X)).tolist() if grouped else None
    model = SMLClassifier(RBF(1.0), weighting=weighting, normalizer=None)
    model.fit(X, Y, sample_weight=weights, groups=groups)
    psi = naive.keep_all if weighting is None else naive.top_k(3)
    wanted = []
    for i, x in enumerate(X.tolist()):
        removed = {"absent": naive.own_group(i, groups)} if grouped else {"exclude": i}
        wanted.append(
            naive.known_label_weights(x, X.tolist(), rows, naive.rbf(1.0), psi, weights.tolist(), **removed)
        )
    close(model.leave_one_out(), wanted)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_label_mean_is_over_the_rows_that_are_known_to_have_a_label(seed):
    X, Y, rows, Q = made(seed)
    model = SMLClassifier(RBF(1.0), influence="label_mean", normalizer=None).fit(X, Y)
    phi, rows = naive.rbf(1.0), naive.imputed(rows)
    wanted = []
    for q in Q.tolist():
        have = [[phi(q, x) for x, row in zip(X.tolist(), rows, strict=True) if row[k]] for k in range(4)]
        wanted.append([sum(each) / max(1, len(each)) for each in have])
    weights = getattr(model, "label_weights", model.decision_function)
    close(weights(Q), wanted)


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("inducing", [None, 14])
@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=5)
def test_ridge_and_its_leave_one_out(grouped, inducing, seed, weighted):
    X, Y, rows, Q = made(seed)
    rng = np.random.default_rng(seed)
    weights = rng.random(len(X)) + 0.2 if weighted else np.ones(len(X))
    groups = rng.integers(0, 5, len(X)).tolist() if grouped else None
    phi = naive.rbf(0.5)
    model = SMLClassifier(RBF(0.5), influence=Ridge(0.3, inducing=inducing), normalizer=None)
    model.fit(X, Y, sample_weight=weights, groups=groups)
    given_ = X.tolist(), rows, phi, 0.3, weights.tolist()
    scores = getattr(model, "label_weights", model.decision_function)
    close(scores(Q), [naive.known_ridge(q, *given_) for q in Q.tolist()])
    if weighted and not grouped:
        return  # one copy is left out, of weights below 1 all: by loops of ridge itself elsewhere
    removed = [naive.own_group(i, groups) if grouped else [i] for i in range(len(X))]
    close(
        model.leave_one_out(),
        [naive.known_ridge(x, *given_, absent=absent) for x, absent in zip(X.tolist(), removed, strict=True)],
    )


@pytest.mark.parametrize("similarity", [RBF(0.5), Linear()], ids=repr)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=5)
def test_many_patterns_are_iterated_to_the_same_influence(similarity, seed, changed_limits):
    X, Y, _, Q = made(seed, n=40)
    direct = SMLClassifier(similarity, influence=Ridge(0.3), normalizer=None).fit(X, Y)
    with changed_limits(pattern_operations=0.0):
        iterated = SMLClassifier(similarity, influence=Ridge(0.3), normalizer=None).fit(X, Y)
    solved = iterated._model.scorer.solved
    assert 0 <= solved.residual <= 1e-7
    scores = [getattr(model, "label_weights", model.decision_function)(Q) for model in (iterated, direct)]
    np.testing.assert_allclose(*scores, atol=1e-5)


def test_left_out_scores_of_folds_are_those_of_the_other_folds(changed_limits):
    X, Y, _, _ = made(3, n=60)
    with changed_limits(pattern_operations=0.0):
        model = SMLClassifier(RBF(0.5), influence=Ridge(0.3), normalizer=None).fit(X, Y)
    problem = model._model.scorer.problem
    numbers = assign_folds(problem.references.units, 5, problem.stages.seed)
    found = model.leave_one_out()
    for fold in range(5):
        held = numbers == fold
        rest = SMLClassifier(RBF(0.5), influence=Ridge(0.3), normalizer=None).fit(X[~held], Y[~held])
        scores = getattr(rest, "label_weights", rest.decision_function)(X[held])
        np.testing.assert_allclose(found[held], scores, atol=0.03)
