"""Run folds in processes of their own, each within a time limit."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from joblib import wrap_non_picklable_objects

try:
    import resource
except ImportError:  # Windows: only seconds on the clock are counted there
    resource = None  # type: ignore[assignment]

_PATIENCE = 4.0  # seconds on the clock for each processor second: the machine may be busy
TIMED_OUT = "timed out"
_GRACE = 5.0  # seconds to load and to send
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Call = Callable[[], Any]
#: number of the call, its result, and why there is none: None, "timed out", or the exit code
Ended = tuple[int, Any, str | None]


def run_limited(
    calls: Sequence[tuple[int, Call]],
    jobs: int,
    seconds: float,
    skip: Callable[[int], bool],
) -> Iterator[Ended]:
    """Run numbered calls, `jobs` at a time, and stop those that exceed the time limit.

    Processes are reused, so that compiled code is loaded once; one that is stopped is replaced.
    Processor seconds count, where the system has a limit for them. Each process has one thread of BLAS and
    OpenMP: several threads that wait for each other would spend many processor seconds.

    Parameters
    ----------
    calls : sequence of (int, callable)
        Calls go to other processes, and must not raise.
    jobs : int
    seconds : float
        For each call; on the clock it has four times as much.
    skip : callable
        Called with the number of each call before it starts: whether to skip it.
    """
    waiting = iter(calls)
    workers = [_Worker(seconds) for _ in range(min(jobs, len(calls)))]
    try:
        for worker in workers:
            worker.give(next(waiting))
        while busy := [worker for worker in workers if worker.number is not None]:
            left = min(worker.deadline for worker in busy) - time.monotonic()
            ready = wait([worker.connection for worker in busy], timeout=max(0.0, left))
            for worker in busy:
                if worker.connection not in ready and time.monotonic() < worker.deadline:
                    continue
                yield worker.ended(worker.connection in ready)
                worker.give(next((call for call in waiting if not skip(call[0])), None))
    finally:
        for worker in workers:
            worker.stop()


class _Worker:
    """A process that runs one call after the other."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.number: int | None = None
        self.deadline = math.inf
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, self.seconds), daemon=True)
        with _one_thread():
            self._process.start()
        theirs.close()

    def give(self, numbered: tuple[int, Call] | None) -> None:
        """Send a call, if there is one."""
        if numbered is None:
            return
        self.number, call = numbered
        self.connection.send(wrap_non_picklable_objects(call))  # functions of a notebook too
        self.deadline = time.monotonic() + _PATIENCE * self.seconds + _GRACE

    def ended(self, answered: bool) -> Ended:
        """Return the outcome of the call; a process without an answer is replaced."""
        number, self.number = self.number, None
        assert number is not None
        if answered:
            with contextlib.suppress(EOFError, ConnectionResetError):
                return number, self.connection.recv(), None
        code = self._process.exitcode if answered and self._joined() else None
        self.stop()
        self._start()
        in_time = code is not None and code != -getattr(signal, "SIGXCPU", 0)
        return number, None, f"its process ended with code {code}" if in_time else TIMED_OUT

    def _joined(self) -> bool:
        self._process.join(_GRACE)
        return self._process.exitcode is not None

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()
        self.connection.close()


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Set the number of threads in the environment of processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(connection: Connection, seconds: float) -> None:
    # the parent process may have exited before it read the last answer
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            call = connection.recv()
            _limit(seconds)
            connection.send(call())


def _limit(seconds: float) -> None:
    """Limit the processor seconds from now on; the system ends a process that exceeds them."""
    if resource is not None:
        most = math.ceil(time.process_time() + seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
