"""Sizes of blocks, thresholds of approximations, and the available memory.

Block sizes change how much time and memory a result takes, but not the result; thresholds determine from
which size on a sample or an approximation is used. Code reads them when it runs, so that tests can make
blocks small.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True)
class Limits:
    """Sizes in rows, entries or bytes, as the names say, each with the reason for its value."""

    # several packages
    block_entries: int = 1 << 22  # checked, sorted or made dense at once: no mask as large as X is needed
    block_bytes: int = 1 << 25  # scores, terms or similarities computed at once
    block_rows: int = 2048  # rows at once if each takes as many numbers as there are references or labels
    compared_rows: int = 2000  # labeled or suspicious rows that are compared with each other
    progress_seconds: float = 10.0  # between two lines of progress, without a terminal

    # rows
    tail_rows: int = 2048  # chunks are merged up to this size: few chunks, and little copying per batch
    piece_rows: int = 65536  # most rows that are read at once, or kept as one chunk when some are forgotten
    read_bytes: int = 1 << 25  # rows that are read at once for all queries
    mapped_bytes: int = 1 << 28  # smaller memory-mapped arrays are loaded, which is faster

    # similarities
    sorted_rows: int = 20_000  # rows that are not in memory whose columns are sorted for mean distances

    # rules
    gathered_entries: int = 1 << 26  # scores kept in memory at once
    threshold_labels: int = 2000  # labels for which a threshold function takes seconds at most
    evaluated_entries: int = 1 << 22  # most scores for comparing label rules, and for calibration by default

    # ridge
    exact_bytes: int = 1 << 30  # up to this size of three matrices of all pairs of references, solve exactly
    changed_rows: int = 256  # after so many changed rows the linear system is prepared again
    inducing_rows: int = 2048  # references that are summed over if not all are solved for
    iterated_bytes: int = 1 << 28  # columns of linear rows times labels that are solved for at once
    coarse_rows: int = 256  # fewest rows for comparing penalties in single precision
    lone_factor_rows: int = 3000  # up to here factorize on one thread: several gain little, and on a busy
    # machine they wait for each other many times as long
    cached_similarity_rows: int = 512  # most rows for keeping the similarities of all candidates of a search
    sketched_columns: int = 512  # columns of the sketch of all similarities: few and cheap iterations
    tile_side: int = 2048  # side of a tile of a factor: long enough for BLAS, and enough tiles for threads
    factor_bytes: int = 1 << 31  # half a matrix of references in single precision: 32,768 references
    pattern_operations: float = 2e11  # solving a system per pattern of known labels: half a minute,
    tuned_pattern_operations: float = 1e10  # and per candidate of a search: a second
    passed_operations: float = 2e13  # one pass over the features per pattern: a quarter of an hour
    masked_columns: int = 128  # the same if each label has its own preconditioner
    mixed_columns: int = 1024  # most labels and set sizes for label mixing, which takes their square

    # tuning
    candidate_bytes: int = 1 << 26  # scores of all candidates for one chunk of queries
    candidate_queries: int = 64  # fewest queries per chunk: with many labels, use fewer candidates per pass
    symmetric_bytes: int = 1 << 30  # scores for all queries at once, if each pair is computed once
    tuned_rows: int = 2500  # rows for tuning bandwidth and penalty of learned influence
    normalizer_rows: int = 1500  # rows for comparing normalizers, each with its own bandwidth

    # calibration="auto"
    calibrated_rows: int = 10_000  # most rows: scoring each by all others takes about a second
    min_calibrated: int = 50  # with fewer rows a curve is worse than shares of the similarity
    calibrated_calls: int = 1 << 18  # calls of a Python similarity: a second for a fast one

    # model.inspection
    own_rows: int = 256  # rows compared with each other for the similarity of each to itself

    # model.persistence
    checksum_bytes: int = 1 << 22  # bytes of an array per checksum: part of the file format

    # sums
    block_query_bytes: int = 4096  # one number each: with these block sizes one core runs
    block_references: int = 512  # products and loops at full speed, in its cache
    panel_references: int = 4096  # references per call of a kernel
    panel_bytes: int = 1 << 20  # queries in panels, which all tiles read,
    min_panel_queries: int = 256  # but not fewer than this
    cached_sums_bytes: int = 1 << 21  # sums of a block in panels, to some of which each reference adds,
    min_cached_queries: int = 128  # but not fewer than this
    tile_rows: int = 144  # references of a tile, which stay
    tile_bytes: int = 1 << 19  # in the second-level cache
    panel_sums: int = 1 << 17  # sums of a panel of queries: a megabyte with random access
    few_queries: int = 8  # with fewer, loops over queries do not vectorize: loop over references
    whole_references: int = 1 << 17  # for few queries: one product, which BLAS distributes over the cores
    min_block_queries: int = 64  # with fewer per block, distribute references over threads instead
    min_thread_work: int = 64  # fewest references per thread for one query
    function_block_pairs: int = 1 << 14  # Python calls per block: few enough for progress and Ctrl-C
    serial_operations: float = 2e7  # below this, starting threads costs more than it saves
    max_threads: int = 256  # if there are fewer cores: more threads only wait
    min_side: int = 32  # of a symmetric block: with smaller ones, listing pairs dominates
    sparse_task_queries: int = 64  # sparse rows per task
    sampled_task_queries: int = 16  # queries per task that sample their references
    full_share: float = 0.07  # density: a sparse product costs 200 per term, and has its square as terms
    prepared_entries: int = 1 << 21  # entries of a block while norms and the like are computed
    collapsed_bytes: int = 1 << 28  # most bytes of precomputed sums that are chosen automatically
    merged_bytes: int = 1 << 31  # the same if words of the same rows share a column: half of it or less
    cache_bytes: int = 1 << 26  # cached products of V
    slow_seconds: float = 10.0  # longest time without a note in the plan, or a warning for Python functions,
    slow_after: float = 1.0  # but not at once: the first block may have waited for the compiler

    # sums.dask
    shards_per_thread: int = 2  # at least, so that those of a slow worker can be stolen
    min_shard_rows: int = 4096  # a smaller shard costs more communication than computation
    tasks_per_thread: int = 8  # so that the last tasks end at about the same time
    min_task_queries: int = 256
    max_task_queries: int = 8192
    join_branches: int = 4  # branches of the tree that merges results
    cluster_attempts: int = 10  # before giving up on data that are lost repeatedly
    cluster_pause: float = 0.2  # seconds, longer with each attempt: the scheduler may be late to notice
    cluster_look_every: float = 0.25  # seconds


_current = [Limits()]


def limits() -> Limits:
    """Return the limits that apply now."""
    return _current[-1]


@contextlib.contextmanager
def changed_limits(**changes: float) -> Iterator[Limits]:
    """Change limits inside the context, in all threads of this process.

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


_SYSTEM = Path("/proc/meminfo")
_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def available_memory() -> int | None:
    """Return the bytes of memory available without swapping, or None if unknown.

    If the limit of the container is smaller, return that.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    found = []
    try:
        lines = _SYSTEM.read_text().splitlines()
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):  # not Linux
        pass
    for path in _CONTAINER:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no container, or one without a limit
            continue
    return min(found, default=None)
