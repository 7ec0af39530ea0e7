"""The sum over references, taken before the query comes.

Where a similarity is an inner product of explicit columns, <e(q), e(x)>, the sum over references of
<e(q), e(x_j)> v_j is e(q) times one matrix: a query costs the same for any number of references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows, n_rows, n_shared_columns, pieces, row_width
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities import Leaf
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Engine, Job, Plan, Progress, ReduceCall
from simlabel.sums._exact import Exact, check_finite_sums
from simlabel.sums._merged import MergedSums
from simlabel.sums._prepared import Prepared
from simlabel.sums.planning import collapsed_cost
from simlabel.sums.reducers import SumReducer

_KEPT = "collapsed"  # where a job keeps its sums
_SHARED = "shared columns"  # and how many columns of the references more than one of them has


@dataclass(frozen=True)
class CollapsedSums:
    """Sums of explicit columns times influence.

    Attributes
    ----------
    leaf : Leaf
        The similarity, and the view of the rows that it reads.
    W : array, (expanded width, n_columns)
        Sum over references of e(x_j) v_j.

    Examples
    --------
    >>> from simlabel.similarities import Linear
    >>> none = CollapsedSums.empty(Linear().leaves()[0], 2, 1)
    >>> some = none.added(np.eye(2), np.ones((2, 1)))
    >>> some.of(np.array([[3.0, 4.0]]))
    array([[7.]])
    >>> some.removed(np.eye(2)[:1], np.ones((1, 1))).of(np.array([[3.0, 4.0]]))
    array([[4.]])
    """

    leaf: Leaf
    W: FloatArray

    @classmethod
    def empty(cls, leaf: Leaf, n_features: int, n_columns: int) -> Self:
        """Of no references, whose rows have so many features in the leaf's view."""
        width = leaf.similarity.expanded_width(n_features)
        if width is None:
            raise ValueError(f"{leaf.similarity!r} cannot be collapsed: it has no explicit columns.")
        return cls(leaf, np.zeros((width, n_columns)))

    def added(self, X: Rows, V: Rows, memory_mib: float = DEFAULT_MEMORY_MIB) -> Self:
        """With more references; X as the model compares it, (n, n_features), V (n, n_columns)."""
        return replace(self, W=self.W + self._sums(X, V, memory_mib))

    def removed(self, X: Rows, V: Rows, memory_mib: float = DEFAULT_MEMORY_MIB) -> Self:
        """Without some references that are in it."""
        return replace(self, W=self.W - self._sums(X, V, memory_mib))

    def of(self, Q: Rows, memory_mib: float = DEFAULT_MEMORY_MIB) -> FloatArray:
        """The sums for queries, (n_queries, n_columns)."""
        out: FloatArray = np.empty((n_rows(Q), self.W.shape[1]))
        for part in blocks(n_rows(Q), self._rows_per_block(memory_mib)):
            out[part] = self.leaf.expanded(Q[part]) @ self.W
        return out

    def _sums(self, X: Rows, V: Rows, memory_mib: float) -> FloatArray:
        if sp.issparse(X[:1]):  # as many rows at once as there are: what they add up to is large, not they
            columns = self.leaf.expanded(X[:])
            return dense_rows((_transposed(V[:]) @ columns).T)
        total: FloatArray = np.zeros_like(self.W)
        for part in blocks(n_rows(X), self._rows_per_block(memory_mib)):
            total += dense_rows((_transposed(V[part]) @ self.leaf.expanded(X[part])).T)
        return total

    def _rows_per_block(self, memory_mib: float) -> int:
        return max(1, int(memory_mib * 2**20) // (4 * 8 * self.W.shape[0]))


def _transposed(V: Rows) -> Rows:
    return sp.csr_array(V.T) if sp.issparse(V) else np.asarray(V, dtype=np.float64).T


class Collapsed(Engine):
    """Linear, cosine, and polynomials of degree 2, at a cost that does not depend on the references.

    The sums are exact. Where a query's own entry is to be left out, all pairs are visited.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory for blocks of explicit columns, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in all) where pairs are visited.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1], [1]], "quadratic", engine="collapsed")
    array([[13.]])
    """

    name = "collapsed"
    file_key = "engines.Collapsed"

    def __init__(self, memory_mib: float = DEFAULT_MEMORY_MIB, on_block: Progress | None = None) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block

    def why_not(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """No explicit columns, or a weighting after the similarity."""
        for job in jobs:
            if len(job.similarity.leaves()) != 1 or _width(prepared, job) is None:
                return f"{type(job.similarity).__name__} has no explicit columns"  # asked for every query
            if job.weighting is not None or not isinstance(job.reducer, SumReducer):
                return "a weighting needs the single similarities"
        return None

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """Collapsing the references, where that is not done yet, and a product for each query."""
        total = 0.0
        for job in jobs:
            assert isinstance(job.reducer, SumReducer)
            left = 0 if _KEPT in job.kept else prepared.n_rows
            width = _width(prepared, job) or 0
            total += collapsed_cost(left, prepared, width, job.reducer.influence.entries_per_row)
            total += collapsed_cost(n_queries, prepared, width, job.reducer.width)
        return total

    def is_too_large(self, prepared: Prepared, jobs: Sequence[Job]) -> bool:
        """Whether the sums take more memory than anybody would expect: words by labels may be gigabytes."""
        plain = sum(_bytes(prepared, job) for job in jobs)
        if plain <= limits().collapsed_bytes or not prepared.sparse:
            return plain > limits().collapsed_bytes
        known = jobs[0].kept  # asked again for every call that finds no sums ready
        if _SHARED not in known:
            known[_SHARED] = n_shared_columns(prepared.X[:])
        numbers = known[_SHARED] * sum(job.reducer.width for job in jobs)
        return prepared.dtype.itemsize * numbers > limits().merged_bytes

    def is_ready(self, jobs: Sequence[Job]) -> bool:
        """Whether the references of all jobs are collapsed."""
        return all(_KEPT in job.kept for job in jobs)

    def ready(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Collapse the references."""
        reason = self.why_not(prepared, jobs)
        if reason is not None:
            raise ValueError(f"engine='collapsed' is not possible: {reason}.")
        for job in jobs:
            if _KEPT not in job.kept:
                assert isinstance(job.reducer, SumReducer)
                V = job.reducer.influence.V
                leaf = job.similarity.leaves()[0]
                if prepared.sparse and _bytes(prepared, job) > limits().collapsed_bytes:
                    V = dense_rows(V[:]).astype(np.float64, copy=False)
                    job.kept[_KEPT] = MergedSums.of_references(leaf, prepared.X[:], V, prepared.dtype)
                    continue
                none = CollapsedSums.empty(leaf, row_width(leaf.view(prepared.X[:1])), V.shape[1])
                job.kept[_KEPT] = none.added(prepared.X, V, self.memory_mib)

    def carry(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Add the pieces of references that came, subtract those that went."""
        if _KEPT not in old.kept or new.reducer.width != old.reducer.width:
            return
        if not (_in_pieces(before, old) and _in_pieces(after, new)):
            return  # learned influence is another for every reference
        there, here = _pieces_of(before, old), _pieces_of(after, new)
        gone = [there[key] for key in there.keys() - here.keys()]
        came = [here[key] for key in here.keys() - there.keys()]
        if sum(n_rows(X) for X, _ in gone + came) > after.n_rows:
            return  # making it anew costs less
        sums: CollapsedSums | MergedSums = old.kept[_KEPT]
        if isinstance(sums, MergedSums):
            return
        for X, V in gone:
            sums = sums.removed(X, V, self.memory_mib)
        for X, V in came:
            sums = sums.added(X, V, self.memory_mib)
        new.kept[_KEPT] = sums

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """One product."""
        widths = [_width(prepared, job) or 0 for job in jobs]
        summed = sum(8 * width * job.reducer.width for width, job in zip(widths, jobs, strict=True))
        operations = sum(2.0 * w * job.reducer.width for w, job in zip(widths, jobs, strict=True)) * n_queries
        return Plan(
            f"exact sums, collapsed to {max(widths):,} columns",
            n_queries,
            prepared.n_rows,
            np.dtype(np.float64),
            queries=n_queries,
            references=0,
            parts=1,
            threads=1,
            memory=int(self.memory_mib * 2**20) + summed,
            operations=operations,
            reasons=("the sum over references is taken before queries come: their number does not matter",),
        )

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """One product for each block of queries."""
        if call.exclude is not None:
            return Exact(self.memory_mib, self.on_block).reduce(call)
        with held_blas(effective_jobs(call.n_jobs)):
            if not self.is_ready(call.jobs):
                self.ready(call.prepared, call.jobs)
            sums = [self._sums(job, call.Q) for job in call.jobs]
        outputs = [each.astype(call.prepared.dtype, copy=False) for each in sums]
        check_finite_sums(outputs, call.jobs)
        return outputs

    def _sums(self, job: Job, Q: Rows) -> FloatArray:
        kept: CollapsedSums | MergedSums = job.kept[_KEPT]
        return kept.of(Q) if isinstance(kept, MergedSums) else kept.of(Q, self.memory_mib)


def _in_pieces(prepared: Prepared, job: Job) -> bool:
    """Whether each piece of references has its piece of influence."""
    assert isinstance(job.reducer, SumReducer)
    return len(pieces(prepared.X)) == len(job.reducer.influence.stack.pieces)


def _pieces_of(prepared: Prepared, job: Job) -> dict[tuple[int, int], tuple[Rows, Rows]]:
    """Pieces of references and their influence, by where they are in memory: a piece never changes."""
    assert isinstance(job.reducer, SumReducer)
    pairs = zip(pieces(prepared.X), job.reducer.influence.stack.pieces, strict=True)
    return {(id(X), (V.data if sp.issparse(V) else V).ctypes.data): (X, V) for X, V in pairs}


def _bytes(prepared: Prepared, job: Job) -> int:
    """Of the sums, where each column has its own."""
    return 8 * (_width(prepared, job) or 0) * job.reducer.width


def _width(prepared: Prepared, job: Job) -> int | None:
    leaf = job.similarity.leaves()[0]
    if getattr(leaf.similarity, "degree", 1) > 1 and prepared.sparse:
        return None  # products of all pairs of columns would not be sparse
    if not hasattr(prepared.X, "shape"):
        return None
    viewed = prepared.views[leaf.key] if leaf.key in prepared.views else leaf.view(prepared.X[:1])
    return leaf.similarity.expanded_width(row_width(viewed))
