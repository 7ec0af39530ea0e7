"""Influence without learning: every reference alike, or every label alike."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.rows import group_sums, pieces, stacked
from simlabel._utils.validation import FloatArray
from simlabel.ridge._base import Influence, Problem, Solved
from simlabel.ridge._known import one_copy


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


class Rescaling:
    """Sums that were divided by counts: without the row, or its group, there is less to divide by.

    Parameters
    ----------
    problem : Problem
    scale : array, (n_labels + n_sizes,), or None
        The counts; None for sums that were not divided.
    """

    def __init__(self, problem: Problem, scale: FloatArray | None) -> None:
        self.scale, references = scale, problem.references
        self.recorded = problem.stages.recorded
        if scale is None:
            return
        self.Y, self.groups, self.count = (
            references.settled_Y,
            references.groups,
            scale[: references.n_labels],
        )
        if self.groups is None:  # one copy of the row goes
            self.gone = one_copy(references.weights, problem.stages.scales)
        else:
            self.gone = group_sums(self.groups, problem.stands_for, self.Y)

    def __call__(self, labels: FloatArray, rows: npt.NDArray[np.integer]) -> FloatArray:
        """Sums of some references, (n_rows, n_labels), each left out of its own."""
        if self.scale is None:
            return labels
        if self.groups is None:
            gone = self.Y[rows].toarray() * self.gone[rows, None]
        else:
            gone = self.gone[self.groups[rows]].toarray()
        if self.recorded is not None:
            gone = gone / self.recorded
        rest = self.count - gone
        return np.divide(labels * self.count, rest, out=np.zeros_like(labels), where=rest > 1e-9 * self.count)
