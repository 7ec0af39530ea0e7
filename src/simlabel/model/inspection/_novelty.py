"""Instances unlike anything seen: their whole similarity is less than that of labelled ones left out."""

from __future__ import annotations

import numpy as np

from simlabel._utils.validation import FloatArray, Rows
from simlabel.model._scorer import Scorer
from simlabel.model._totals import total_similarity


def novelty(scorer: Scorer, Q: Rows, typical: FloatArray) -> FloatArray:
    """Share of the labelled instances that are more at home among the others than each query is.

    Parameters
    ----------
    Q : rows, (n_queries, n_features)
        Normalized.
    typical : array
        From `Model.typical_totals`.

    Returns
    -------
    array, (n_queries,)
        0: as usual as can be; 1: less similar to all than any labelled instance is.
    """
    above = len(typical) - np.searchsorted(typical, total_similarity(scorer, Q, None), side="right")
    return above / len(typical)
