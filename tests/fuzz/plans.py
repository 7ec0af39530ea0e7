"""Plans for any shape, number of threads and bound on memory: they end, they fit, and the sums are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from simlabel import similarity_sums
from simlabel.similarities import RBF, Function, Laplacian, Linear
from simlabel.sums import Collapsed, Exact, Plan, Prepared, Sampled, make_plan, prepare

SECONDS = 30.0
_SHAPES = 40  # of a case
_THREADS = (None, 1, 2, 3, 64, 1000, 100_000, -1, -100)


@dataclass(frozen=True)
class Material:
    """References of every kind, two rows each; of sparse ones many, since their entries are counted."""

    few: dict[str, Prepared]
    sparse: list[Prepared]


def warm() -> Material:
    X = np.random.default_rng(0).random((2, 3))
    similarities = {"dot": RBF(1.0), "coordinate": Laplacian(1.0), "block": Function(_dot, blockwise=True)}
    few = {name: prepare(X, [phi]) for name, phi in similarities.items()}
    few |= {
        f"{name}32": prepare(X.astype(np.float32), [similarities[name]]) for name in ("dot", "coordinate")
    }
    rows = [sp.random_array((n, 5000), density=0.002, format="csr", rng=0) for n in (1, 100, 20_000)]
    for engine in (Exact(), Exact(visit="nonzero")):
        similarity_sums(rows[1], rows[1], np.eye(100), Linear(), engine=engine)
    for phi in (RBF(1.0), Laplacian(1.0), Linear()):
        similarity_sums(X, X, X, phi)
    return Material(few, [prepare(X, [Linear()]) for X in rows])


def _dot(A, B):
    return A @ B.T


def case(material: Material, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(_SHAPES):
        check_shape(material, rng)
    check_sums(rng)


def check_shape(material: Material, rng: np.random.Generator) -> None:
    """Plan one shape, without any row that could be compared."""
    prepared = _references(material, rng)
    n_queries, threads = _up_to(rng, 10**6), int(rng.choice([1, 2, 64, 1024, rng.integers(1, 1025)]))
    memory_mib = 2.0 ** rng.uniform(-20, 14)
    panels = not prepared.sparse and "dot" in {leaf.similarity.form for leaf in prepared.leaves.values()}
    plan = make_plan(
        n_queries,
        prepared,
        bytes_per_query=8 * _up_to(rng, 10**6),
        n_similarities=int(rng.integers(1, 5)),
        threads=threads,
        memory_mib=memory_mib,
        panels=panels and bool(rng.integers(2)),
    )
    check_plan(plan, threads, memory_mib)


def check_plan(plan: Plan, threads: int, memory_mib: float) -> None:
    """What every plan keeps to: the bound on memory too, unless a single pair of rows takes more."""
    budget = int(memory_mib * 2**20)
    assert 1 <= plan.queries <= max(1, plan.n_queries), plan
    assert 1 <= plan.references <= max(1, plan.n_references), plan
    assert 1 <= plan.threads <= threads, plan
    assert 1 <= plan.parts <= max(1, plan.n_references), plan
    smallest = plan.queries == plan.references == plan.threads == plan.parts == 1 and not plan.panels
    assert plan.memory <= budget or smallest, (plan.memory, budget, plan)
    message = any(reason.startswith("more memory than") for reason in plan.reasons)
    assert message == (plan.memory > budget), plan


def _references(material: Material, rng: np.random.Generator) -> Prepared:
    if rng.random() < 0.2:
        return material.sparse[rng.integers(len(material.sparse))]
    one = material.few[str(rng.choice(list(material.few)))]
    shape = _up_to(rng, 10**7), _up_to(rng, 10**5)
    X = np.broadcast_to(np.zeros((), dtype=one.X.dtype), shape)  # takes no memory
    return Prepared(X, one.leaves, one.norms, one.dtype)


def _up_to(rng: np.random.Generator, largest: int) -> int:
    """A number from 1 on, of any order of magnitude."""
    return int(largest ** rng.random())


def check_sums(rng: np.random.Generator) -> None:
    """Compute sums under a plan as strange as they come, and compare with one product."""
    large = rng.random() < 0.2  # enough for threads; then no budget of single bytes, which takes for ever
    n, m, width = (700, 900, 20) if large else (int(k) for k in rng.integers(1, 40, 3))
    memory_mib = 2.0 ** rng.uniform(-4 if large else -20, 8)
    Q, X, V = rng.random((n, width)), rng.random((m, width)), rng.random((m, int(rng.integers(1, 30))))
    engines = [Exact(memory_mib), Collapsed(memory_mib), Sampled(np.full(m, 1 / m), 3, memory_mib=memory_mib)]
    engine = engines[rng.integers(len(engines))]
    threads = _THREADS[rng.integers(len(_THREADS))]
    kind = sp.csr_array if rng.random() < 0.3 else np.asarray
    found = similarity_sums(kind(Q), kind(X), V, Linear(), engine=engine, n_jobs=threads)
    assert found.shape == (n, V.shape[1])
    if engine.exact:
        np.testing.assert_allclose(found, Q @ X.T @ V, rtol=1e-9)
