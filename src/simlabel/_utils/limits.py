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
    threshold_labels: int = 2000  # of which a threshold function is still a matter of seconds
    judged_entries: int = 1 << 22  # scores by which rules are compared, and what labels share is found

    # influence
    exact_bytes: int = 1 << 30  # three matrices of the references by themselves fit in this
    inducing_rows: int = 2048  # references that are summed over where not all are solved for
    iterated_bytes: int = 1 << 28  # of the columns of linear rows by the labels that are solved for at once
    rough_rows: int = 256  # where penalties are compared: for fewer, single precision saves nothing
    lone_factor_rows: int = 3000  # up to which a matrix is factorised on one thread: several gain little, and
    # on a busy machine wait for each other many times as long as it takes
    eigenvector_rows: int = 512  # where penalties are compared: for more, factors are quicker
    sketched_columns: int = 512  # of all similarities: with these, few iterations, and cheap ones
    tile_side: int = 2048  # of a factor: long enough for BLAS, and some to share among threads
    factor_bytes: int = 1 << 31  # of half a matrix of references in single precision: 32,768 of them
    pattern_operations: float = 2e11  # to invert a system for each pattern of known labels: half a minute,
    tuned_pattern_operations: float = 1e10  # and for each candidate of a search: a second
    passed_operations: float = 2e13  # of one pass over features for each pattern: a quarter of an hour
    masked_columns: int = 128  # of all similarities, where each label has a preconditioner of its own
    mixed_columns: int = 1024  # labels and set sizes; more are not mixed, which takes the square of them

    # tuning
    candidate_bytes: int = 1 << 26  # scores of all candidates for one chunk of queries
    candidate_queries: int = 64  # of a chunk: with many labels, rather fewer candidates in a pass
    symmetric_bytes: int = 1 << 30  # scores for all queries at once, where each pair is touched once
    tuned_rows: int = 2500  # on which bandwidth and penalty of learned influence are chosen
    normalizer_rows: int = 1500  # on which normalizers are compared, each with its own bandwidth

    # calibration, where it is "auto"
    calibrated_rows: int = 10_000  # at most: scoring each by all others takes about a second
    fewest_calibrated: int = 50  # of fewer rows a curve would know less than a share does
    calibrated_calls: int = 1 << 18  # of a Python function of two instances: a second of a quick one

    # inspection
    own_rows: int = 256  # compared with each other for the similarity of each to itself

    # persistence
    checksum_bytes: int = 1 << 22  # of an array under one checksum: files that exist were written with it

    # engines
    block_query_bytes: int = 4096  # one number each: with these blocks a core's product and loops run
    block_references: int = 512  # at full speed, and stay in cache
    panel_references: int = 4096  # in one call of a kernel
    panel_bytes: int = 1 << 20  # of queries in panels, which all tiles read,
    fewest_panel_queries: int = 256  # but not fewer than this
    cached_sums_bytes: int = 1 << 21  # of a block in panels: each reference adds to some of them,
    fewest_cached_queries: int = 128  # but not fewer than this
    tile_rows: int = 144  # references of a tile: they stay
    tile_bytes: int = 1 << 19  # in the second cache
    panel_sums: int = 1 << 17  # of a panel of queries: a megabyte, in which the labels of each row are met
    few_queries: int = 8  # with fewer, a loop over queries is too short to vectorise: loop over references
    whole_references: int = 1 << 17  # for few queries: one product, which BLAS shares among the cores
    fewest_block_queries: int = 64  # with fewer in a block, cut references among threads instead
    worth_a_thread: int = 64  # references for one query; for fewer, have fewer threads
    function_block_pairs: int = 1 << 14  # Python calls: so few that progress shows and Ctrl-C works
    serial_operations: float = 2e7  # below this, starting threads costs more than it saves
    most_threads: int = 256  # where there are fewer cores: beyond it threads only wait
    smallest_side: int = 32  # of a symmetric block: with smaller ones, listing pairs is more than the work
    sparse_task_queries: int = 64  # of sparse rows
    sampled_task_queries: int = 16  # that draw their references
    full_share: float = 0.07  # a term of a sparse product takes 200 dense ones, of which it has the square
    prepared_entries: int = 1 << 21  # of a block while the numbers beside the rows are computed
    collapsed_bytes: int = 1 << 28  # of sums that are taken before queries come, unless they are asked for
    merged_bytes: int = 1 << 31  # of those, where words that are alike have one: half of that, and less
    kept_bytes: int = 1 << 26  # of what was made of V and will be wanted again
    slow_seconds: float = 10.0  # a plan says that it takes longer; of a Python function that does is warned,
    slow_after: float = 1.0  # but not at once: the first block may have waited for the compiler

    # cluster
    shards_per_thread: int = 2  # at least, so that a slow worker's can be stolen
    fewest_shard_rows: int = 4096  # a smaller shard costs more to talk about than to compute
    tasks_per_thread: int = 8  # so that the last ones end at about the same time
    fewest_task_queries: int = 256
    most_task_queries: int = 8192
    join_branches: int = 4  # of the tree in which results are joined
    cluster_attempts: int = 10  # before data that are lost again and again are given up
    cluster_pause: float = 0.2  # seconds, longer with each attempt: the scheduler may not have noticed yet
    cluster_look_every: float = 0.25  # seconds


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
