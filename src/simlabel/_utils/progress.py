"""How far work has come: a bar on a terminal, lines into a pipe, or whoever listens is told."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from simlabel._utils.text import for_terminal

#: is told how many steps are done, of how many (None where that is not known), and what is being done
Listener = Callable[[int, int | None, str], None]


class Advance(Protocol):
    """Says that so many steps are done."""

    def __call__(self, steps: int = 1) -> None:
        """Take in how many."""


_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_SECONDS = 10.0  # between two lines, where there is no terminal
_MOST = 0.99  # what is shown before the end: after the last step there is something left to do, as a rule


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within it, progress is told to the listener, whether or not a bar is wanted.

    Examples
    --------
    >>> with heard_by(print), progress("waiting", 2, show=False) as advance:
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
    """Give a function that says that steps are done; it does nothing unless `show`, or somebody listens.

    Examples
    --------
    >>> with progress("waiting", 2, show=False) as advance:
    ...     advance()
    """
    listener = _LISTENER.get()
    if listener is not None:
        yield _stepped(listener, total, title)
    elif show:
        with shown_progress(title) as tell:
            yield _stepped(tell, total, title)
    else:
        yield lambda steps=1: None


def _stepped(tell: Listener, total: int | None, title: str) -> Advance:
    tell(0, total, title)
    done, lock = 0, threading.Lock()  # threads tell, too

    def advance(steps: int = 1) -> None:
        nonlocal done
        with lock:
            done += steps
            tell(done, total, title)

    return advance


@contextmanager
def shown_progress(title: str, announced: bool = True) -> Iterator[Listener]:
    """A listener that shows what it is told on stderr: as a bar with the time left, or as lines.

    Lines say what begins where that is to be `announced`, and else only what takes long.
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
            completed=done if total is None else min(done, _MOST * total),
            total=total,
            description=for_terminal(what),
        )


class Lines:
    """Progress without a terminal: a line every few seconds, with the share that is done and the time left.

    Parameters
    ----------
    announced : bool
        Whether a line says what begins.
    """

    def __init__(self, announced: bool) -> None:
        self._announced = announced
        self._what, self._before, self._began, self._said = "", 0, 0.0, 0.0

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """Take in how far it is."""
        now = time.monotonic()
        if not self._what or done < self._before:  # other work, which begins
            self._began = self._said = now
            if self._announced:
                _say(what)
        elif now - self._said >= _SECONDS and done and total:
            self._said = now
            left = (now - self._began) / done * (total - done)
            _say(f"{what}: {min(done / total, _MOST):.0%}, about {left:.0f} s left")
        self._what, self._before = what, done


def _say(text: str) -> None:
    sys.stderr.write(for_terminal(text) + "\n")
    sys.stderr.flush()
