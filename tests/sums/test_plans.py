"""Plans end for every shape and keep to the bound on memory, with fewer threads before more memory."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from fuzz import plans
from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF, Linear
from simlabel.sums import (
    Exact,
    Job,
    Prepared,
    ReduceCall,
    Sampled,
    make_plan,
    prepare,
    reducer_for,
    symmetric_pays,
)


@pytest.fixture(scope="module")
def material():
    return plans.warm()


def test_ten_thousand_shapes_end_and_fit(material):
    rng = np.random.default_rng(0)
    for _ in range(10_000):
        plans.check_shape(material, rng)


@pytest.mark.parametrize("panels", [False, True])
@pytest.mark.parametrize(
    ("n_queries", "n_references", "n_labels", "threads", "memory_mib"),
    [
        (5_000, 5_000, 22_000, 64, 256),
        (20_000, 20_000, 30_000, 64, 256),
        (100, 5_000, 300_000, 64, 256),
        (150, 150, 5, 1, 0.001),
        (300_000, 300_000, 10**6, 1024, 1e-6),
    ],
)
def test_shapes_that_never_ended(material, n_queries, n_references, n_labels, threads, memory_mib, panels):
    one = material.few["dot"]
    X = np.broadcast_to(0.0, (n_references, 300))
    prepared = Prepared(X, one.leaves, one.norms, one.dtype)
    candidates = 13  # of a search, whose sums are there at once
    plan = make_plan(n_queries, prepared, 8 * n_labels * candidates, 2, threads, memory_mib, panels)
    plans.check_plan(plan, threads, memory_mib)


def test_fewer_threads_before_more_memory(material):
    one = material.few["dot"]
    prepared = Prepared(np.broadcast_to(0.0, (5000, 300)), one.leaves, one.norms, one.dtype)
    plan = make_plan(5000, prepared, 8 * 10**6, 2, 64, 256, panels=False)
    assert plan.threads == 33  # 8 MB each and a little
    assert plan.memory <= 256 * 2**20
    assert "33 of 64 threads" in str(plan)
    alone = make_plan(5000, prepared, 8 * 10**8, 2, 64, 256, panels=False)
    assert (alone.threads, alone.queries, alone.references) == (1, 1, 1)
    assert "more memory than the 256 MiB" in str(alone)


@pytest.mark.parametrize("n_labels", [10, 300, 1000, 5000])
def test_sums_in_panels_stay_in_the_cache(material, n_labels, limits):
    one = material.few["dot"]
    prepared = Prepared(np.broadcast_to(np.float32(0.0), (20_000, 100)), one.leaves, one.norms, one.dtype)
    plan = make_plan(4096, prepared, 8 * n_labels, 2, 1, 256, panels=True)
    assert plan.panels
    assert plan.queries * 8 * n_labels <= limits.cached_sums_bytes or plan.queries == 128


@pytest.mark.parametrize("n_queries", [10, 50, 200, 5000])
def test_few_queries_meet_more_references_in_a_tile_that_stays_in_the_cache(material, n_queries, limits):
    one = material.few["dot"]
    prepared = Prepared(np.broadcast_to(0.0, (20_000, 100)), one.leaves, one.norms, one.dtype)
    plan = make_plan(n_queries, prepared, 80, 2, 1, 256, panels=False)
    tile = plan.queries * plan.references * prepared.dtype.itemsize
    assert plan.references >= limits.block_references
    assert plan.references == limits.block_references or tile <= limits.tile_bytes
    assert tile > limits.tile_bytes / 2


def test_partial_results_of_parts_are_counted(material):
    one = material.few["coordinate"]
    prepared = Prepared(np.broadcast_to(0.0, (10**6, 50)), one.leaves, one.norms, one.dtype)
    plan = make_plan(100, prepared, 8 * 1000, 2, 64, 16, panels=False)
    assert plan.parts > 1
    assert plan.parts * 100 * 8 * 1000 <= plan.memory <= 16 * 2**20


def test_non_zero_products_take_fewer_threads_too(rng):
    X = sp.random_array((20_000, 5000), density=0.002, format="csr", rng=0)
    job = Job(Linear(), None, reducer_for(None, sp.csr_array(np.eye(20_000, 3))))
    plan = Exact(memory_mib=2, visit="nonzero").plan(10**6, prepare(X, [Linear()]), [job], 64)
    assert plan.memory <= 2 * 2**20
    assert f"{plan.threads} of 64 threads" in str(plan)


@pytest.mark.parametrize("engine", [Exact(memory_mib=1e-6), Exact(memory_mib=0.001), Exact(memory_mib=0.05)])
def test_any_budget_gives_the_sums(engine, rng):
    X = rng.random((60, 4))
    Y = (X > 0.5).astype(int)
    model = SMLClassifier(RBF(2.0), engine=engine).fit(X, Y)
    wanted = SMLClassifier(RBF(2.0)).fit(X, Y).label_weights(X)
    np.testing.assert_allclose(model.label_weights(X), wanted, rtol=1e-9)


def test_small_blocks_do_not_meet_in_pairs(rng):
    """The list of their pairs would take far more memory than allowed."""
    X = rng.random((300, 4))
    jobs = [Job(Linear(), None, reducer_for(None, X))]
    for n_jobs in (1, 100_000):
        for memory_mib in (0.001, 256):
            call = ReduceCall(X, prepare(X, [Linear()]), jobs, symmetric=True, n_jobs=n_jobs)
            steps = []
            engine = Exact(memory_mib, on_block=lambda *done, steps=steps: steps.append(done))
            (sums,) = engine.reduce(call)
            np.testing.assert_allclose(sums, X @ X.T @ X, rtol=1e-9)
            n_blocks = 300 // 32 + 1
            if memory_mib == 256:  # larger blocks do, each pair of them once
                assert len(steps) <= n_blocks * (n_blocks + 1) // 2
            else:
                assert not symmetric_pays(Exact(memory_mib).plan(300, call.prepared, jobs, n_jobs))


def test_absurd_numbers_of_threads_are_cut(rng):
    X = rng.random((1500, 12))
    wanted = X @ X.T @ X
    np.testing.assert_allclose(similarity_sums(X, X, X, Linear(), engine=Exact(), n_jobs=10**5), wanted)
    draws = similarity_sums(X[:40], X, X, Linear(), engine=Sampled(np.full(1500, 1 / 1500), 5), n_jobs=10**5)
    assert draws.shape == (40, 12)
