"""Influence without learning: every reference alike, or every label alike."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import pieces, stacked
from simlabel.ridge._base import Influence, Problem, Solved


class Uniform(Influence):
    """The paper's: every reference that has a label contributes its similarity.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", influence=Uniform(), normalizer=None)
    >>> model.fit([[1.0], [2.0]], [{"a"}, {"a", "b"}]).label_weights([[1.0]])
    array([[3., 2.]])
    """

    name = "uniform"
    file_key = "influence.Uniform"

    def solve(self, problem: Problem) -> Solved:
        """The label rows, weighted."""
        return Solved(problem.rows)


class LabelMean(Influence):
    """Each label's sum divided by the number of references that have it, so that rare labels can win.

    Set sizes are summed as they are.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", influence="label_mean", normalizer=None)
    >>> model.fit([[1.0], [2.0]], [{"a"}, {"a", "b"}]).label_weights([[1.0]])
    array([[1.5, 2. ]])
    """

    name = "label_mean"
    file_key = "influence.LabelMean"

    def solve(self, problem: Problem) -> Solved:
        """The label rows, weighted, over the weight of each label."""
        V, n_labels = problem.rows, problem.references.n_labels
        counts = np.sum([np.asarray(piece.sum(axis=0)).ravel() for piece in pieces(V)], axis=0)
        counts[n_labels:] = 1.0
        counts[counts == 0] = 1.0  # a label that nobody has keeps its zero
        scaled = [sp.csr_array(piece.multiply(1.0 / counts[None, :])) for piece in pieces(V)]
        return Solved(stacked(scaled), scale=counts)
