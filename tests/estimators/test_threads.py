"""BLAS never has more threads than `n_jobs`, and afterwards as many as before."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController, threadpool_limits

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, similarity_sums
from simlabel.baselines import ADTBoostMH, BoosTexter, MLkNN, RankSVM
from simlabel.similarities import RBF, Function, Linear
from simlabel.sums import Exact

LIBRARIES = ThreadpoolController().lib_controllers
PACKAGES = {"tables", "normalizers", "similarities", "sums", "rules", "calibration", "ridge", "sketches"}
PACKAGES |= {"model", "tuning", "inspection", "baselines"}


def counts():
    """Return thread counts of BLAS, and in the main thread of OpenMP, which other threads never call."""
    main = threading.current_thread() is threading.main_thread()
    return {library.num_threads for library in LIBRARIES if main or library.user_api == "blas"}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.random((60, 4))
    return X, (X > 0.5).astype(int)


@functools.cache
def package_of(code):
    if "simlabel" not in code.co_filename or code.co_name in BEFORE:
        return None
    return next(
        (part for part in Path(code.co_filename).with_suffix("").parts[::-1] if part in PACKAGES), None
    )


class Spy:
    """Records at every call of a function of a package how many threads BLAS and OpenMP have."""

    def __init__(self):
        self.most = {}

    def __call__(self, frame, event, arg):
        if event == "call":
            package = package_of(frame.f_code)
            if package is not None:
                self.most[package] = max(self.most.get(package, 0), *counts())

    def check(self, n_jobs, *packages):
        """Check that no package had more threads, and that these were called."""
        assert max(self.most.values()) <= n_jobs, self.most
        assert set(packages) <= self.most.keys()
        self.most.clear()


# what is asked before the work begins, and after it
BEFORE = {
    "<module>",
    "<genexpr>",
    "__init__",
    "check",
    "lock_for_changes",
    "resolve_normalizer",
    "fit",
    "predict",
}


@pytest.fixture
def spy():
    """Return a spy, with three threads in all libraries before and after."""
    with threadpool_limits(3):
        if counts() != {3}:
            pytest.skip("a library here has one thread only")
        spy = Spy()
        threading.setprofile(spy)
        sys.setprofile(spy)
        try:
            yield spy
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
        assert counts() == {3}


MODELS = {
    "plain": {},
    "uncollapsed": {"similarity": Linear(), "engine": "exact"},
    "collapsed": {"similarity": Linear(), "engine": "collapsed"},
    "ridge": {"influence": "ridge"},
    "linear ridge": {"similarity": Linear(), "influence": "ridge"},
    "rules and calibration": {"label_rule": "auto", "calibration": "loo", "normalizer": "zscore"},
    "threshold": {"label_rule": "threshold"},
    "prototypes": {"similarity": RBF(2.0), "sketch": "condense"},
    "features": {"similarity": RBF(2.0), "sketch": "random_features"},
    "sampled": {"sampler": 20},
}
MET = {
    "ridge": ["ridge"],
    "linear ridge": ["ridge"],
    "rules and calibration": ["rules"],
    "prototypes": ["sketches"],
    "features": ["sketches"],
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_model_keeps_to_its_jobs(spy, rows, name, n_jobs):
    X, Y = rows
    model = SMLClassifier(**MODELS[name], n_jobs=n_jobs, random_state=0).fit(X, Y)
    spy.check(n_jobs, "sums", "normalizers", *MET.get(name, ()))
    for ask in (model.predict, model.decision_function, model.predict_proba, model.outputs):
        ask(X[:1])
        ask(X[:20])
        spy.check(n_jobs)
    if name in ("plain", "ridge"):
        model.explain(X[:2])
        model.suspicious_labels(3)
        model.suggest(X[:9], 2)
        model.novelty(X[:2])
        model.data_values()
        model.contradicting_duplicates()
        model.leave_one_out()
        model.partial_fit(X[:2], Y[:2])
        model.forget([0]).set_label_rule("per_label").retune()
        spy.check(n_jobs, "inspection", "ridge", "rules")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_similarity_sees_the_threads_of_its_caller(spy, rows, n_jobs):
    X, Y = rows
    seen = []

    def pending_rows(A, B):
        seen.append(max(counts()))
        return A @ B.T

    phi = Function(pending_rows, blockwise=True)
    model = SMLClassifier(phi, n_jobs=n_jobs).fit(X, Y)
    model.predict(X[:1])
    similarity_sums(X[:9], X, Y, phi, n_jobs=n_jobs, engine=Exact())
    assert len(seen) >= 2
    assert max(seen) <= n_jobs


def test_sparse_rows_keep_to_their_jobs(spy, rows):
    X, Y = rows
    X = sp.csr_array(np.where(X > 0.6, X, 0.0))
    model = SMLClassifier(Linear(), influence="ridge", n_jobs=1).fit(X, Y)
    model.predict(X[:3])
    spy.check(1, "ridge")


def test_the_search_and_the_tagger_keep_to_their_jobs(spy, rows):
    X, Y = rows
    AutoSMLClassifier(n_jobs=1, random_state=0, configurations=[("l2", "rbf", "ridge")]).fit(X, Y).predict(X)
    spy.check(1, "tuning")
    table = [{"text": f"word{i % 7} other{i % 3}", "size": i} for i in range(30)]
    model = Tagger(n_jobs=1, random_state=0).fit(table, [{"a"} if i % 7 else {"b"} for i in range(30)])
    model.predict(table[:2])
    spy.check(1, "tables", "tuning")


@pytest.mark.parametrize(
    "method",
    [MLkNN(3, n_jobs=1), BoosTexter(2, n_jobs=1), ADTBoostMH(2, n_jobs=1)],
    ids=lambda r: type(r).__name__,
)
def test_rivals_keep_to_their_jobs(spy, rows, method):
    X, Y = rows
    method.fit(X, Y).predict(X)
    spy.check(1, "baselines")


def test_a_rival_without_jobs_keeps_to_what_others_allow(spy, rows, monkeypatch):
    X, Y = rows
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    RankSVM().fit(X, Y).predict(X)
    spy.check(1, "baselines")


WITHOUT_ROOM = """
import resource
import numpy as np
from simlabel import SMLClassifier
rng = np.random.default_rng(0)
X, Y = rng.random((6000, 30)), (rng.random((6000, 10)) < 0.3).astype(np.int8)
model = SMLClassifier(n_jobs=4, calibration=None).fit(X[:2000], Y[:2000])
model.predict_proba(X)
model.retune()  # all that is compiled is loaded by now
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (taken + 65536, taken + 65536))
for _ in range(10):
    try:
        model.predict_proba(X)
        model.retune()
    except MemoryError:
        pass
print("here")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux alone")
def test_without_address_space_for_threads_a_call_ends():
    """Python waits forever for a thread that cannot begin."""
    done = subprocess.run([sys.executable, "-c", WITHOUT_ROOM], capture_output=True, text=True, timeout=120)
    assert done.stdout == "here\n", done.stderr
