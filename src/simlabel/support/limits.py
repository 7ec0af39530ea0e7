"""How large blocks are, and from when on another way is taken: every such number in one record.

Sizes of blocks change how long a result takes and how much memory it wants, never what it is;
thresholds say from when on a sample or an approximation is enough. Code asks for them when it runs, so
that tests can make the seams show on small data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """Sizes in rows, entries or bytes, as the names say; each with the reason for its value."""

    # of all rooms
    block_entries: int = 1 << 22  # checked, sorted or made dense in one go: no mask as large as X is made
    block_bytes: int = 1 << 25  # of scores, of terms or of similarities in one go
    block_rows: int = 2048  # in one go, where each takes as many numbers as there are references or labels
    compared_rows: int = 2000  # labelled instances, or doubtful ones, that are compared with each other

    # rows
    tail_rows: int = 2048  # chunks are merged up to this: few of them, and little is copied for a batch
    piece_rows: int = 65536  # the most that is read in one go, or kept as one when some rows are forgotten
    read_bytes: int = 1 << 25  # of rows that are read in one go for all queries
    mapped_bytes: int = 1 << 28  # a mapped array below this is taken into memory, where it is quicker

    # similarities
    sorted_rows: int = 20_000  # of those that are not in memory: columns are sorted for mean distances

    # label_rules
    gathered_entries: int = 1 << 26  # scores kept at once

    # influence
    exact_bytes: int = 1 << 30  # three matrices of the references by themselves fit in this
    inducing_rows: int = 2048  # references that are summed over where not all are solved for
    mixed_columns: int = 1024  # labels and set sizes; more are not mixed, which takes the square of them

    # tuning
    candidate_bytes: int = 1 << 26  # scores of all candidates for one chunk of queries
    candidate_queries: int = 64  # of a chunk: with many labels, rather fewer candidates in a pass
    symmetric_bytes: int = 1 << 30  # scores for all queries at once, where each pair is touched once
    tuned_rows: int = 2500  # on which bandwidth and penalty of learned influence are chosen

    # inspection
    own_rows: int = 256  # compared with each other for the similarity of each to itself

    # persistence
    checksum_bytes: int = 1 << 22  # of an array under one checksum: files that exist were written with it


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
