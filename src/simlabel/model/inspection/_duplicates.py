"""Instances that are almost the same but for their labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel.ridge import Problem
from simlabel.sums import prepare

if TYPE_CHECKING:
    import pandas as pd


def contradicting_duplicates(problem: Problem, least: float) -> pd.DataFrame:
    """Pairs of instances that are at least so similar and have different label sets.

    Parameters
    ----------
    least : float
        Similarity over the geometric mean of the two instances' similarities to themselves, so
        that 1 means the same, whatever the similarity.

    Returns
    -------
    frame
        ``id``, ``other``, ``similarity``, and ``disagreement``: the share of the labels that either
        has which only one of them has; the greatest disagreement first.
    """
    import pandas as pd

    references, stages = problem.references, problem.stages
    prepared = prepare(references.X, [stages.similarity])
    own = stages.own_similarities(references.X)
    pairs = []
    for part in blocks(references.n_rows, max(1, limits().block_bytes // (8 * references.n_rows))):
        S = stages.similarities(references.X[part], prepared)
        S /= np.sqrt(np.maximum(own[part][:, None] * own[None, :], np.finfo(np.float64).tiny))
        rows, others = np.nonzero(np.triu(least <= S, k=part.start + 1))
        pairs.append((rows + part.start, others, S[rows, others]))
    one, other, strength = (np.concatenate(column) for column in zip(*pairs, strict=True))
    Y, U = references.settled_Y, references.unknown
    both = np.asarray(Y[one].multiply(Y[other]).sum(axis=1)).ravel()
    sizes = np.diff(Y.indptr)
    either = sizes[one] + sizes[other] - both
    if U is not None:  # a label that one has and of which it is unknown whether the other has it says nothing
        open_ = Y[one].multiply(U[other]).sum(axis=1) + U[one].multiply(Y[other]).sum(axis=1)
        either = either - np.asarray(open_).ravel()
    disagreement = np.divide(either - both, either, out=np.zeros(len(one)), where=either > 0)
    order = np.lexsort([-strength, -disagreement])
    order = order[disagreement[order] > 0]
    ids = references.ids
    columns = {"id": ids[one[order]], "other": ids[other[order]], "similarity": strength[order]}
    return pd.DataFrame({**columns, "disagreement": disagreement[order]})
