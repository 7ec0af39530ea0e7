"""Size of the intersection over size of the union."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import SMALLER, set_sums, sums_of_minima, weighted_set_sums
from simlabel._utils.validation import FloatArray, Rows, check_flag
from simlabel.similarities._base import Form, View
from simlabel.similarities._coordinate import CoordinateSimilarity


def present(X: Rows) -> Rows:
    """1 where a feature is not zero."""
    if sp.issparse(X):
        X = X.copy()
        X.eliminate_zeros()
        X.data = np.ones_like(X.data)
        return X
    return (X != 0).astype(X.dtype)


class Jaccard(CoordinateSimilarity):
    """``|x and z| / |x or z|``, for sets (0/1 features) and weighted sets (features >= 0).

    Parameters
    ----------
    weighted : bool
        True: sum of minima over sum of maxima, which on 0/1 features is the same as False.
        False: a feature is present or not, whatever its value; this reads inner products only,
        which is far quicker on sparse sets.

    Notes
    -----
    Two empty rows have similarity 0: they share nothing.

    See Also
    --------
    ChiSquare : For counts and histograms.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1, 1, 0]], [[1, 0, 0], [1, 1, 0]], [[1.0], [1.0]], Jaccard())
    array([[1.5]])
    """

    name = "jaccard"
    file_key = "similarities.Jaccard"
    positive_definite = True
    nonnegative_input = True
    sums = staticmethod(sums_of_minima)
    common_term = SMALLER

    def __init__(self, weighted: bool = True) -> None:
        self.weighted = weighted

    def check(self) -> None:
        """Raise ValueError where `weighted` is neither True nor False."""
        check_flag("Jaccard", "weighted", self.weighted)

    @property
    def form(self) -> Form:  # type: ignore[override]
        """Sets need inner products, weighted sets need minima."""
        return "coordinate" if self.weighted else "dot"

    @property
    def sums_in_panels(self) -> Callable[..., None]:  # type: ignore[override]
        """Likewise."""
        return weighted_set_sums if self.weighted else set_sums

    @property
    def statistic_key(self) -> Hashable:
        """Inner products where they are enough."""
        return super().statistic_key if self.weighted else self.form

    def views(self) -> tuple[View, ...]:
        """Sets are 0/1 rows."""
        return () if self.weighted else (present,)

    def never_negative(self, rows: bool) -> bool:
        """A share of a union."""
        return True

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """0: sets with nothing in common are not alike."""
        return np.zeros(len(side))

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Intersections to similarities; the sides are the sizes of the sets."""
        union = (q_side[:, None] + x_side[None, :]).astype(T.dtype, copy=False)
        union -= T
        return np.divide(T, union, out=np.zeros_like(T), where=union > 0)
