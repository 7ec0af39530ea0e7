"""The public one-liner over the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import n_rows
from simlabel._utils.threads import held_to
from simlabel._utils.validation import (
    FloatArray,
    Rows,
    check_finite,
    check_matrix,
    check_same_length,
    check_sparse,
)
from simlabel.similarities import SIMILARITIES, Similarity
from simlabel.sums._auto import resolve_engine
from simlabel.sums._contract import Job, ReduceCall
from simlabel.sums._prepared import prepare
from simlabel.sums._weightings import resolve_weighting
from simlabel.sums.reducers import Exclude, reducer_for


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
        phi, with all parameters given: nothing is tuned here.
    weighting : str, Weighting or callable, optional
        psi.
    exclude : array of int, (n_queries,), optional
        For each query a reference to leave out, -1 for none; ``np.arange(n)`` with Q = X is
        leave-one-out.
    engine : str or engine
        How; ``Exact(memory_mib=..., on_block=...)`` bounds the memory and tells progress.
    n_jobs : int, optional
        Threads; None for all cores.

    Returns
    -------
    array, (n_queries, n_columns)
        float32 where Q and X are float32 and keep their digits in it, else float64.

    See Also
    --------
    SMLClassifier.label_weights : The same sum with labels, after normalization.
    simlabel.sums.Exact : Its settings: memory, blocks.

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
    _check_resolved(phi)
    if psi is not None:
        psi.check()
    Q, X = _check_pair(Q, X, phi)
    V = _check_contributions(V)
    n_references = Q.shape[1] if phi.form == "precomputed" else n_rows(X)
    check_same_length(n_references, V, "V")
    own = _check_exclude(exclude, n_rows(Q), n_references)
    with held_to(n_jobs):
        phi = phi.fit(X)
        job = Job(phi, psi, reducer_for(psi, V))
        call = ReduceCall(Q, prepare(X, [phi]), [job], own, n_jobs=n_jobs)
        return resolve_engine(engine).reduce(call)[0]


def _check_resolved(similarity: Similarity) -> None:
    auto = similarity.open_parameters
    if auto:
        raise ValueError(
            f"similarity_sums tunes nothing: give {auto[0]} of {similarity!r} a value, or use SMLClassifier."
        )


def _check_contributions(V: Any) -> Rows:
    """What each reference contributes: finite numbers, in the precision in which they came."""
    try:
        V = V if sp.issparse(V) else np.asarray(V, None if hasattr(V, "dtype") else np.float64)
    except (TypeError, ValueError):
        V = np.array("")  # something else than numbers, or rows that differ in length
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
    """Whether X is a list of objects for a function, not a matrix of numbers."""
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
