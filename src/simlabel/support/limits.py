"""How large blocks are, and from when on another way is taken: every such number in one record.

They change how long a result takes and how much memory it wants, never what it is. Code asks for
them when it runs, so that tests can make the seams show on small data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """Sizes in rows, entries or bytes, as the names say; each with the reason for its value."""

    # support and labels
    checked_entries: int = 1 << 22  # looked at in one go, so that no mask as large as X is made

    # rows
    tail_rows: int = 2048  # chunks are merged up to this: few of them, and little is copied for a batch
    piece_rows: int = 65536  # a chunk in which rows are forgotten is cut into pieces of this


_current = [Limits()]


def limits() -> Limits:
    """The numbers that hold now."""
    return _current[-1]


@contextlib.contextmanager
def changed_limits(**changes: float) -> Iterator[Limits]:
    """Other numbers for a while, in all threads of this process.

    Examples
    --------
    >>> with changed_limits(tail_rows=8):
    ...     print(limits().tail_rows)
    8
    >>> limits().tail_rows
    2048
    """
    _current.append(replace(limits(), **changes))  # type: ignore[arg-type]
    try:
        yield limits()
    finally:
        _current.pop()
