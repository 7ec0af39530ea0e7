"""Rows that `suggest` has picked, and that were taught then: they were not drawn as other rows are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import is_lazy
from simlabel._utils.validation import Rows
from simlabel.estimators._contract import FittedBase


class PickedMixin(FittedBase):
    """Remembers what was picked, and counts what of it was taught.

    Attributes
    ----------
    n_picked_ : int
        How many of the labelled rows were picked by `suggest`; it is there from the first on.
    """

    _suggested: set[bytes]
    n_picked_: int

    def _remember_picked(self, X: Rows) -> None:
        self.__dict__.setdefault("_suggested", set()).update(_digests(X))

    def _count_picked(self, X: Rows) -> None:
        known = getattr(self, "_suggested", None)
        if known and not is_lazy(X):
            picked = sum(digest in known for digest in _digests(X))
            if picked:
                self.n_picked_ = getattr(self, "n_picked_", 0) + picked


def _digests(X: Rows) -> Iterator[bytes]:
    """What tells a row from others, whatever its precision."""
    if sp.issparse(X):
        rows: Any = sp.csr_array(X, dtype=np.float32)
        for first, last in zip(rows.indptr[:-1], rows.indptr[1:], strict=True):
            yield rows.indices[first:last].astype(np.int64).tobytes() + rows.data[first:last].tobytes()
    elif isinstance(X, np.ndarray):
        yield from (row.tobytes() for row in np.ascontiguousarray(X, dtype=np.float32))
    else:
        yield from (repr(row).encode() for row in X)
