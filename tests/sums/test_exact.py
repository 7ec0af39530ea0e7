"""How the engine runs: threads, memory, progress, stopping, warnings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF, Function, Laplacian, Linear
from simlabel.sums import Exact, SlowSimilarityWarning, run_tasks


def test_progress_reaches_the_end(rng, small_blocks):
    small_blocks()
    seen = []
    X = rng.random((20, 3))
    similarity_sums(
        X, X, np.ones((20, 1)), Linear(), engine=Exact(on_block=lambda *pair: seen.append(pair)), n_jobs=2
    )
    assert seen[-1] == (400, 400)
    assert len(seen) > 10
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_blas_is_held_and_given_back(rng, small_blocks):
    small_blocks()
    before = [
        (pool["filepath"], pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"
    ]
    during = []

    def look(*_):
        during.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")

    X = rng.random((40, 3))
    similarity_sums(X, X, np.ones((40, 1)), Linear(), engine=Exact(on_block=look), n_jobs=2)
    after = [
        (pool["filepath"], pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"
    ]
    assert set(during) == {1}
    assert before == after


def test_small_products_are_not_shared_among_threads_of_blas(rng, limits):
    def threads(*_):
        seen.append(max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"))

    seen = []
    threads()
    X, few = rng.random((40, 3)), limits.few_queries
    for queries in (few, few - 1):
        engine = Exact(on_block=threads)
        similarity_sums(X[:queries], X, np.ones((40, 1)), Linear(), engine=engine, n_jobs=2)
    assert seen[1:] == [1, min(2, seen[0])]


def test_an_error_in_one_task_stops_the_others():
    started = []

    def work(task, stopped):
        started.append(task)
        if task == 0:
            raise RuntimeError("broken")
        while not stopped():
            time.sleep(0.001)

    with pytest.raises(RuntimeError, match="broken"):
        run_tasks(work, list(range(50)), 2)
    assert len(started) < 50


@given(
    tasks=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30), n_threads=st.integers(1, 4)
)
def test_tasks_with_something_in_common_run_one_by_one_in_their_order(tasks, n_threads):
    seen = {thing: [] for thing in range(6)}
    busy = set()

    def work(numbered, stopped):
        n, task = numbered
        assert not busy & set(task)
        busy.update(task)
        for thing in set(task):
            seen[thing].append(n)
        time.sleep(1e-5)
        busy.difference_update(task)
        return n

    results = run_tasks(work, list(enumerate(tasks)), n_threads, alone_with=lambda numbered: numbered[1])
    assert results == list(range(len(tasks)))
    assert all(order == sorted(order) for order in seen.values())


@pytest.mark.parametrize("similarity", [RBF(1.0), Laplacian(1.0)])
def test_the_bound_on_memory_shapes_the_plan(similarity, rng):
    X = rng.random((3000, 50))
    model = SMLClassifier(similarity, engine=Exact(memory_mib=1)).fit(X, (X > 0.9).astype(int)[:, :20])
    plan = model.plan(X)
    assert plan.memory <= 2**20
    assert plan.queries * plan.references < 512 * 2048


MEASURE = """
    import resource, threading, time
    import numpy as np, scipy.sparse as sp
    from simlabel import similarity_sums, SMLClassifier
    from simlabel.similarities import RBF, Laplacian
    rng = np.random.default_rng(0)
    n, m, k = {n}, {m}, {k}
    X = {make}
    V = sp.random_array((n, k), density=min(1.0, 3 / k), format="csr", rng=rng)
    small = slice(0, 10)
    similarity_sums(X[small], X[small], V[small], {similarity})  # compile first
    out_bytes = 2000 * k * X.dtype.itemsize
    import os
    def now():
        with open("/proc/self/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    peak, done = [now()], threading.Event()
    def watch():
        while not done.is_set():
            peak[0] = max(peak[0], now())
            time.sleep(0.001)
    base = now()
    thread = threading.Thread(target=watch); thread.start()
    similarity_sums(X[:2000], X, V, {similarity})
    done.set(); thread.join()
    print((peak[0] - base - out_bytes) / 2**20)
"""

SHAPES = [
    {
        "n": 60_000,
        "m": 103,
        "k": 14,
        "make": "rng.random((n, m), dtype=np.float32)",
        "similarity": "RBF(1.0)",
    },
    {
        "n": 60_000,
        "m": 103,
        "k": 14,
        "make": "rng.random((n, m), dtype=np.float32)",
        "similarity": "Laplacian(1.0)",
    },
    {
        "n": 30_000,
        "m": 12_000,
        "k": 7000,
        "make": "sp.random_array((n, m), density=1e-3, format='csr', rng=rng)",
        "similarity": "RBF(1.0)",
    },
]


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
@pytest.mark.parametrize("shape", SHAPES, ids=["dense", "coordinate", "sparse"])
def test_memory_stays_within_the_bound(shape):
    """Beyond inputs and outputs at most 256 MiB, measured from outside the allocator."""
    code = textwrap.dedent(MEASURE.format(**shape))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(result.stdout) < 256


def test_ctrl_c_stops_promptly():
    code = textwrap.dedent("""
        import numpy as np
        from simlabel import similarity_sums
        from simlabel.sums import Exact
        from simlabel.similarities import Laplacian
        X = np.random.default_rng(0).random((60_000, 200))
        engine = Exact(on_block=lambda done, total: print("block", flush=True))
        similarity_sums(X, X, np.ones((60_000, 1)), Laplacian(1.0), engine=engine, n_jobs=2)
        print("end", flush=True)
    """)
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored by background jobs
    )
    assert process.stdout.readline() == b"block\n"  # the first of thousands, so that this is in the middle
    process.send_signal(signal.SIGINT)
    said, errors = process.communicate()
    assert b"end" not in said
    assert process.returncode != 0
    assert b"KeyboardInterrupt" in errors


def test_a_slow_function_says_how_long_and_what_to_do(change_limits, rng):
    change_limits(slow_seconds=0.0, slow_after=0.0)
    X = rng.random((300, 2))
    with pytest.warns(SlowSimilarityWarning, match=r"90,000 pairs.* s more.*blockwise=True"):
        similarity_sums(X, X, np.ones((300, 1)), Function(lambda a, b: float(a @ b)))


def test_import_is_light():
    """Neither the command line nor what reports or extras need is loaded, but for what scikit-learn loads."""
    heavy = (
        "typer",
        "rich",
        "matplotlib",
        "jinja2",
        "pandas",
        "polars",
        "pyarrow",
        "arff",
        "dask",
        "river",
    )

    def loaded(modules):
        code = f"import sys, {modules}; print(*[name for name in {heavy!r} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    assert loaded("simlabel") <= loaded("sklearn.base, sklearn.preprocessing, sklearn.metrics")


def test_no_threads_are_left_behind(rng, small_blocks):
    small_blocks()
    X = rng.random((30, 3))
    before = threading.active_count()
    similarity_sums(sp.csr_array(X), X, np.ones((30, 1)), Linear(), n_jobs=3)
    assert threading.active_count() == before


def test_bad_arguments_are_named():
    X = np.eye(3)
    with pytest.raises(ValueError, match="tunes nothing: give gamma"):
        similarity_sums(X, X, X, "rbf")
    with pytest.raises(ValueError, match="Q has 2 features but X has 3"):
        similarity_sums(X[:, :2], X, X, "linear")
    with pytest.raises(ValueError, match="X has 3 rows but V has 2"):
        similarity_sums(X, X, X[:2], "linear")
    with pytest.raises(ValueError, match="exclude must hold for each of the 3 queries"):
        similarity_sums(X, X, X, "linear", exclude=[0, 1, 7])
    with pytest.raises(ValueError, match="memory_mib must be a number above 0"):
        similarity_sums(X, X, X, "linear", engine=Exact(memory_mib=0))
