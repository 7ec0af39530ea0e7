"""Workers that die, are slow or run out of memory; a scheduler that is lost; a client that goes away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from clusters import Greedy, Held, Slow, started
from dask.distributed import Client

import dask
from simlabel import SMLClassifier
from simlabel.similarities import RBF, Function
from simlabel.sums.dask import ClusterError, DaskEngine

N, D, K = 160, 4, 3


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    return X, (rng.random((N, K)) < 0.4).astype(np.int8), rng.normal(size=(40, D))


@pytest.fixture(autouse=True)
def many_tasks(change_limits):
    change_limits(min_shard_rows=20, shards_per_thread=4, min_task_queries=10)


@pytest.fixture(scope="module")
def victim():
    """A cluster that is hurt; the nannies bring its workers back."""
    client, cluster = started()
    yield client
    client.close()
    cluster.close()


def kill_one(client, rng):
    """SIGKILL a worker, as the system does where memory is short."""
    workers = client.scheduler_info()["workers"]
    pids = client.run(os.getpid, workers=list(workers)[:2], on_error="ignore")
    os.kill(rng.choice(sorted(pids.values())), signal.SIGKILL)


def check_kill(client, data, seed):
    X, Y, Q = data
    rng = np.random.default_rng(seed)
    client.wait_for_workers(2)  # one that was killed before may still be on its way back
    slow = Function(Slow(0.03), blockwise=True)
    there = SMLClassifier(slow, normalizer=None, engine=DaskEngine(client, patience=60)).fit(X, Y)
    here = SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y)
    timer = threading.Timer(rng.uniform(0.0, 0.6), kill_one, [client, rng])
    timer.start()
    found = there.label_weights(Q)
    timer.join()
    np.testing.assert_allclose(found, here.label_weights(Q), rtol=1e-9)
    np.testing.assert_allclose(there.label_weights(Q), found, rtol=1e-12)  # and what was lost is back


@pytest.mark.parametrize("seed", range(1))
def test_a_killed_worker_changes_nothing(victim, data, seed):
    check_kill(victim, data, seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_killed_workers_change_nothing(victim, data, seed):
    check_kill(victim, data, seed)


def test_the_work_of_a_slow_worker_is_stolen(client, data, tmp_path, change_limits):
    """One worker is stuck in its first task until most of all tasks are done: only the other can do them."""
    X, Y, Q = data
    change_limits(tasks_per_thread=32)
    names = sorted(worker["name"] for worker in client.scheduler_info()["workers"].values())
    log = tmp_path / "log"
    similarity = Function(Held(names[0], 24, log), blockwise=True)
    model = SMLClassifier(similarity, normalizer=None, engine=DaskEngine(client)).fit(X, Y)
    here = SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y)
    np.testing.assert_allclose(model.label_weights(Q), here.label_weights(Q), rtol=1e-9)
    done = log.read_text().split()
    assert done[:24] == [str(names[1])] * 24


def test_a_worker_out_of_memory_is_an_error(data):
    X, Y, Q = data
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        client, cluster = started(1, memory_limit="700MiB")
    with client, cluster:
        engine = DaskEngine(client)
        similarity = Function(Greedy(), blockwise=True)
        model = SMLClassifier(similarity, normalizer=None, calibration=None, engine=engine).fit(X, Y)
        with pytest.raises(ClusterError, match="out of memory"):
            model.predict(Q)


def test_a_closed_client_is_an_error(victim, data):
    X, Y, Q = data
    with Client(victim.scheduler.address, set_as_default=False) as client:
        model = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(X, Y)
    with pytest.raises(ClusterError, match="closed"):
        model.predict(Q)


def dask_process(*arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


@pytest.fixture
def processes(tmp_path):
    """A scheduler and a worker as processes of their own, and the scheduler's address."""
    file = tmp_path / "scheduler.json"
    options = ["--scheduler-file", str(file), "--dashboard-address", ":0"]
    scheduler = dask_process("distributed.cli.dask_scheduler", "--port", "0", *options)
    worker = dask_process("distributed.cli.dask_worker", "--nthreads", "1", *options)
    while not file.exists() or not file.read_text().endswith("}"):
        assert scheduler.poll() is None
        time.sleep(0.1)
    yield scheduler, json.loads(file.read_text())["address"]
    for process in (worker, scheduler):
        process.terminate()
        process.wait()


def test_a_lost_scheduler_is_an_error(processes, data):
    X, Y, Q = data
    scheduler, address = processes
    slow = Function(lambda A, B: time.sleep(0.5) or np.zeros((len(A), len(B))), blockwise=True)
    with Client(address, timeout=600, set_as_default=False) as client:
        client.wait_for_workers(1)
        model = SMLClassifier(slow, normalizer=None, engine=DaskEngine(client)).fit(X, Y)
        model.set_engine(DaskEngine(client, patience=2))
        timer = threading.Timer(0.5, scheduler.kill)
        timer.start()
        with pytest.raises(ClusterError, match=r"scheduler does not answer|closed"):
            model.predict(Q)
        timer.join()


CLIENT = """
import time
import numpy as np
from simlabel import SMLClassifier
from simlabel.sums.dask import DaskEngine
from simlabel.similarities import Function

if __name__ == "__main__":
    def similarity(A, B):
        time.sleep(0.5)
        return np.zeros((len(A), len(B)))

    X = np.ones((40000, 3))
    similarity = Function(similarity, blockwise=True)
    model = SMLClassifier(similarity, normalizer=None, engine=DaskEngine(ADDRESS))
    model.fit(X, np.eye(2)[[0, 1] * 20000])
    print("fitted", flush=True)
    model.predict(X)
"""


def test_a_client_that_goes_away_leaves_nothing_behind(victim, tmp_path):
    script = tmp_path / "client.py"
    script.write_text(CLIENT.replace("ADDRESS", repr(victim.scheduler.address)))
    before = victim.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "fitted\n"
        other.kill()
    while victim.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) > before:
        time.sleep(0.1)  # a test that waits for ever is ended as one that failed
