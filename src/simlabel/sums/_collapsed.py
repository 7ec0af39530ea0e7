"""The sum over references, precomputed, and the choice between that and visiting pairs.

If a similarity is an inner product of explicit columns, <e(q), e(x)>, the sum over references of
<e(q), e(x_j)> v_j is e(q) times one matrix: a query costs the same for any number of references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.kernels import sparse_times_dense
from simlabel._utils.limits import limits
from simlabel._utils.registry import Registry
from simlabel._utils.rows import (
    blocks,
    dense_rows,
    merge_equal_columns,
    n_rows,
    n_shared_columns,
    pieces,
    row_width,
)
from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities import Leaf
from simlabel.sums._base import DEFAULT_MEMORY_MIB, Engine, Job, Plan, ReduceCall
from simlabel.sums._influence import InfluenceColumns
from simlabel.sums._pairs import Exact, check_finite_sums
from simlabel.sums._planning import collapsed_cost
from simlabel.sums._prepared import Prepared
from simlabel.sums._reducers import Exclude, SumReducer

_SUMS = "collapsed"  # keys of a job's cache
_PAIRS = "pairs"  # for which references and up to how many queries pairs are cheapest
_SHARED = "shared columns"


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
    >>> some.added(np.eye(2)[:1], np.ones((1, 1)), sign=-1).of(np.array([[3.0, 4.0]]))
    array([[4.]])
    """

    leaf: Leaf
    W: FloatArray

    @classmethod
    def empty(cls, leaf: Leaf, n_features: int, n_columns: int) -> Self:
        """Return the sums of no references, whose rows have `n_features` columns in the leaf's view."""
        width = leaf.similarity.expanded_width(n_features)
        if width is None:
            raise ValueError(f"{leaf.similarity!r} cannot be collapsed: it has no explicit columns.")
        return cls(leaf, np.zeros((width, n_columns)))

    def added(self, X: Rows, V: Rows, memory_mib: float = DEFAULT_MEMORY_MIB, sign: int = 1) -> Self:
        """Add references, or with sign -1 remove them.

        Parameters
        ----------
        X : rows, (n, n_features)
            References as the model compares them.
        V : rows, (n, n_columns)
            Their influence.
        """
        if sp.issparse(X[:1]):  # all rows at once: their sums are large, not they
            parts = [slice(None)]
        else:
            parts = list(blocks(n_rows(X), self._rows_per_block(memory_mib)))
        total = np.zeros_like(self.W)
        for part in parts:
            weights = V[part]
            weights = sp.csr_array(weights.T) if sp.issparse(weights) else weights.T.astype(np.float64)
            total += dense_rows((weights @ self.leaf.expanded(X[part])).T)
        return replace(self, W=self.W + sign * total)

    def of(self, Q: Rows, memory_mib: float = DEFAULT_MEMORY_MIB) -> FloatArray:
        """Return the sums for queries, (n_queries, n_columns)."""
        out: FloatArray = np.empty((n_rows(Q), self.W.shape[1]))
        for part in blocks(n_rows(Q), self._rows_per_block(memory_mib)):
            out[part] = self.leaf.expanded(Q[part]) @ self.W
        return out

    def _rows_per_block(self, memory_mib: float) -> int:
        return max(1, int(memory_mib * 2**20) // (4 * 8 * self.W.shape[0]))


@dataclass(frozen=True)
class MergedSums:
    """Collapsed sums of sparse rows with very many columns, one sum for all columns that are the same.

    A word of a single reference adds that reference's influence, which is stored anyway; words of the same
    references have the same sums. So the sums of texts take a quarter of the memory, or less.

    Attributes
    ----------
    places : CSR, (expanded width, n_kinds + n_references)
        What replaces each column: the sums of its kind, or a multiple of the influence of a reference.
    U : array, (n_kinds, n_columns)
        Sum over references of e(x_j) v_j, in the precision of the result.
    V : array, (n_references, n_columns)
        The influence of each reference.

    Examples
    --------
    >>> from simlabel.similarities import Linear
    >>> X = sp.csr_array(np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]]))
    >>> sums = MergedSums.of_references(Linear().leaves()[0], X, np.array([[1.0], [10.0]]), np.float64)
    >>> sums.of(sp.csr_array(np.eye(3)))
    array([[11.],
           [30.],
           [ 2.]])
    """

    leaf: Leaf
    places: sp.csr_array
    U: FloatArray
    V: FloatArray

    @classmethod
    def of_references(cls, leaf: Leaf, X: Rows, V: FloatArray, dtype: npt.DTypeLike) -> Self:
        """Sum references as the model compares them, (n, n_features), with their influence, float64."""
        Z = sp.csr_array(leaf.expanded(X))
        merged = merge_equal_columns(Z)
        n_kinds = len(merged.representatives)
        by_kind = sp.csr_array(Z[:, merged.representatives].T)
        U = np.empty((n_kinds, V.shape[1]), dtype=dtype)
        for part in blocks(n_kinds, max(1, limits().block_bytes // (8 * V.shape[1]))):
            U[part] = sparse_product(by_kind[part], V)
        alone = merged.of_column[Z.indices] < 0
        rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))[alone]
        shared = np.flatnonzero(merged.of_column >= 0)
        columns = np.concatenate([shared, Z.indices[alone]])
        place = np.concatenate([merged.of_column[shared], n_kinds + rows])
        amount = np.concatenate([np.ones(len(shared)), Z.data[alone]])
        shape = Z.shape[1], n_kinds + Z.shape[0]
        return cls(leaf, sp.csr_array((amount, (columns, place)), shape=shape), U, V)

    def of(self, Q: Rows, memory_mib: float = DEFAULT_MEMORY_MIB) -> FloatArray:
        """Return the sums for queries, (n_queries, n_columns)."""
        at, n_kinds = sp.csr_array(self.leaf.expanded(Q)) @ self.places, len(self.U)
        out = sparse_product(at[:, :n_kinds], self.U).astype(np.float64)
        alone = at[:, n_kinds:]
        if alone.nnz:
            out += sparse_product(alone, self.V)
        return out


def sparse_product(A: sp.csr_array, M: Any) -> Any:
    """Return A M, (n_rows, n_columns), in the precision of M."""
    out = np.empty((n_rows(A), M.shape[1]), dtype=M.dtype)
    sparse_times_dense(A.indptr, A.indices, A.data, M, out)
    return out


class Collapsed(Engine):
    """Linear, cosine, and polynomials of degree 2, at a cost that does not depend on the references.

    The sums are exact. If a query's own entry is left out, all pairs are visited.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory for blocks of explicit columns, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in total) if pairs are visited.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1], [1]], "quadratic", engine="collapsed")
    array([[13.]])
    """

    name = "collapsed"
    file_key = "engines.Collapsed"

    def unsupported_reason(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """Refuse similarities without explicit columns, and weightings."""
        for job in jobs:
            if len(job.leaves) != 1 or _width(prepared, job) is None:
                return f"{type(job.similarity).__name__} has no explicit columns"
            if job.weighting is not None or not isinstance(job.reducer, SumReducer):
                return "a weighting needs the single similarities"
        return None

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """Predict the cost of collapsing the references, unless that is done, and of the queries' product."""
        total = 0.0
        for job in jobs:
            left = 0 if _SUMS in job.cache else prepared.n_rows
            width = _width(prepared, job) or 0
            total += collapsed_cost(left, prepared, width, _influence(job).entries_per_row)
            total += collapsed_cost(n_queries, prepared, width, job.reducer.width)
        return total

    def is_too_large(self, prepared: Prepared, jobs: Sequence[Job]) -> bool:
        """Whether the sums take too much memory for an automatic choice: words by labels may be gigabytes."""
        plain = sum(_bytes(prepared, job) for job in jobs)
        if plain <= limits().collapsed_bytes or not prepared.sparse:
            return plain > limits().collapsed_bytes
        cache = jobs[0].cache
        if _SHARED not in cache:
            cache[_SHARED] = n_shared_columns(prepared.X[:])
        numbers = cache[_SHARED] * sum(job.reducer.width for job in jobs)
        return bool(prepared.dtype.itemsize * numbers > limits().merged_bytes)

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Collapse the references."""
        reason = self.unsupported_reason(prepared, jobs)
        if reason is not None:
            raise ValueError(f"engine='collapsed' is not possible: {reason}.")
        for job in jobs:
            if _SUMS in job.cache:
                continue
            V, leaf = _influence(job).V, job.leaves[0]
            if prepared.sparse and _bytes(prepared, job) > limits().collapsed_bytes:
                V = dense_rows(V[:]).astype(np.float64, copy=False)
                job.cache[_SUMS] = MergedSums.of_references(leaf, prepared.X[:], V, prepared.dtype)
            else:
                none = CollapsedSums.empty(leaf, row_width(leaf.view(prepared.X[:1])), V.shape[1])
                job.cache[_SUMS] = none.added(prepared.X, V, self.memory_mib)

    def update_cache(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Add the pieces of references that are new, subtract those that are gone."""
        sums: CollapsedSums | MergedSums | None = old.cache.get(_SUMS)
        if not isinstance(sums, CollapsedSums) or new.reducer.width != old.reducer.width:
            return
        old_pieces, new_pieces = _pieces_of(before, old), _pieces_of(after, new)
        if old_pieces is None or new_pieces is None:
            return  # learned influence changes for every reference
        removed = [old_pieces[key] for key in old_pieces.keys() - new_pieces.keys()]
        came = [new_pieces[key] for key in new_pieces.keys() - old_pieces.keys()]
        if sum(n_rows(X) for X, _ in removed + came) > after.n_rows:
            return  # recomputing costs less
        for X, V in removed:
            sums = sums.added(X, V, self.memory_mib, sign=-1)
        for X, V in came:
            sums = sums.added(X, V, self.memory_mib)
        new.cache[_SUMS] = sums

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return the plan of one product."""
        widths = [_width(prepared, job) or 0 for job in jobs]
        entries = sum(width * job.reducer.width for width, job in zip(widths, jobs, strict=True))
        return Plan(
            f"exact sums, collapsed to {max(widths):,} columns",
            n_queries,
            prepared.n_rows,
            np.dtype(np.float64),
            queries=n_queries,
            references=0,
            parts=1,
            threads=1,
            memory=int(self.memory_mib * 2**20) + 8 * entries,
            operations=2.0 * entries * n_queries,
            reasons=("the sum over references is precomputed: their number does not matter",),
        )

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute one product for each block of queries."""
        if call.exclude is not None:
            return Exact(self.memory_mib, self.on_block).reduce(call)
        with limit_blas_threads(effective_jobs(call.n_jobs)):
            self.warm_up(call.prepared, call.jobs)
            sums = [job.cache[_SUMS].of(call.Q, self.memory_mib) for job in call.jobs]
        outputs = [each.astype(call.prepared.dtype, copy=False) for each in sums]
        check_finite_sums(outputs, call.jobs)
        return outputs


def _influence(job: Job) -> InfluenceColumns:
    assert isinstance(job.reducer, SumReducer)
    return job.reducer.influence


def _pieces_of(prepared: Prepared, job: Job) -> dict[tuple[int, int], tuple[Rows, Rows]] | None:
    """Return pieces of references and their influence, by their addresses: a piece never changes.

    None if the influence is not in the same pieces.
    """
    X_pieces, V_pieces = pieces(prepared.X), _influence(job).stack.pieces
    if len(X_pieces) != len(V_pieces):
        return None
    pairs = zip(X_pieces, V_pieces, strict=True)
    return {(id(X), (V.data if sp.issparse(V) else V).ctypes.data): (X, V) for X, V in pairs}


def _bytes(prepared: Prepared, job: Job) -> int:
    """Return the bytes of the sums, if each column has its own."""
    return 8 * (_width(prepared, job) or 0) * job.reducer.width


def _width(prepared: Prepared, job: Job) -> int | None:
    leaf = job.leaves[0]
    if getattr(leaf.similarity, "degree", 1) > 1 and prepared.sparse:
        return None  # products of all pairs of columns would not be sparse
    if not hasattr(prepared.X, "shape"):
        return None
    viewed = prepared.views[leaf.key] if leaf.key in prepared.views else leaf.view(prepared.X[:1])
    return leaf.similarity.expanded_width(row_width(viewed))


class Auto(Engine):
    """The exact engine with the lowest predicted cost, chosen for every call.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory used beyond inputs and outputs, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in total) after each block if pairs are visited.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.0, 1.0]] * 1000, [{"a"}, {"b"}] * 1000
    >>> print(str(SMLClassifier("linear", engine="auto").fit(X, y).plan_).splitlines()[0])
    exact sums, collapsed to 2 columns: 2,000 queries x 2,000 references, in float64
    """

    name = "auto"
    file_key = "engines.Auto"

    def choose(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], exclude: Exclude | None = None
    ) -> Engine:
        """Return the engine for a call."""
        exact = Exact(self.memory_mib, self.on_block)
        cached, most = jobs[0].cache.get(_PAIRS, (None, 0)) if len(jobs) == 1 else (None, 0)
        most = most if cached is prepared else 0
        if exclude is not None or most == np.inf:
            return exact
        collapsed = Collapsed(self.memory_mib, self.on_block)
        if all(_SUMS in job.cache for job in jobs):
            return collapsed  # it was chosen for many queries, and for few it is as cheap
        if n_queries <= most:
            return exact
        possible = collapsed.unsupported_reason(prepared, jobs) is None
        possible = possible and not collapsed.is_too_large(prepared, jobs)
        if possible and collapsed.cost(n_queries, prepared, jobs) < exact.cost(n_queries, prepared, jobs):
            return collapsed
        if len(jobs) == 1:
            jobs[0].cache[_PAIRS] = prepared, n_queries if possible else np.inf
        return exact

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Prepare what the engine for as many queries as references precomputes."""
        self.choose(prepared.n_rows, prepared, jobs).warm_up(prepared, jobs)

    def update_cache(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Update collapsed sums."""
        Collapsed(self.memory_mib).update_cache(before, old, after, new)

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return the plan of the chosen engine, and its gain."""
        chosen = self.choose(n_queries, prepared, jobs)
        plan = chosen.plan(n_queries, prepared, jobs, n_jobs)
        if isinstance(chosen, Collapsed):
            cost = chosen.cost(n_queries, prepared, jobs)
            if cost > 0:  # sparse rows without any entry cost nothing
                gain = Exact().cost(n_queries, prepared, jobs) / cost
                reason = f"chosen because visiting all pairs is predicted to take {gain:.2g} times as long"
                plan = replace(plan, reasons=(*plan.reasons, reason))
        return plan

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute the results with the chosen engine."""
        return self.choose(call.n_queries, call.prepared, call.jobs, call.exclude).reduce(call)


ENGINES: Registry[Engine] = Registry("engine", Engine, [Auto, Exact, Collapsed])


def resolve_engine(spec: Any) -> Engine:
    """Turn a name or an object into an engine, and check it."""
    engine = ENGINES.resolve(spec)
    engine.check()
    return engine
