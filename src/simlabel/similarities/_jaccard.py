"""Size of the intersection over size of the union."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import SMALLER, set_sums, sums_of_minima, weighted_set_sums
from simlabel._utils.validation import FloatArray, Rows, check_flag
from simlabel.similarities._base import CoordinateSimilarity, Form, RowView


def present(X: Rows) -> Rows:
    """Return 1 where a feature is not zero."""
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
        True: sum of minima over sum of maxima, which equals False on 0/1 features.
        False: a feature is present or absent, whatever its value; this needs inner products only,
        which is much faster on sparse sets.

    Notes
    -----
    Two empty rows have similarity 0.

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
        """Raise if `weighted` is neither True nor False."""
        check_flag("Jaccard", "weighted", self.weighted)

    @property
    def form(self) -> Form:  # type: ignore[override]
        """Inner products for sets, minima for weighted sets."""
        return "coordinate" if self.weighted else "dot"

    @property
    def sums_in_panels(self) -> Callable[..., None]:  # type: ignore[override]
        """The kernel of weighted sets or sets."""
        return weighted_set_sums if self.weighted else set_sums

    @property
    def statistic_key(self) -> Hashable:
        """Identify the statistic: inner products for sets."""
        return super().statistic_key if self.weighted else self.form

    @property
    def views(self) -> tuple[RowView, ...]:  # type: ignore[override]
        """The conversion to 0/1 rows for sets."""
        return () if self.weighted else (present,)

    def never_negative(self, rows: bool) -> bool:
        """Return True: it is a share of a union."""
        return True

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """Return 0, the similarity of disjoint sets."""
        return np.zeros(len(side))

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Turn sizes of intersections into similarities; the sides are the sizes of the sets."""
        union = (q_side[:, None] + x_side[None, :]).astype(T.dtype, copy=False)
        union -= T
        return np.divide(T, union, out=np.zeros_like(T), where=union > 0)
