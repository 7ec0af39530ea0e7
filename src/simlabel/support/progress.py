"""A progress bar, where one is wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(title: str, total: int | None, show: bool) -> Iterator[Callable[[], None]]:
    """Give a function that moves a bar one step; it does nothing unless `show`.

    Examples
    --------
    >>> with progress("waiting", 2, show=False) as advance:
    ...     advance()
    """
    if not show:
        yield lambda: None
        return
    from rich.progress import Progress

    with Progress() as bar:
        task = bar.add_task(title, total=total)
        yield lambda: bar.advance(task)
