"""The choice of an engine, and the public function for sums of similarities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.registry import Registry
from simlabel._utils.rows import n_rows
from simlabel._utils.threads import limit_n_jobs
from simlabel._utils.validation import (
    FloatArray,
    Rows,
    check_finite,
    check_matrix,
    check_same_length,
    check_sparse,
)
from simlabel.similarities import SIMILARITIES, Similarity
from simlabel.sums._base import DEFAULT_MEMORY_MIB, Engine, Job, PairProgress, Plan, ReduceCall
from simlabel.sums._collapsed import Collapsed
from simlabel.sums._pairs import Exact
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._reducers import Exclude, reducer_for
from simlabel.sums._weightings import resolve_weighting

_PAIRS = "pairs"  # key of a job's cache: for which references and up to how many queries pairs are cheapest


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

    def __init__(self, memory_mib: float = DEFAULT_MEMORY_MIB, on_block: PairProgress | None = None) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block

    def choose(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], exclude: Exclude | None = None
    ) -> Engine:
        """Return the engine for a call."""
        exact = Exact(self.memory_mib, self.on_block)
        known, most = jobs[0].cache.get(_PAIRS, (None, 0)) if len(jobs) == 1 else (None, 0)
        if exclude is not None or (known is prepared and most == np.inf):
            return exact
        collapsed = Collapsed(self.memory_mib, self.on_block)
        if collapsed.is_collapsed(jobs):
            return collapsed  # it was chosen for many queries, and for few it is as cheap
        if known is prepared and n_queries <= most:
            return exact
        possible = collapsed.unsupported_reason(prepared, jobs) is None and not collapsed.is_too_large(
            prepared, jobs
        )
        if possible and collapsed.cost(n_queries, prepared, jobs) < exact.cost(n_queries, prepared, jobs):
            return collapsed
        if len(jobs) == 1:
            jobs[0].cache[_PAIRS] = prepared, n_queries if possible else np.inf
        return exact

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Prepare what the engine for as many queries as references precomputes."""
        self.choose(prepared.n_rows, prepared, jobs).warm_up(prepared, jobs)

    def carry(self, before: Prepared, old: Job, after: Prepared, new: Job) -> None:
        """Update collapsed sums."""
        Collapsed(self.memory_mib).carry(before, old, after, new)

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


def similarity_sums(
    Q: Any,
    X: Any,
    V: Any,
    similarity: Any = "linear",
    *,
    weighting: Any = None,
    exclude: Any = None,
    engine: Any = "auto",
    n_jobs: int | None = None,
) -> FloatArray:
    """Sum psi(phi(q, x_j)) * v_j over all references j, for every query q.

    Parameters
    ----------
    Q : array, sparse or list of objects, (n_queries, n_features)
        Queries.
    X : array, sparse or list of objects, (n_references, n_features)
        References.
    V : array or sparse, (n_references, n_columns)
        What each reference contributes per unit of similarity: a row of labels, a weight.
    similarity : str, Similarity or callable
        phi, with all parameters set: nothing is tuned here.
    weighting : str, Weighting or callable, optional
        psi.
    exclude : array of int, (n_queries,), optional
        For each query the reference to leave out, -1 for none; ``np.arange(n)`` with Q = X is
        leave-one-out.
    engine : str or engine
        The way of summing; ``Exact(memory_mib=..., on_block=...)`` bounds the memory and reports progress.
    n_jobs : int, optional
        Threads; None for all cores.

    Returns
    -------
    array, (n_queries, n_columns)
        float32 if Q and X are float32 and the sums are accurate in it, else float64.

    See Also
    --------
    SMLClassifier.label_weights : The same sum with labels, after normalization.
    simlabel.sums.Exact : Bound on memory, progress.

    Examples
    --------
    >>> from simlabel.similarities import RBF
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> Y = [[1, 0], [0, 1], [0, 1]]
    >>> similarity_sums([[1.0, 0.0]], X, Y, RBF(gamma=1.0)).round(3)
    array([[0.135, 1.99 ]])
    """
    phi = SIMILARITIES.resolve(similarity)
    psi = resolve_weighting(weighting)
    phi.check()
    if phi.auto_parameters:
        raise ValueError(
            f"similarity_sums tunes nothing: give {phi.auto_parameters[0]} of {phi!r} a value, or use "
            f"SMLClassifier."
        )
    if psi is not None:
        psi.check()
    Q, X = _check_pair(Q, X, phi)
    V = _check_contributions(V)
    n_references = Q.shape[1] if phi.form == "precomputed" else n_rows(X)
    check_same_length(n_references, V, "V")
    own = _check_exclude(exclude, n_rows(Q), n_references)
    with limit_n_jobs(n_jobs):
        phi = phi.fit(X)
        job = Job(phi, psi, reducer_for(psi, V))
        call = ReduceCall(Q, prepare(X, [phi]), [job], own, n_jobs=n_jobs)
        return resolve_engine(engine).reduce(call)[0]


def _check_contributions(V: Any) -> Rows:
    """Return V as finite numbers, in their own precision."""
    try:
        V = V if sp.issparse(V) else np.asarray(V, None if hasattr(V, "dtype") else np.float64)
    except (TypeError, ValueError):
        V = np.array("")  # not numbers, or rows of different lengths
    if V.dtype.kind not in "biuf":
        raise ValueError("V must be a matrix of real numbers, (n_references, n_columns).")
    if V.ndim != 2:
        raise ValueError(f"V must be two-dimensional, (n_references, n_columns); got shape {V.shape}.")
    V = check_sparse(V, "V") if sp.issparse(V) else V
    check_finite(V, "V")
    return V


def _check_pair(Q: Any, X: Any, similarity: Similarity) -> tuple[Rows, Rows]:
    if is_objects(X, similarity):
        return list(Q), list(X)
    Q, X = check_matrix(Q, "Q"), check_matrix(X, "X")
    if Q.dtype != X.dtype:
        Q, X = Q.astype(np.float64, copy=False), X.astype(np.float64, copy=False)
    if Q.shape[1] != (X.shape[0] if similarity.form == "precomputed" else X.shape[1]):
        raise ValueError(f"Q has {Q.shape[1]} features but X has {X.shape[1]}.")
    return Q, X


def is_objects(X: Any, similarity: Similarity) -> bool:
    """Whether X is a list of objects for a Python function, not a matrix of numbers."""
    if not similarity.compares_objects or sp.issparse(X) or hasattr(X, "columns"):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim == 1
    rows = list(X)
    try:
        return np.asarray(rows[:1], dtype=np.float64).ndim != 2
    except (TypeError, ValueError):
        return True


def _check_exclude(exclude: Any, n_queries: int, n_references: int) -> Exclude | None:
    if exclude is None:
        return None
    own = np.asarray(exclude)
    if (
        own.shape != (n_queries,)
        or own.dtype.kind not in "iu"
        or (own >= n_references).any()
        or (own < -1).any()
    ):
        raise ValueError(
            f"exclude must hold for each of the {n_queries} queries a reference between 0 and "
            f"{n_references - 1}, or -1; got {own.dtype} of shape {own.shape}."
        )
    return Exclude(own.astype(np.int64), np.zeros(n_queries))
