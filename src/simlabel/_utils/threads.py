"""How many threads: of ours, and of the libraries that we call.

`n_jobs` counts both. A thread of ours that calls BLAS has BLAS to itself, so that they never multiply:
eight threads that each wait for eight of OpenBLAS's take many times as long as one alone.
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
Result = TypeVar("Result")


def effective_jobs(n_jobs: int | None, owner: str = "engine") -> int:
    """How many threads to use: all cores for None, one less for each step below -1; never absurdly many.

    Cores are those that this process may use (affinity, and limits of its container). None is never more
    than what others allow: ``OMP_NUM_THREADS``, which joblib sets in its worker processes, a
    ``threadpool_limits`` that holds OpenMP, or a ``joblib.parallel_config(n_jobs=...)``. An error names
    whose number it is.

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
    if n_jobs is None:
        return min([cores, *_allowed()])
    return min(n_jobs, max(cores, limits().most_threads)) if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def _allowed() -> Iterator[int]:
    """What others set as the most, each of them 1 at least."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdigit() and int(said) > 0:
        yield int(said)
    yield from (max(1, library.num_threads) for library in _libraries("openmp"))
    backend, n_jobs = get_active_backend()
    if n_jobs is not None:  # it is outside of a parallel_config
        yield max(1, backend.effective_n_jobs(n_jobs))


@lru_cache(maxsize=1)
def _cores() -> int:
    return int(joblib.cpu_count())  # asks the system: too slow for every single query


@lru_cache(maxsize=2)
def _libraries(user_api: str) -> tuple[Any, ...]:
    # looked for once: that takes milliseconds. What we call is loaded by the imports above
    return tuple(ThreadpoolController().select(user_api=user_api).lib_controllers)


class _Blas:
    """BLAS, which has one number of threads for the whole process, and those who hold it to few."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders: list[tuple[int, int]] = []  # (thread, its limit), once for each time that it holds
        self.before: list[int] = []  # of each library, the number that the first holder found,
        self.now: list[int] = []  # and what we set it to

    def hold(self, most: int) -> None:
        """For the thread that asks; of all that hold, the lowest limit counts."""
        with self.lock:
            if not self.holders:
                self.before = [library.num_threads for library in _libraries("blas")]
                self.now = list(self.before)
            self.holders.append((threading.get_ident(), most))
            self._set()

    def release(self, most: int) -> None:
        """The last one sets the numbers to what they were before the first."""
        with self.lock:
            self.holders.remove((threading.get_ident(), most))
            self._set()

    def in_child(self) -> None:
        """Of the threads of a process that forks, its child has only the one that forked."""
        held, me = bool(self.holders), threading.get_ident()
        self.holders = [holder for holder in self.holders if holder[0] == me]
        if held:
            self._set()
        self.lock.release()

    def _set(self) -> None:
        """Never more than was there before; a number that somebody else has set since is only lowered."""
        most, changed = min((limit for _, limit in self.holders), default=None), False
        for n, library in enumerate(_libraries("blas")):
            wanted = self.before[n] if most is None else min(most, self.before[n])
            current = library.num_threads if wanted != self.now[n] else wanted
            if wanted < current or (wanted > current == self.now[n]):
                library.set_num_threads(wanted)
                changed = True
            self.now[n] = wanted
        if changed:
            # from 3.7 on nobody else can set a number before the thread that did so last says that it is done
            getattr(OpenBLASController, "clear_controlling_thread", lambda: None)()


_BLAS = _Blas()
if hasattr(os, "register_at_fork"):  # never between a number that is set and a holder that is listed
    os.register_at_fork(
        before=_BLAS.lock.acquire, after_in_parent=_BLAS.lock.release, after_in_child=_BLAS.in_child
    )


@contextlib.contextmanager
def held_blas(most: int) -> Iterator[None]:
    """Hold BLAS to so many threads; to one where each of several threads of ours calls it.

    Takes some ten microseconds, and less where nothing is to be lowered.
    """
    _BLAS.hold(most)
    try:
        yield
    finally:
        _BLAS.release(most)


@contextlib.contextmanager
def held_to(n_jobs: int | None, owner: str = "engine") -> Iterator[None]:
    """Hold BLAS, and what runs on OpenMP for the thread that asks, to as many threads as `n_jobs` allows."""
    most = effective_jobs(n_jobs, owner)
    lowered = [(each, number) for each in _libraries("openmp") if (number := each.num_threads) > most]
    for library, _ in lowered:
        library.set_num_threads(most)
    try:
        with held_blas(most):
            yield
    finally:
        for library, number in lowered:
            library.set_num_threads(number)


def within_n_jobs(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Of an estimator's method: all that it calls keeps to the estimator's `n_jobs`.

    Where it has a model already, `_model_jobs` are those: a parameter that was set since is for the next fit.
    """

    @functools.wraps(method)
    def held(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        asked = args[0]
        jobs = getattr(asked, "_model_jobs", getattr(asked, "n_jobs", None))
        with held_to(jobs, type(asked).__name__):
            return method(*args, **kwargs)

    return held
