"""Tasks on threads, with BLAS held to one thread each, stopped promptly on Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import lru_cache
from heapq import heappop, heappush
from typing import Any, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

Task = TypeVar("Task")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")  # looks for libraries once: that takes a while


class _Blas:
    """BLAS, which has one number of threads for the whole process, and those who hold it to one."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders: list[int] = []  # a thread is named once for each time that it holds
        self.before: list[tuple[Any, int]] = []  # libraries, with the numbers that the first holder found

    def hold(self) -> None:
        """For the thread that asks; the first one sets the number."""
        with self.lock:
            if not self.holders:
                self.before = [(library, library.num_threads) for library in _controller().lib_controllers]
                self._set([(library, 1) for library, _ in self.before])
            self.holders.append(threading.get_ident())

    def release(self) -> None:
        """The last one sets the number to what it was before the first."""
        with self.lock:
            self.holders.remove(threading.get_ident())
            if not self.holders:
                self._restore()

    def in_child(self) -> None:
        """Of the threads of a process that forks, its child has only the one that forked."""
        held, me = bool(self.holders), threading.get_ident()
        self.holders = [holder for holder in self.holders if holder == me]
        if held and not self.holders:
            self._restore()
        self.lock.release()

    def _restore(self) -> None:
        self._set([(library, number) for library, number in self.before if library.num_threads == 1])

    @staticmethod
    def _set(numbers: list[tuple[Any, int]]) -> None:
        for library, number in numbers:
            library.set_num_threads(number)
        # from 3.7 on nobody else can set a number before the thread that did so last says that it is done
        getattr(OpenBLASController, "clear_controlling_thread", lambda: None)()


_BLAS = _Blas()
if hasattr(os, "register_at_fork"):  # never between a number that is set and a holder that is listed
    os.register_at_fork(
        before=_BLAS.lock.acquire, after_in_parent=_BLAS.lock.release, after_in_child=_BLAS.in_child
    )


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, since each of our threads calls it."""
    _BLAS.hold()
    try:
        yield
    finally:
        _BLAS.release()


def run_tasks(
    work: Callable[[Task, Callable[[], bool]], Any],
    tasks: Sequence[Task],
    n_threads: int,
    alone_with: Callable[[Task], Iterable[Hashable]] = lambda task: (),
) -> list[Any]:
    """Call ``work(task, stopped)`` for every task and return the results in order.

    A task calls ``stopped()`` from time to time and returns early when it is true, which it is
    once another task has failed or the user has pressed Ctrl-C.

    Parameters
    ----------
    alone_with : callable
        What a task must have to itself: of tasks that have something in common, each waits for the one
        before it, so that their order does not depend on the threads.
    """
    n_threads = min(n_threads, len(tasks))
    if n_threads <= 1:
        return [work(task, _never) for task in tasks]
    queue = _Queue(work, tasks, alone_with)
    with ThreadPoolExecutor(n_threads, thread_name_prefix="simlabel") as pool:
        try:
            futures = [pool.submit(queue.run) for _ in range(n_threads)]
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future.done():
                    future.result()
            return queue.results
        except BaseException:
            queue.end()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _never() -> bool:
    """One thread by itself is stopped by what it raises."""
    return False


class _Queue:
    """Tasks that wait for those before them with which they have something in common."""

    def __init__(
        self, work: Callable[..., Any], tasks: Sequence[Any], alone_with: Callable[[Any], Iterable[Hashable]]
    ) -> None:
        self.work, self.tasks = work, tasks
        self.stop, self.changed = threading.Event(), threading.Condition()
        self.results: list[Any] = [None] * len(tasks)
        self.waits_for: list[set[int]] = []  # those before it that have not ended
        self.followers: dict[int, list[int]] = {}
        last: dict[Hashable, int] = {}
        for n, task in enumerate(tasks):
            before = {last[thing] for thing in alone_with(task) if thing in last}
            self.waits_for.append(before)
            for other in before:
                self.followers.setdefault(other, []).append(n)
            last |= dict.fromkeys(alone_with(task), n)
        self.ready = [n for n, before in enumerate(self.waits_for) if not before]  # a heap: it is in order
        self.left = len(tasks)

    def run(self) -> None:
        """What a thread does: take the first task that need not wait, until there is none left."""
        while (n := self._next()) is not None:
            try:
                self.results[n] = self.work(self.tasks[n], self.stop.is_set)
            except BaseException:
                self.end()
                raise
            self._done(n)

    def end(self) -> None:
        """Let nothing more begin."""
        self.stop.set()
        with self.changed:
            self.changed.notify_all()

    def _next(self) -> int | None:
        with self.changed:
            while not self.ready and self.left and not self.stop.is_set():
                self.changed.wait()
            if not self.left or self.stop.is_set() or not self.ready:
                return None
            return heappop(self.ready)

    def _done(self, n: int) -> None:
        with self.changed:
            self.left -= 1
            for other in self.followers.get(n, ()):
                self.waits_for[other].discard(n)
                if not self.waits_for[other]:
                    heappush(self.ready, other)
            self.changed.notify_all()
