"""Tasks on threads, with BLAS held to one thread each, stopped promptly on Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any, TypeVar

import joblib
from threadpoolctl import ThreadpoolController

from simlabel._validation import check_number

Task = TypeVar("Task")


def effective_jobs(n_jobs: int | None) -> int:
    """How many threads to use: all cores for None, one less for each step below -1.

    ``OMP_NUM_THREADS``, which joblib sets in its worker processes, is an upper bound for None,
    so that processes and threads do not multiply.
    """
    check_number("engine", "n_jobs", n_jobs, integer=True, also=(None,))
    if n_jobs == 0:
        raise ValueError("engine: n_jobs must not be 0; give a number of threads, or None for all cores.")
    cores = _cores()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


@lru_cache(maxsize=1)
def _cores() -> int:
    return int(joblib.cpu_count())  # asks the system: too slow for every single query


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looks for libraries once: that takes a while


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, since each of our threads calls it."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def run_tasks(
    work: Callable[[Task, Callable[[], bool]], Any], tasks: Sequence[Task], n_threads: int
) -> list[Any]:
    """Call ``work(task, stopped)`` for every task and return the results in order.

    A task calls ``stopped()`` from time to time and returns early when it is true, which it is
    once another task has failed or the user has pressed Ctrl-C.
    """
    return run_rounds(work, [tasks], n_threads)


def run_rounds(
    work: Callable[[Task, Callable[[], bool]], Any], rounds: Sequence[Sequence[Task]], n_threads: int
) -> list[Any]:
    """Like `run_tasks`, round by round: no task starts before the round before its own has ended."""
    stop = threading.Event()
    most = max((len(tasks) for tasks in rounds), default=0)
    if n_threads == 1 or most <= 1:
        return [work(task, stop.is_set) for tasks in rounds for task in tasks]
    results = []
    with ThreadPoolExecutor(min(n_threads, most), thread_name_prefix="simlabel") as pool:
        try:
            for tasks in rounds:
                futures = [pool.submit(work, task, stop.is_set) for task in tasks]
                wait(futures, return_when=FIRST_EXCEPTION)
                for future in futures:
                    if future.done() and not future.cancelled() and future.exception() is not None:
                        future.result()
                results += [future.result() for future in futures]
            return results
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
