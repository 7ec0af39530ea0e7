"""Column weights are chosen by leave-one-out, which equals solving without each row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel.sums import References
from simlabel.tuning import MAX_CANDIDATES, STRAIGHT_SHARE, ColumnSearch


def problem(seed=0, n=30):
    """Return an informative block, and one of noise."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 3)) < 0.4).astype(float)
    Y[0] = 1.0
    salient, noise = Y + 0.4 * rng.normal(size=Y.shape), rng.normal(size=(n, 3))
    unit = [block / np.linalg.norm(block, axis=1, keepdims=True) for block in (salient, noise)]
    return dict(zip(("salient", "noise"), unit, strict=True)), sp.csr_array(Y)


def squared_error(Y, scores):
    return -float(np.mean((np.asarray(scores) - Y.toarray()) ** 2))


def search(blocks, Y, criterion="average_precision", rbf_block=None, n_jobs=None, on_step=None, **companions):
    references = References(
        sp.csr_array(Y.shape), Y, companions.pop("weights", np.ones(Y.shape[0])), **companions
    )
    rows = [(name, sp.csr_array(block)) for name, block in blocks.items()]
    return ColumnSearch(rows, references, criterion, rbf_block, on_step, n_jobs)


@pytest.mark.parametrize("seed", range(3))
def test_a_block_that_knows_weighs_more_than_noise(seed):
    found = search(*problem(seed), squared_error).run()
    assert found.weights["noise"] < 0.5 * found.weights["salient"]
    weights = {f"weight of {name}": weight for name, weight in found.weights.items()}
    assert found.curve.best == weights | {"penalty": found.penalty}
    at = found.curve.candidates.index(found.curve.best)
    assert found.curve.values[at] > found.curve.values[0]


@pytest.mark.parametrize("rbf_block", [None, "noise"])
def test_threads_change_nothing(rbf_block):
    one, three = (search(*problem(n=120), rbf_block=rbf_block, n_jobs=n).run() for n in (1, 3))
    assert one.curve.candidates == three.curve.candidates
    assert one.curve.values == three.curve.values
    assert (one.weights, one.penalty, one.gamma) == (three.weights, three.penalty, three.gamma)


@pytest.mark.parametrize("gamma", [0.0, 0.8], ids=["straight", "rbf_block"])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_a_candidate_is_worth_what_solving_without_each_row_says(grouped, weighted, gamma):
    blocks, Y = problem(n=14)
    weights = np.arange(1.0, 15.0) % 3 + 1 if weighted else np.ones(14)
    groups = np.arange(14) // 3 if grouped else None
    chosen = {"salient": 0.7, "noise": 2.0}
    seen = []
    one = search(
        blocks,
        Y,
        lambda Y, scores: seen.append(np.array(scores)) or 0.0,
        "noise",
        weights=weights,
        groups=groups,
    )
    weighted = {f"weight of {name}": value for name, value in chosen.items()}
    one.measure(weighted | {"penalty": 0.4, "gamma": gamma})
    X = np.hstack([*blocks.values()]).tolist()
    targets = Y.toarray().tolist()

    def similarity(x, z):
        straight = naive.dot(x[3:], z[3:])
        noise = naive.rbf(gamma)(x[3:], z[3:]) + STRAIGHT_SHARE * straight if gamma else straight
        return chosen["salient"] * naive.dot(x[:3], z[:3]) + chosen["noise"] * noise

    expected = [
        naive.ridge(x, X, targets, similarity, 0.4, weights.tolist(), absent=naive.own_group(i, groups))
        if grouped
        else _without(i, x, X, targets, weights, similarity)
        for i, x in enumerate(X)
    ]
    expected /= np.abs(expected).max(axis=1, keepdims=True)  # a criterion sees each row by its largest score
    np.testing.assert_allclose(np.concatenate(seen), expected, rtol=2e-5, atol=2e-5)  # products are float32


def _without(i, x, X, targets, weights, similarity):
    """Solve with one copy less of the row."""
    fewer = weights.copy()
    fewer[i] -= min(1.0, fewer[i])
    absent = [i] if fewer[i] == 0 else []
    return naive.ridge(x, X, targets, similarity, 0.4, np.maximum(fewer, 1e-300).tolist(), absent=absent)


def test_one_block_is_not_weighed():
    blocks, Y = problem()
    found = search({"salient": blocks["salient"]}, Y).run()
    assert found.weights == {"salient": 1.0}


def test_no_more_candidates_than_said():
    _, Y = problem()
    rng = np.random.default_rng(1)
    steps = []
    blocks = {f"block {k}": rng.normal(size=(30, 2)) for k in range(40)}
    found = search(blocks, Y, squared_error, on_step=lambda *step: steps.append(step)).run()
    assert len(found.curve.candidates) == len(steps) <= MAX_CANDIDATES
    assert steps[-1] == (len(steps), MAX_CANDIDATES)


def test_a_criterion_that_is_undefined_leaves_all_equal():
    blocks, _ = problem()
    found = search(blocks, sp.csr_array((30, 2))).run()  # no labels: no row has an average precision
    assert set(found.weights.values()) == {1.0}


def test_a_block_that_tells_nothing_in_a_straight_line_is_bent():
    rng = np.random.default_rng(0)
    block = rng.normal(size=(120, 2))
    alike = block.prod(axis=1) > 0
    Y = sp.csr_array(np.column_stack([alike, ~alike]).astype(float))
    found = search({"numbers": block}, Y, rbf_block="numbers").run()
    assert found.curve.best["gamma"] == found.gamma > 0
    tried = zip(found.curve.candidates, found.curve.values, strict=True)
    straight = max(value for candidate, value in tried if not candidate["gamma"])
    assert found.curve.best_value > straight + 0.1


def test_equal_rows_are_not_bent():
    _, Y = problem()
    Y = sp.vstack([Y] * 4).tocsr()
    found = search({"numbers": np.ones((120, 2))}, Y, rbf_block="numbers").run()
    assert found.gamma is None


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_blocks_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    blocks, Y = problem(seed)
    blocks |= {f"more {k}": blocks["salient"] + rng.normal(size=(30, 3)) for k in range(3)}
    one = search(blocks, Y, squared_error).run()
    other = search(dict(reversed(blocks.items())), Y, squared_error).run()
    assert (other.weights, other.penalty) == (one.weights, one.penalty)
