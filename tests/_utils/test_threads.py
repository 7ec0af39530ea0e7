"""The number of BLAS threads of a process that is not ours; forks while threads predict, teach or compile."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import warnings

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from simlabel import SMLClassifier
from simlabel._utils.threads import cached_property, effective_jobs, limit_blas_threads, limit_n_jobs
from simlabel.model import lock_for_changes
from simlabel.similarities import RBF

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def set_blas_threads(number):
    """By a thread that ends: a thread that lives may keep others from setting it."""
    thread = threading.Thread(target=lambda: threadpool_limits(number, user_api="blas"))
    thread.start()
    thread.join()


@pytest.fixture
def before():
    """Two threads on any machine, so that one is seen."""
    base_rate = blas_threads()
    set_blas_threads(2)
    found = blas_threads()
    if found.count(1):
        pytest.skip("a BLAS here has one thread only")
    yield found
    set_blas_threads(max(base_rate))


class Holder(threading.Thread):
    """Holds BLAS to a few threads until it is let go, or fails then."""

    def __init__(self, fails=False, most=1):
        super().__init__(daemon=True)
        self.most, self.fails, self.holds, self.may_end = most, fails, threading.Event(), threading.Event()
        self.start()
        assert self.holds.wait(60)

    def run(self):
        try:
            with limit_blas_threads(self.most):
                self.holds.set()
                self.may_end.wait(60)
                if self.fails:
                    raise ValueError("while it held")
        except ValueError:
            assert self.fails

    def let_go(self):
        self.may_end.set()
        self.join(60)
        assert not self.is_alive()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
@pytest.mark.parametrize("fails", [False, True])
def test_the_last_holder_restores_what_the_first_one_found(before, order, fails):
    holders = [Holder(fails) for _ in range(3)]
    for n in order:
        assert set(blas_threads()) == {1}
        holders[n].let_go()
    assert blas_threads() == before


def test_a_holder_may_hold_again(before):
    with limit_blas_threads(1):
        with limit_blas_threads(1):
            pass
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_of_those_who_hold_the_lowest_counts(order):
    most = (3, 1, 2)
    base_rate = max(blas_threads())
    set_blas_threads(4)
    found = blas_threads()
    if found.count(1):
        pytest.skip("a BLAS here has one thread only")
    try:
        holders = [Holder(most=each) for each in most]
        left = set(range(3))
        for n in order:
            assert set(blas_threads()) == {min(most[each] for each in left)}
            holders[n].let_go()
            left.remove(n)
        assert blas_threads() == found
    finally:
        set_blas_threads(base_rate)


def test_a_number_is_never_raised(before):
    with limit_blas_threads(64):
        assert blas_threads() == before
    assert blas_threads() == before


def test_what_the_user_sets_within_stays(before):
    with limit_blas_threads(2):
        set_blas_threads(1)
        with limit_blas_threads(2):
            assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {1}


def openmp_threads():
    """Of what we call: a package that another test has loaded since may bring an OpenMP of its own."""
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "openmp"]


def test_openmp_is_held_for_the_thread_that_asks(before):
    with threadpool_limits(2):
        found = openmp_threads()
        with limit_n_jobs(1):
            assert set(openmp_threads()) <= {1}
            assert set(blas_threads()) == {1}
        assert openmp_threads() == found


def test_jobs(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(joblib.cpu_count()):
        assert effective_jobs(None) == joblib.cpu_count()
    assert effective_jobs(-1) == joblib.cpu_count()
    assert effective_jobs(3) == 3
    assert effective_jobs(10**9) < 10_000
    with pytest.raises(ValueError, match="must not be 0"):
        effective_jobs(0)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_number_means_no_more_than_others_allow(monkeypatch, n_jobs):
    cores = joblib.cpu_count()
    n_jobs = min(n_jobs, cores)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with threadpool_limits(cores):
        assert effective_jobs(None) == cores
        with threadpool_limits(n_jobs):
            assert effective_jobs(None) == n_jobs
        with threadpool_limits(1, user_api="blas"):
            assert effective_jobs(None) == cores  # loops of ours are no BLAS
        with joblib.parallel_config(n_jobs=n_jobs):
            assert effective_jobs(None) == n_jobs
        with joblib.parallel_config(backend="threading", n_jobs=n_jobs):
            assert effective_jobs(None) == n_jobs
            assert effective_jobs(3) == 3  # who says a number means it
        with joblib.parallel_config(backend="threading"):
            assert effective_jobs(None) == cores
        monkeypatch.setenv("OMP_NUM_THREADS", str(n_jobs))
        assert effective_jobs(None) == n_jobs


def test_a_worker_process_has_its_share(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(effective_jobs)(None) for _ in range(2))
    assert max(found) <= max(1, joblib.cpu_count() // 2)


def in_child(work, seconds=60):
    """Whether a forked child does its work, and in time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from 3.12 on of any fork beside threads
        child = os.fork()
    if child == 0:
        try:
            signal.alarm(seconds)
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@forks
def test_a_child_has_no_holders(before):
    holder = Holder()

    def work():
        free = blas_threads() == before
        with limit_blas_threads(1):
            held = set(blas_threads()) == {1}
        return free and held and blas_threads() == before

    assert in_child(work)
    holder.let_go()
    with limit_blas_threads(1):  # the one that forks holds: so does its child
        assert in_child(lambda: set(blas_threads()) == {1})
    assert blas_threads() == before


@forks
def test_a_child_of_a_process_that_teaches_can_teach():
    X = np.random.default_rng(3).random((9, 4))
    model = SMLClassifier(RBF(1.0)).fit(X, [{"a"}, {"b"}, {"a", "c"}] * 3)
    teaches, may_end = threading.Event(), threading.Event()

    def teach():
        with lock_for_changes(model):
            teaches.set()
            may_end.wait(60)

    thread = threading.Thread(target=teach, daemon=True)
    thread.start()
    assert teaches.wait(60)
    assert in_child(lambda: model.partial_fit(X[:1], [{"a"}]).n_references_ == 10)
    may_end.set()
    thread.join(60)


@forks
def test_a_value_that_a_thread_works_out_is_worked_out_by_the_child_too():
    begun, may_end, parent = threading.Event(), threading.Event(), os.getpid()

    class Slow:
        @cached_property
        def value(self):
            if os.getpid() == parent:
                begun.set()
                may_end.wait(60)
            return 1

    slow = Slow()
    thread = threading.Thread(target=lambda: slow.value, daemon=True)
    thread.start()
    assert begun.wait(60)
    assert in_child(lambda: slow.value == 1)
    may_end.set()
    thread.join(60)


@forks
def test_a_fork_waits_for_a_compilation_to_end():
    from numba.core.compiler_lock import global_compiler_lock

    compiles, may_end = threading.Event(), threading.Event()

    def compile_something():
        with global_compiler_lock:
            compiles.set()
            may_end.wait(60)

    def work():
        with global_compiler_lock:
            return may_end.is_set()

    thread = threading.Thread(target=compile_something, daemon=True)
    thread.start()
    assert compiles.wait(60)
    threading.Timer(0.2, may_end.set).start()
    assert in_child(work)
    thread.join(60)
