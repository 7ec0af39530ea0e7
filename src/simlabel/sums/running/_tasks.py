"""Tasks on threads, stopped promptly on Ctrl-C."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from heapq import heappop, heappush
from typing import Any, TypeVar

Task = TypeVar("Task")


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
