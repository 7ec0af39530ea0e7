"""What each way of summing costs, in nanoseconds on one core of a present-day machine.

The figures need not be right, only in proportion: they choose between ways, never what comes out.
`benchmarks/speed/engine_choice.py` shows how well they do.
"""

from __future__ import annotations

from collections.abc import Sequence

from simlabel._utils.rows import row_width
from simlabel.sums._contract import Job
from simlabel.sums._prepared import Prepared
from simlabel.sums.reducers import SumReducer

_DENSE_PRODUCT = 0.022  # one feature of one pair in float32; float64 takes twice that
_COORDINATE = 0.055  # one feature of one pair of a sum over coordinates
_FINISH = 0.4  # from a statistic to a similarity
_ENTRY = 0.06  # one label of one reference, for one query in a block of many
_COLUMN = 0.026  # one column of a dense product with V
_SPARSE_PRODUCT = 2.0  # one entry of a query times one of a reference
_FOUND = 8.0  # one reference with a column in common
_SCATTERED = 1.2  # one label of one found reference
_SPARSE_MATRIX_PRODUCT = 6.0  # the same product by a library, into a dense block
_FILL = 1.5  # one entry of that block
_SPARSE_BLOCK = 1.5e6  # cutting one block of sparse references out, for each block of queries
_BLOCK_QUERIES, _BLOCK_REFERENCES = 512, 1024
_SPARSE_COLUMN = 0.5  # one entry of a sparse row times one column of a collapsed matrix
_EXPAND = 2.0  # one explicit column of one row
_CALL = 2e4  # a query by itself
_FUNCTION = 500.0  # a call of Python


def pairs_cost(n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
    """All pairs, block by block."""
    double = prepared.dtype.itemsize / 4
    per_pair = sum(_statistic_cost(prepared, key) for key in prepared.leaves) * double
    for job in jobs:
        per_pair += _FINISH * double * len(job.similarity.leaves()) + _label_cost(job) * double
    fixed = 0.0
    if prepared.sparse:
        fixed = _SPARSE_BLOCK * -(-n_queries // _BLOCK_QUERIES) * -(-prepared.n_rows // _BLOCK_REFERENCES)
    return fixed + n_queries * prepared.n_rows * per_pair


def _statistic_cost(prepared: Prepared, key: object) -> float:
    form = prepared.leaves[key].similarity.form
    if form == "block":
        return _FUNCTION
    if form == "precomputed":
        return _FINISH
    if form == "coordinate":
        return _COORDINATE * row_width(prepared.X)
    if prepared.sparse and not prepared.densify(key):
        return _FILL + _SPARSE_MATRIX_PRODUCT * prepared.products_per_query(key) / max(1, prepared.n_rows)
    return _DENSE_PRODUCT * row_width(prepared.X)


def _label_cost(job: Job) -> float:
    if not isinstance(job.reducer, SumReducer):
        return _COLUMN * 16
    influence = job.reducer.influence
    return _ENTRY * influence.entries_per_row if influence.by_entry else _COLUMN * influence.width


def nonzero_cost(n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
    """Only the pairs with a column in common."""
    total = _CALL
    for key in prepared.leaves:
        products = prepared.products_per_query(key)
        pairs = min(products, prepared.n_rows)
        total += _SPARSE_PRODUCT * products
        for job in jobs:
            assert isinstance(job.reducer, SumReducer)
            total += pairs * (_FOUND + _SCATTERED * job.reducer.influence.entries_per_row)
    return n_queries * total


def collapsed_cost(n_rows: int, prepared: Prepared, width: int, n_columns: float) -> float:
    """So many rows as explicit columns times `n_columns`: those of a row of V, or all of them."""
    if prepared.sparse:
        entries = prepared.X.nnz / max(1, prepared.n_rows)
        return n_rows * entries * (_EXPAND + _SPARSE_COLUMN * n_columns)
    return n_rows * width * (_EXPAND + 2.0 * _DENSE_PRODUCT * n_columns)
