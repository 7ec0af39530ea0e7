"""How a reduction is cut into blocks, in which precision it runs, and why, in words."""

from __future__ import annotations

from dataclasses import dataclass

from simlabel._utils.kernels import panel_width
from simlabel._utils.limits import limits
from simlabel._utils.rows import row_width
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Plan
from simlabel.sums._prepared import Prepared


def make_plan(
    n_queries: int,
    prepared: Prepared,
    bytes_per_query: int,
    n_similarities: int,
    threads: int,
    memory_mib: float = DEFAULT_MEMORY_MIB,
    panels: bool = False,
) -> Plan:
    """Choose blocks that fit the memory and keep every thread busy.

    Parameters
    ----------
    bytes_per_query : int
        Size of the partial results of all jobs, for one query.
    n_similarities : int
        Blocks of similarities that exist at once: more than one where jobs share a statistic.
    panels : bool
        Whether sums are made in panels, which keeps no block of similarities.
    """
    limit, budget = limits(), int(memory_mib * 2**20)
    n_references = prepared.n_rows
    operations = 2.0 * n_queries * _products(prepared)
    reasons = [why_dtype(prepared)]
    if operations < limit.serial_operations and not _calls_python(prepared):
        threads = 1
    sizes = _Sizes.of(prepared, bytes_per_query, n_similarities, panels)
    if panels and sizes.least > budget // threads:  # a panel has many queries, a tile may have one
        panels, sizes = False, _Sizes.of(prepared, bytes_per_query, n_similarities, False)
    queries = min(limit.block_query_bytes // prepared.dtype.itemsize, max(1, n_queries))
    if panels:
        row = max(1, sizes.width) * prepared.dtype.itemsize
        queries = min(queries, max(limit.fewest_panel_queries, limit.panel_bytes // row))
        cached = limit.cached_sums_bytes // max(1, bytes_per_query)
        queries = min(queries, max(limit.fewest_cached_queries, cached))
    references = limit.panel_references if panels else limit.block_references
    if not panels and not sizes.copies:  # few queries with more references: fewer tiles, still in cache
        references = max(references, limit.tile_bytes // (prepared.dtype.itemsize * queries))
    references = min(references, max(1, n_references))
    if n_queries < limit.few_queries and _only_products(prepared):
        threads, references = 1, min(limit.whole_references, max(1, n_references))
        reasons.append("few queries: one product, which the BLAS library shares among the cores")
    if panels:
        reasons.append("each similarity is added to the sums as it is made: no block of them is kept")
    if _calls_python(prepared):
        threads = 1
        reasons.append(
            "a Python function computes the similarities: one thread, since only one can run Python"
        )
        references = min(references, max(1, limit.function_block_pairs // queries))
    fitting = fewer_threads(threads, sizes.least, budget)
    if fitting < threads:
        reasons.append(too_many_threads(fitting, threads, memory_mib))
    threads = fitting
    queries, references = sizes.fitting(queries, references, budget // threads)
    at_once = sizes.parts(n_queries, queries, references, threads, budget)
    queries, parts = _share_out(n_queries, n_references, queries, references, threads, at_once)
    threads = min(threads, max(1, -(-n_queries // queries) * parts))
    memory = sizes.total(n_queries, queries, references, threads, parts)
    if memory > budget:
        reasons.append(
            f"more memory than the {memory_mib:g} MiB that were asked for: the least there is to hold, "
            f"one query and one reference with what is made of them, takes {memory:,} bytes"
        )
    return Plan(
        "exact sums over all pairs",
        n_queries,
        n_references,
        prepared.dtype,
        queries,
        references,
        parts,
        threads,
        memory,
        operations,
        tuple(reasons),
        panels,
    )


@dataclass(frozen=True)
class _Sizes:
    """What blocks take in memory.

    Attributes
    ----------
    width, entry : int
        Columns of a row, and bytes of a number.
    tiles : int
        Blocks of similarities that a thread has at once.
    copies : bool
        Whether rows are copied.
    sums : int
        Bytes of the sums for one query.
    together : int
        Queries of a panel, which is never part empty; 1 without panels.
    """

    width: int
    entry: int
    tiles: int
    copies: bool
    sums: int
    together: int

    @classmethod
    def of(cls, prepared: Prepared, bytes_per_query: int, n_similarities: int, panels: bool) -> _Sizes:
        return cls(
            width=row_width(prepared.X),
            entry=prepared.dtype.itemsize,
            tiles=0 if panels else n_similarities + 2,
            copies=panels or _copies_rows(prepared),
            sums=bytes_per_query * (2 if panels else 1),  # in panels, and turned over at the end
            together=panel_width(prepared.dtype) if panels else 1,
        )

    def block(self, queries: int, references: int) -> int:
        """Of one thread, that has so many queries and references at once."""
        return self._rows(queries, references) + self._whole(queries) * self.sums

    @property
    def least(self) -> int:
        """Of a thread that is of any use."""
        return self.block(1, limits().worth_a_thread)

    def _whole(self, queries: int) -> int:
        return -(-queries // self.together) * self.together

    def _rows(self, queries: int, references: int) -> int:
        queries = self._whole(queries)
        rows = (queries + 2 * references) * self.width if self.copies else 0
        return (queries * references * self.tiles + rows) * self.entry

    def total(self, n_queries: int, queries: int, references: int, threads: int, parts: int) -> int:
        """Of all threads; the sums of parts are there until all are, and are merged then."""
        if parts == 1:
            return threads * self.block(queries, references)
        return threads * self._rows(queries, references) + parts * self._whole(n_queries) * self.sums

    def fitting(self, queries: int, references: int, budget: int) -> tuple[int, int]:
        """A block of these sizes, halved until it fits; the smallest where none does."""
        while self.block(queries, references) > budget and (queries > self.together or references > 1):
            most_is_sums = queries * self.sums > budget // 2
            if references == 1 or (queries > self.together and (most_is_sums or queries > references)):
                queries = max(self.together, queries // 2)
            else:
                references //= 2
        return queries, references

    def parts(self, n_queries: int, queries: int, references: int, threads: int, budget: int) -> int:
        """Of how many parts the sums of all queries fit beside the blocks."""
        left = budget - threads * self._rows(queries, references)
        return max(1, left // max(1, self._whole(n_queries) * self.sums))


def fewer_threads(threads: int, bytes_each: int, budget: int) -> int:
    """As many threads as fit, one at least."""
    return max(1, min(threads, budget // max(1, bytes_each)))


def too_many_threads(fitting: int, threads: int, memory_mib: float) -> str:
    """Why there are fewer, in words."""
    return f"{fitting} of {threads} threads: what more of them hold would not fit {memory_mib:g} MiB"


def _share_out(
    n_queries: int, n_references: int, queries: int, references: int, threads: int, most_parts: int
) -> tuple[int, int]:
    """Even blocks of queries, as many as threads or a multiple; with few queries, parts of references."""
    if threads == 1:
        return queries, 1
    rounds = -(-n_queries // (queries * threads))
    even = max(1, -(-n_queries // (max(1, rounds) * threads)))
    if even >= min(limits().fewest_block_queries, queries) or n_references <= references or most_parts == 1:
        return even, 1
    return queries, min(threads, most_parts, n_references)


def _products(prepared: Prepared) -> float:
    """Multiplications for one query, those of sparse rows only where both have an entry."""
    total = 0.0
    for key, leaf in prepared.leaves.items():
        if prepared.sparse and leaf.similarity.form == "dot" and not prepared.densify(key):
            total += prepared.products_per_query(key)
        else:
            total += prepared.n_rows * max(1, row_width(prepared.X))
    return total


def _calls_python(prepared: Prepared) -> bool:
    return any(leaf.similarity.form == "block" for leaf in prepared.leaves.values())


def _only_products(prepared: Prepared) -> bool:
    """Whether all work is dense inner products."""
    return not prepared.sparse and all(leaf.similarity.form == "dot" for leaf in prepared.leaves.values())


def _copies_rows(prepared: Prepared) -> bool:
    """Whether blocks of rows are made dense, viewed or cast on the way."""
    cast = getattr(prepared.X, "dtype", prepared.dtype) != prepared.dtype
    viewed = any(leaf.views and key not in prepared.views for key, leaf in prepared.leaves.items())
    coordinate = any(leaf.similarity.form == "coordinate" for leaf in prepared.leaves.values())
    return prepared.sparse or cast or viewed or coordinate


def why_dtype(prepared: Prepared) -> str:
    """The reason for the precision, in words."""
    given = getattr(prepared.X, "dtype", None)
    if given is None:
        return f"{prepared.dtype} because the instances are objects"
    if given == prepared.dtype:
        return f"{prepared.dtype} because the features are {given}"
    return f"{prepared.dtype} although the features are {given}: their digits would be lost"
