"""Copies: labeled instances that contradict each other, and test rows that are in the training set."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from simlabel._utils.advice import DataWarning, warn_user
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows, is_lazy, n_rows
from simlabel._utils.validation import AnyArray, IntArray, Rows
from simlabel.model._model import Model
from simlabel.ridge import Problem
from simlabel.sums import prepare

if TYPE_CHECKING:
    import pandas as pd

_MIN_COPIES, _MIN_SHARE = 10, 0.05  # copies, and their share of the rows: fewer hardly change a metric
_N_SAMPLED = 1000  # rows from which the entropy of columns is estimated


def contradicting_duplicates(problem: Problem, min_similarity: float) -> pd.DataFrame:
    """Return pairs of instances that are at least so similar and have different label sets.

    Parameters
    ----------
    min_similarity : float
        Similarity over the geometric mean of the two instances' similarities to themselves, so
        that 1 means equal for any similarity.

    Returns
    -------
    frame
        ``id``, ``other``, ``similarity``, and ``disagreement``: the share of the labels that either
        has which only one of them has; the greatest disagreement first.
    """
    import pandas as pd

    references, stages = problem.references, problem.stages
    prepared = prepare(references.X, [stages.similarity])
    own = stages.self_similarities(references.X)
    pairs = []
    for part in blocks(references.n_rows, max(1, limits().block_bytes // (8 * references.n_rows))):
        S = stages.similarities(references.X[part], prepared)
        S /= np.sqrt(np.maximum(own[part][:, None] * own[None, :], np.finfo(np.float64).tiny))
        rows, others = np.nonzero(np.triu(min_similarity <= S, k=part.start + 1))
        pairs.append((rows + part.start, others, S[rows, others]))
    one, other, strength = (np.concatenate(column) for column in zip(*pairs, strict=True))
    Y, U = references.imputed_Y, references.unknown
    both = np.asarray(Y[one].multiply(Y[other]).sum(axis=1)).ravel()
    sizes = np.diff(Y.indptr)
    either = sizes[one] + sizes[other] - both
    if U is not None:  # a label that one row has and that is unknown for the other is ignored
        unknown = Y[one].multiply(U[other]).sum(axis=1) + U[one].multiply(Y[other]).sum(axis=1)
        either = either - np.asarray(unknown).ravel()
    disagreement = np.divide(either - both, either, out=np.zeros(len(one)), where=either > 0)
    order = np.lexsort([-strength, -disagreement])
    order = order[disagreement[order] > 0]
    ids = references.ids
    columns = {"id": ids[one[order]], "other": ids[other[order]], "similarity": strength[order]}
    return pd.DataFrame({**columns, "disagreement": disagreement[order]})


def warn_about_duplicates(model: Model, X: Rows) -> None:
    """Warn if rows on which a model is evaluated are copies of rows that it was fitted on.

    Parameters
    ----------
    X : rows
        Checked queries.
    """
    references = model.scorer.references.X
    if is_lazy(references) or is_lazy(X) or model.columns is not None or not hasattr(references, "shape"):
        return  # rows that are not in memory are not read again for this
    known, queries = references[:], model.normalized(X)
    warn_about_leakage(known, sp.csr_array(queries) if sp.issparse(known) else queries)


def warn_about_leakage(train: Rows, test: Rows) -> None:
    """Warn if many rows of one matrix are rows of another, and chance does not explain it."""
    shared = int(np.isin(rounded_row_keys(test), rounded_row_keys(train)).sum())
    if shared < max(_MIN_COPIES, _MIN_SHARE * n_rows(test)) or _is_chance(train):
        return
    warn_user(
        f"{shared:,} of the {n_rows(test):,} rows that are evaluated are copies of training rows, so metrics "
        f"are optimistically biased: drop the copies, or keep them on one side of the split.",
        DataWarning,
    )


def rounded_row_keys(X: Rows) -> IntArray:
    """Return a hash of each row of a matrix, the same for equal rows, (n_rows,).

    The last digits do not count: in a normalized row they depend on how rows lie in memory.

    Examples
    --------
    >>> one, other, same = rounded_row_keys(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])).tolist()
    >>> one == same, one == other
    (True, False)
    """
    hashed: Iterable[int]
    if sp.issparse(X):
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        indices, values = X.indices.astype(np.int64), _without_last_digits(X.data)
        hashed = (hash((indices[a:b].tobytes(), values[a:b].tobytes())) for a, b in bounds)
    else:
        hashed = (hash(row.tobytes()) for row in _without_last_digits(np.ascontiguousarray(X)))
    return np.fromiter(hashed, np.int64, n_rows(X))


def _without_last_digits(values: AnyArray) -> IntArray:
    """Round the mantissas of numbers to 32 of 52 bits, and return them as integers."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.int64)
    return (bits + (1 << 19)) >> 20


def _is_chance(X: Rows) -> bool:
    """Return whether columns vary so little that equal rows are to be expected.

    If they were independent, two of n rows would be equal as soon as their entropies add up to less than
    2 log2(n) bits.
    """
    n = n_rows(X)
    some = dense_rows(X[np.linspace(0, n - 1, min(n, _N_SAMPLED)).astype(int)])
    bits = 0.0
    for column in some.T:
        shares = np.unique(column, return_counts=True)[1] / len(column)
        bits -= float(shares @ np.log2(shares))
        if bits >= 2.0 * np.log2(max(n, 2)):
            return False
    return True
