"""Progress of long computations: a bar on a terminal, lines in a pipe, or calls of a listener."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from simlabel._utils.limits import limits
from simlabel._utils.text import for_terminal

#: called with the number of finished steps, their total (None if unknown) and a description
Listener = Callable[[int, int | None, str], None]


class Advance(Protocol):
    """Reports finished steps."""

    def __call__(self, steps: int = 1) -> None:
        """Report that `steps` more steps are finished."""


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_MAX = 0.99  # shown before the end: after the last step some work usually remains


@contextmanager
def report_progress_to(listener: Listener) -> Iterator[None]:
    """Pass progress to a listener inside the context, whether or not a bar is requested.

    Examples
    --------
    >>> with report_progress_to(print), progress("waiting", 2, show=False) as advance:
    ...     advance()
    0 2 waiting
    1 2 waiting
    """
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@contextmanager
def progress(title: str, total: int | None, show: bool) -> Iterator[Advance]:
    """Yield a function that reports finished steps; it has no effect without `show` and without a listener.

    Examples
    --------
    >>> with progress("waiting", 2, show=False) as advance:
    ...     advance()
    """
    listener = _LISTENER.get()
    if listener is not None:
        yield _stepped(listener, total, title)
    elif show:
        with progress_bar(title) as listener:
            yield _stepped(listener, total, title)
    else:
        yield lambda steps=1: None


def _stepped(listener: Listener, total: int | None, title: str) -> Advance:
    listener(0, total, title)
    done, lock = 0, threading.Lock()  # several threads may report

    def advance(steps: int = 1) -> None:
        nonlocal done
        with lock:
            done += steps
            listener(done, total, title)

    return advance


@contextmanager
def progress_bar(title: str, announced: bool = True) -> Iterator[Listener]:
    """Yield a listener that shows progress on stderr: as a bar with the remaining time, or as lines.

    If `announced`, a line is printed when work begins; otherwise only for work that takes long.
    """
    if not sys.stderr.isatty():
        yield Lines(announced)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(for_terminal(title), total=None)
        yield lambda done, total, what: bar.update(
            task,
            completed=done if total is None else min(done, _MAX * total),
            total=total,
            description=for_terminal(what),
        )


class Lines:
    """Progress without a terminal: a line every few seconds with the finished share and the remaining time.

    Parameters
    ----------
    announced : bool
        Whether to print a line when work begins.
    """

    def __init__(self, announced: bool) -> None:
        self._announced = announced
        self._what, self._before, self._began, self._said = "", 0, 0.0, 0.0

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """Report progress."""
        now = time.monotonic()
        if not self._what or done < self._before:  # new work begins
            self._began = self._said = now
            if self._announced:
                _print_line(what)
        elif now - self._said >= limits().progress_seconds and done and total:
            self._said = now
            left = (now - self._began) / done * (total - done)
            _print_line(f"{what}: {min(done / total, _MAX):.0%}, about {left:.0f} s left")
        self._what, self._before = what, done


def _print_line(text: str) -> None:
    sys.stderr.write(for_terminal(text) + "\n")
    sys.stderr.flush()
