"""Numbers of threads of this library and of BLAS and OpenMP, and values cached without a lock.

`n_jobs` limits both. BLAS is held to one thread while several of our threads call it: otherwise eight threads
would wait for eight of OpenBLAS each, which takes many times as long as one thread.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, ParamSpec, TypeVar

import joblib
from joblib.parallel import get_active_backend
from threadpoolctl import OpenBLASController, ThreadpoolController

from simlabel._utils.limits import limits
from simlabel._utils.validation import check_number

Arguments = ParamSpec("Arguments")
_Result = TypeVar("_Result")
Value = TypeVar("Value")


def effective_jobs(n_jobs: int | None, owner: str = "engine") -> int:
    """Return the number of threads: all cores for None, one less for each step below -1.

    Cores are those that this process may use (CPU affinity, limits of its container). None respects the
    limits of others: ``OMP_NUM_THREADS``, which joblib sets in its worker processes, `threadpool_limits` for
    OpenMP, and ``joblib.parallel_config(n_jobs=...)``. Errors name the `owner` of the parameter.

    Examples
    --------
    >>> from threadpoolctl import threadpool_limits
    >>> with threadpool_limits(1):
    ...     effective_jobs(None)
    1
    >>> with joblib.parallel_config(n_jobs=1):
    ...     effective_jobs(None)
    1
    """
    check_number(owner, "n_jobs", n_jobs, integer=True, also=(None,))
    if n_jobs == 0:
        raise ValueError(f"{owner}: n_jobs must not be 0; give a number of threads, or None for all cores.")
    cores = _cores()
    if n_jobs is not None:
        return min(n_jobs, max(cores, limits().max_threads)) if n_jobs > 0 else max(1, cores + 1 + n_jobs)
    threads, variable = cores, os.environ.get("OMP_NUM_THREADS", "")
    if variable.isdigit() and int(variable) > 0:
        threads = min(threads, int(variable))
    for library in _libraries("openmp"):
        threads = min(threads, library.num_threads)
    backend, configured = get_active_backend()
    if configured is not None:  # outside of parallel_config it is None
        threads = min(threads, backend.effective_n_jobs(configured))
    return max(1, threads)


@lru_cache(maxsize=1)
def _cores() -> int:
    return int(joblib.cpu_count())  # reads system files: too slow for every single query


@lru_cache(maxsize=2)
def _libraries(user_api: str) -> tuple[Any, ...]:
    # searched once, which takes milliseconds; the imports above have loaded what we call
    return tuple(ThreadpoolController().select(user_api=user_api).lib_controllers)


class _Blas:
    """The number of BLAS threads, which is one number per process, and the threads that limit it."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders: list[tuple[int, int]] = []  # (thread, its limit), once per active limit
        self.before: list[int] = []  # number of threads of each library before the first limit,
        self.now: list[int] = []  # and the number that we set

    def in_child(self) -> None:
        """Keep the limits of the forking thread, the only one that the child process has."""
        held, me = bool(self.holders), threading.get_ident()
        self.holders = [holder for holder in self.holders if holder[0] == me]
        if held:
            self.apply()
        self.lock.release()

    def apply(self) -> None:
        """Set the lowest limit, never above the original numbers; only lower what others have changed."""
        most = min([limit for _, limit in self.holders], default=None)
        changed = False
        for n, library in enumerate(_libraries("blas")):
            requested = self.before[n] if most is None else min(most, self.before[n])
            current = library.num_threads if requested != self.now[n] else requested
            if requested < current or (requested > current == self.now[n]):
                library.set_num_threads(requested)
                changed = True
            self.now[n] = requested
        if changed:
            # since threadpoolctl 3.7 the thread that set a number must release it before others may set it
            getattr(OpenBLASController, "clear_controlling_thread", lambda: None)()


_BLAS = _Blas()
if hasattr(os, "register_at_fork"):  # never fork between setting a number and registering its holder
    os.register_at_fork(
        before=_BLAS.lock.acquire, after_in_parent=_BLAS.lock.release, after_in_child=_BLAS.in_child
    )


@contextlib.contextmanager
def limit_blas_threads(most: int) -> Iterator[None]:
    """Limit the threads of BLAS; use 1 if several of our threads call it.

    Of the limits of several threads the lowest applies; after the last one ends, the original numbers are
    restored. This takes about ten microseconds, and less if nothing needs to be lowered.
    """
    holder = threading.get_ident(), most
    with _BLAS.lock:
        if not _BLAS.holders:
            _BLAS.before = [library.num_threads for library in _libraries("blas")]
            _BLAS.now = list(_BLAS.before)
        _BLAS.holders.append(holder)
        _BLAS.apply()
    try:
        yield
    finally:
        with _BLAS.lock:
            _BLAS.holders.remove(holder)
            _BLAS.apply()


@contextlib.contextmanager
def limit_n_jobs(n_jobs: int | None, owner: str = "engine") -> Iterator[None]:
    """Limit BLAS, and OpenMP for the calling thread, to `n_jobs` threads."""
    most = effective_jobs(n_jobs, owner)
    lowered = []
    for library in _libraries("openmp"):
        if library.num_threads > most:
            lowered.append((library, library.num_threads))
            library.set_num_threads(most)
    try:
        with limit_blas_threads(most):
            yield
    finally:
        for library, number in lowered:
            library.set_num_threads(number)


def respects_n_jobs(method: Callable[Arguments, _Result]) -> Callable[Arguments, _Result]:
    """Limit the threads of a method of an estimator to its `n_jobs`.

    A fitted estimator uses `_model_jobs`: a parameter that was changed since applies to the next fit.
    """

    @functools.wraps(method)
    def held(*args: Arguments.args, **kwargs: Arguments.kwargs) -> _Result:
        estimator = args[0]
        jobs = getattr(estimator, "_model_jobs", getattr(estimator, "n_jobs", None))
        with limit_n_jobs(jobs, type(estimator).__name__):
            return method(*args, **kwargs)

    return held


class cached_property(functools.cached_property[Value]):  # replaces that of Python
    """Cache a property without a lock, as Python does since 3.12.

    Python 3.11 holds one lock for all instances, which deadlocks a child process that is forked meanwhile.
    Two threads may both compute a new value; one of the two is cached.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        super().__init__(function)
        self.lock = contextlib.nullcontext()  # entered by Python 3.11 only
