"""Where numbers or shapes are at an end, every engine gives the plain loops' answer or a plain error."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel import SMLClassifier, similarity_sums
from simlabel.model.sketches import Condense, RandomFeatures
from simlabel.similarities import RBF, Cosine, Laplacian, Linear
from simlabel.sums import ENGINES, Collapsed, Exact, Sampled
from simlabel.sums._weightings import TopK

# name, engine for n references, similarity, its meaning, weighting, its meaning, kind of rows
CASES = {
    "all pairs": (lambda n: Exact(visit="all"), RBF(0.5), naive.rbf(0.5), None, naive.keep_all, np.asarray),
    "coordinates": (
        lambda n: Exact(), Laplacian(0.5), naive.laplacian(0.5), None, naive.keep_all, np.asarray,
    ),
    "non-zero products": (
        lambda n: Exact(visit="nonzero"), RBF(0.5), naive.rbf(0.5), None, naive.keep_all, sp.csr_array,
    ),
    "sparse pairs": (
        lambda n: Exact(visit="all"), Cosine(), naive.cosine, None, naive.keep_all, sp.csr_array,
    ),
    "collapsed": (lambda n: Collapsed(), Linear(), naive.dot, None, naive.keep_all, np.asarray),
    "auto": (lambda n: "auto", RBF(0.5), naive.rbf(0.5), None, naive.keep_all, np.asarray),
    "top-k": (lambda n: Exact(), RBF(0.5), naive.rbf(0.5), TopK(2), naive.top_k(2), np.asarray),
    "sampled": (
        lambda n: Sampled(np.full(n, 1.0 / n), 5), RBF(0.5), naive.rbf(0.5), None, naive.keep_all, np.asarray,
    ),
}  # fmt: skip
assert {"auto", "exact", "collapsed"} == set(ENGINES.names)


@pytest.fixture(params=CASES)
def case(request):
    return request.param


def both(name, Q, X, V):
    make, similarity, phi, weighting, psi, kind = CASES[name]
    Q, X, V = (np.asarray(A) for A in (Q, X, V))
    result = similarity_sums(kind(Q), kind(X), V, similarity, weighting=weighting, engine=make(len(X)))
    rows = [naive.sums(q, X.tolist(), V.tolist(), phi, psi) for q in Q.tolist()] if V.shape[1] else []
    return result, np.reshape(rows, (len(Q), V.shape[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row(case, dtype):
    result, wanted = both(case, np.array([[1.0, 2.0]], dtype), np.array([[0.5, 2.0]], dtype), [[1.0, 3.0]])
    np.testing.assert_allclose(result, wanted, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 3])
def test_one_feature(case, n):
    X = np.linspace(1.0, 2.0, n)[:, None]
    if case == "sampled":
        X = np.ones((n, 1))  # then whatever is drawn is the same
    result, wanted = both(case, [[0.5], [0.0]], X, np.ones((n, 2)))
    np.testing.assert_allclose(result, wanted, rtol=1e-12)


def test_no_labels(case, rng):
    result, wanted = both(case, rng.random((3, 2)), rng.random((4, 2)), np.zeros((4, 0)))
    assert result.shape == wanted.shape == (3, 0)


def test_no_queries(case, rng):
    make, similarity, _, weighting, _, kind = CASES[case]
    with pytest.raises(ValueError, match="0 sample"):
        similarity_sums(kind(np.empty((0, 2))), kind(rng.random((4, 2))), np.ones((4, 1)), similarity,
                        weighting=weighting, engine=make(4))  # fmt: skip


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["Q", "X"])
def test_what_is_no_number_is_named(case, bad, where, rng):
    make, similarity, _, weighting, _, kind = CASES[case]
    rows = {"Q": rng.random((3, 2)), "X": rng.random((4, 2))}
    rows[where][2, 1] = bad
    with pytest.raises(ValueError, match=f"(?s){where}.*(NaN|nan|inf).*row 2.*column 1"):
        similarity_sums(kind(rows["Q"]), kind(rows["X"]), np.ones((4, 1)), similarity,
                        weighting=weighting, engine=make(4))  # fmt: skip


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-160])
def test_denormals(case, tiny):
    """Products of such numbers are 0; none of them is an error, nor does one become NaN."""
    X = np.array([[tiny, 0.0], [tiny, tiny], [1.0, tiny]])
    if case in ("sparse pairs", "sampled"):
        X = np.full((3, 2), tiny) if case == "sampled" else X[2:]  # lengths below 1e-154 have no cosine
    result, wanted = both(case, X[:2], X, np.ones((len(X), 2)))
    np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-300)


#: not those with a cosine or an inner product, which do not underflow
FAR = ["all pairs", "coordinates", "auto", "top-k", "sampled", "non-zero products"]


@pytest.mark.parametrize("case", FAR, indirect=True)
def test_all_similarities_underflow(case):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    result, wanted = both(case, [[1e3, 1e3]], X, np.ones((3, 2)))
    assert not wanted.any()
    assert not result.any()


ESTIMATORS = {
    "exact": {},
    "top-k": {"weighting": TopK(2)},
    "sampler": {"sampler": 3},
    "ridge": {"influence": "ridge"},
    "condense": {"sketch": Condense(2)},
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_far_from_everything_the_most_frequent_is_predicted(name):
    """Nothing is similar: scores are 0 (ridge: the mean), and sizes and labels are the most frequent."""
    X = [[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [0.2, 0.1], [0.1, 0.1]]
    y = [{"sea"}, {"sea"}, {"sea"}, {"sea", "sky"}, {"sea"}]
    model = SMLClassifier(RBF(1.0), normalizer=None, random_state=0, **ESTIMATORS[name]).fit(X, y)
    scores = model.label_weights([[1e4, 1e4]])
    assert np.isfinite(scores).all()
    if name != "ridge":
        assert not scores.any()
    assert model.predict([[1e4, 1e4]]) == [{"sea"}]
    assert model.predict_set_size([[1e4, 1e4]]).tolist() == [1]


@pytest.mark.parametrize("name", [*ESTIMATORS, "random features"])
def test_a_single_reference(name):
    stages = ESTIMATORS.get(name, {"sketch": RandomFeatures(64)})
    model = SMLClassifier(RBF(1.0), normalizer=None, random_state=0, **stages).fit([[0.5, 0.5]], [{"sea"}])
    assert model.predict([[0.5, 0.4]]) == [{"sea"}]


@pytest.mark.parametrize("name", ["exact", "top-k"])
def test_rows_without_any_label(name):
    Y = np.zeros((4, 2), dtype=int)
    model = SMLClassifier(RBF(1.0), normalizer=None, **ESTIMATORS[name]).fit(np.eye(4), Y)
    assert not model.predict(np.eye(4)).any()
    assert not model.label_weights(np.eye(4)).any()
