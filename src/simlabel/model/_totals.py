"""Similarity to all references together, whatever their labels."""

from __future__ import annotations

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import spaced_rows, take_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.model._leave_one_out import own_entries
from simlabel.model._scorer import Scorer
from simlabel.sums import Exclude, Job, ReduceCall, prepare, reducer_for


def total_similarity(scorer: Scorer, Q: Rows, exclude: Exclude | None) -> FloatArray:
    """Similarity to all references together, under the weighting, (n_queries,)."""
    references = scorer.references
    V = references.weights[:, None].astype(np.float64)
    stages = scorer.stages
    reducer = reducer_for(stages.weighting, V, references.weights)
    job = Job(stages.similarity, stages.weighting, reducer)
    summed = scorer.prepared if scorer.solved.used is None else prepare(references.X, [stages.similarity])
    call = ReduceCall(Q, summed, [job], exclude, n_jobs=stages.n_jobs)
    return stages.by_pairs.reduce(call)[0][:, 0]


def typical_totals(scorer: Scorer) -> FloatArray:
    """Sorted totals of labelled instances, each left out of its own; of many, some."""
    references = scorer.references
    rows = spaced_rows(references.order, limits().compared_rows)
    exclude = own_entries(rows, references)
    return np.sort(total_similarity(scorer, take_rows(references.X, rows), exclude))
