"""The public function for sums of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import is_objects, n_rows
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
from simlabel.sums._base import Job, ReduceCall
from simlabel.sums._collapsed import resolve_engine
from simlabel.sums._prepared import prepare
from simlabel.sums._reducers import Exclude, reducer_for
from simlabel.sums._weightings import WEIGHTINGS


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
    psi = None if weighting is None else WEIGHTINGS.resolve(weighting)
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
    if similarity.compares_objects and is_objects(X):
        return list(Q), list(X)
    Q, X = check_matrix(Q, "Q"), check_matrix(X, "X")
    if Q.dtype != X.dtype:
        Q, X = Q.astype(np.float64, copy=False), X.astype(np.float64, copy=False)
    if Q.shape[1] != (X.shape[0] if similarity.form == "precomputed" else X.shape[1]):
        raise ValueError(f"Q has {Q.shape[1]} features but X has {X.shape[1]}.")
    return Q, X


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
