"""What speaks for a label of a row: several left-out scores of it, and the row's other labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray, IntArray

_PENALTY = 10.0  # rows that it takes to move a score away from the plain mean
_HEARD = 20  # other labels of a row, at most: those that go most often with the one that is asked for


@dataclass(frozen=True)
class Given:
    """What the rows of a model were given: labels, weights, and where the labels are known.

    Attributes
    ----------
    Y : 0/1 array, (n_rows, n_labels)
    weights : array, (n_rows,)
    known : array of bool, (n_rows, n_labels)
    """

    Y: FloatArray
    weights: FloatArray
    known: npt.NDArray[np.bool_]

    @property
    def above_mean(self) -> FloatArray:
        """Labels less their share of the rows that they are known of; 0 where they are not."""
        W = self.weights[:, None] * self.known
        whole = W.sum(axis=0)
        mean = np.divide((W * self.Y).sum(axis=0), whole, out=np.zeros(len(whole)), where=whole > 0)
        return np.asarray(np.where(self.known, self.Y - mean, 0.0))


def heard_together(views: Sequence[FloatArray], given: Given) -> FloatArray:
    """Left-out scores of every label of every row, (n_rows, n_labels), from several, and the other labels.

    What the mean of the `views` leaves over of a label is learnt, by ridge regression, from each of them and
    from the row's other labels; a row is left out of the regression that tells of it. Only labels that go
    together are heard: a label that speaks against another would vouch for the error where one was given in
    place of the other, since each of the two then explains that the other is as it is.

    Parameters
    ----------
    views : list of array, (n_rows, n_labels)
        Scores on the scale of 0 and 1, with the row itself left out.
    given : Given
    """
    centre, E = np.mean(views, axis=0), given.above_mean
    residuals = np.where(given.known, given.Y - centre, 0.0)
    W = given.weights[:, None]
    length = np.sqrt((W * E**2).sum(axis=0))
    together = np.divide(
        (W * E).T @ residuals, length[:, None], out=np.zeros((E.shape[1],) * 2), where=length[:, None] > 0
    )
    np.fill_diagonal(together, -np.inf)
    heard = np.empty(centre.shape)
    for k in range(E.shape[1]):
        own = np.column_stack([view[:, k] for view in views])
        first = np.argsort(-together[:, k], kind="stable")[:_HEARD]
        rest = _Rest(own - own.mean(axis=0), residuals[:, k], given.weights * given.known[:, k])
        heard[:, k] = centre[:, k] + rest.left_out(E, first[together[first, k] > 0])
    return heard


@dataclass(frozen=True)
class _Rest:
    """What the mean of the scores of one label leaves over, to be learnt.

    Attributes
    ----------
    own : array, (n_rows, n_views)
    residuals, weights : array, (n_rows,)
    """

    own: FloatArray
    residuals: FloatArray
    weights: FloatArray

    def left_out(self, E: FloatArray, heard: IntArray) -> FloatArray:
        """What is to be added to the mean of the scores, each row left out, (n_rows,)."""
        while True:
            A = np.column_stack([self.own, E[:, heard]])
            weighted = A * self.weights[:, None]
            G = np.linalg.inv(weighted.T @ A + _PENALTY * np.eye(A.shape[1]))
            b = G @ (weighted.T @ self.residuals)
            together = b[self.own.shape[1] :] >= 0
            if together.all():
                break
            heard = heard[together]
        leverage = np.minimum(self.weights, 1.0) * ((A @ G) * A).sum(axis=1)
        return np.asarray((A @ b - leverage * self.residuals) / (1.0 - leverage))
