"""A progress bar, where one is wanted; or whoever listens is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

#: is told how many steps are done, of how many (None where that is not known), and what is being done
Listener = Callable[[int, int | None, str], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


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
def progress(title: str, total: int | None, show: bool) -> Iterator[Callable[[], None]]:
    """Give a function that moves a bar one step; it does nothing unless `show`, or somebody listens.

    Examples
    --------
    >>> with progress("waiting", 2, show=False) as advance:
    ...     advance()
    """
    listener = _LISTENER.get()
    if listener is not None:
        listener(0, total, title)
        steps = count(1)
        yield lambda: listener(next(steps), total, title)
        return
    if not show:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
