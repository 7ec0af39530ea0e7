"""A similarity on some of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from simlabel._utils.rows import transformed
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows, check_numbers
from simlabel.normalizers import fit_normalizer, resolve_normalizer
from simlabel.similarities._base import Grid, Leaf, Similarity
from simlabel.similarities._composite import Composite


class ColumnView(BaseEstimator):
    """Select columns of the rows and normalize them."""

    file_key = "similarities.ColumnView"

    def __init__(self, columns: IntArray, normalizer: Any) -> None:
        self.columns = columns
        self.normalizer = normalizer

    def check(self) -> None:
        """Raise ValueError if the columns are not positions."""
        check_numbers("ColumnView", "columns", self.columns, (None,), kinds="iu", at_least=0)
        if self.normalizer is not None:
            self.normalizer.check()

    def __call__(self, X: Rows) -> Rows:
        part = X[:, self.columns]
        return part if self.normalizer is None else transformed(self.normalizer, part)


class OnColumns(Composite):
    """A similarity of some columns only, so that each kind of feature can have its own.

    Parameters
    ----------
    similarity : Similarity
        The similarity of these columns.
    columns : list of int, list of str, slice or mask
        The columns; names if X is a data frame.
    normalizer : None, str or transformer
        Normalization of these columns alone, fitted on the training rows. It comes after the
        classifier's own `normalizer`, which is best set to None then.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> from simlabel.similarities import RBF, Jaccard
    >>> both = OnColumns(RBF(1.0), [0], "zscore") + OnColumns(Jaccard(), [1, 2])
    >>> X = [[20.0, 1, 0], [31.0, 0, 1], [30.0, 0, 1]]
    >>> SMLClassifier(both, normalizer=None).fit(X, [{"a"}, {"b"}, {"b"}]).predict([[22.0, 1, 0]])
    [{'a'}]
    """

    name = "on_columns"
    file_key = "similarities.OnColumns"
    fitted_state = ("_view",)
    part_names = ("similarity",)
    nonnegative_input = False  # the columns are checked after their own normalization
    compares_objects = False

    def __init__(self, similarity: Similarity, columns: Any, normalizer: Any = None) -> None:
        self.similarity = similarity
        self.columns = columns
        self.normalizer = normalizer

    def check(self) -> None:
        """Raise if the similarity, the columns or the normalizer are invalid."""
        super().check()
        if self.similarity.form == "precomputed":
            raise ValueError("OnColumns: a Precomputed similarity has no columns to choose from.")
        resolve_normalizer(self.normalizer)
        if isinstance(getattr(self, "_view", None), ColumnView):
            self._view.check()

    def fit(
        self, X: Rows, feature_names: AnyArray | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Find the columns, and fit the normalizer and the similarity on them."""
        columns = column_indices(self.columns, X.shape[1], feature_names)
        normalizer = fit_normalizer(resolve_normalizer(self.normalizer), X[:, columns], sample_weight)
        fitted = clone(self)
        fitted._view = ColumnView(columns, normalizer)
        fitted.similarity = self.similarity.fit(fitted._view(X), None, sample_weight)
        return fitted

    def never_negative(self, rows: bool) -> bool:
        """Whether the similarity of the normalized columns is never negative."""
        own = resolve_normalizer(self.normalizer)
        return self.similarity.never_negative(rows if own is None else own.keeps_nonnegative(rows))

    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves, each reading these columns first."""
        return tuple(replace(leaf, views=(self._view, *leaf.views)) for leaf in self.similarity.leaves())

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """Combine the blocks of the similarity."""
        return self.similarity.assemble(blocks)

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Return candidates of the similarity, from these columns."""
        return super().grids(self._view(X), sample_weight, seed)


def column_indices(columns: Any, n_columns: int, feature_names: AnyArray | None) -> IntArray:
    """Resolve names, positions, a slice or a mask to positions; raise ValueError for missing columns."""
    if isinstance(columns, slice):
        return np.arange(n_columns)[columns]
    requested = np.asarray(columns)
    if requested.ndim != 1 or requested.size == 0:
        raise ValueError(f"OnColumns: columns must be a non-empty list, a slice or a mask, got {columns!r}.")
    if requested.dtype == bool:
        if len(requested) != n_columns:
            raise ValueError(
                f"OnColumns: the mask has {len(requested)} entries, but X has {n_columns} columns."
            )
        return np.flatnonzero(requested)
    if requested.dtype.kind in "UO":
        known = {} if feature_names is None else {name: i for i, name in enumerate(feature_names)}
        missing = [name for name in requested.tolist() if name not in known]
        if missing:
            have = list(known) if known else "no names (pass a data frame)"
            raise ValueError(f"OnColumns: no column named {missing[0]!r}; X has {have}.")
        return np.array([known[name] for name in requested.tolist()])
    outside = [int(c) for c in requested if not -n_columns <= c < n_columns]
    if outside:
        raise ValueError(f"OnColumns: column {outside[0]} is out of range; X has {n_columns} columns.")
    return requested % n_columns
