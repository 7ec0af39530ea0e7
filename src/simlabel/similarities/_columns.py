"""A similarity on some of the columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from simlabel._utils.rows import transformed
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_numbers
from simlabel.normalizers import fit_normalizer, resolve_normalizer
from simlabel.similarities._base import Grid, Leaf, Names, Similarity
from simlabel.similarities._composite import Around


class ColumnView(BaseEstimator):
    """Some columns of the rows, normalized on their own."""

    file_key = "similarities.ColumnView"

    def __init__(self, columns: IntArray, normalizer: Any) -> None:
        self.columns = columns
        self.normalizer = normalizer

    def check(self) -> None:
        """Raise ValueError where the columns are no positions."""
        check_numbers("ColumnView", "columns", self.columns, (None,), kinds="iu", at_least=0)
        if self.normalizer is not None:
            self.normalizer.check()

    def __call__(self, X: Rows) -> Rows:
        part = X[:, self.columns]
        return part if self.normalizer is None else transformed(self.normalizer, part)


class OnColumns(Around):
    """A similarity that sees only some columns, so that each kind of feature can have its own.

    Parameters
    ----------
    similarity : Similarity
        What compares those columns.
    columns : list of int, list of str, slice or mask
        Which ones; names where X is a data frame.
    normalizer : None, str or transformer
        Normalization of these columns alone, fitted on the training rows. It comes after the
        classifier's own `normalizer`, which is best set to None beside this.

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

    def __init__(self, similarity: Similarity, columns: Any, normalizer: Any = None) -> None:
        self.similarity = similarity
        self.columns = columns
        self.normalizer = normalizer

    def check(self) -> None:
        """Raise where a part is not what it should be."""
        super().check()
        if self.similarity.form == "precomputed":
            raise ValueError("OnColumns: a Precomputed similarity has no columns to choose from.")
        resolve_normalizer(self.normalizer)
        if isinstance(getattr(self, "_view", None), ColumnView):
            self._view.check()

    def fit(
        self, X: Rows, feature_names: Names | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Find the columns, and fit the normalizer and the similarity inside on them."""
        columns = column_indices(self.columns, X.shape[1], feature_names)
        normalizer = fit_normalizer(resolve_normalizer(self.normalizer), X[:, columns], sample_weight)
        fitted = clone(self)
        fitted._view = ColumnView(columns, normalizer)
        fitted.similarity = self.similarity.fit(fitted._view(X), None, sample_weight)
        return fitted

    def never_negative(self, rows: bool) -> bool:
        """As the similarity inside, for the columns as it sees them."""
        own = resolve_normalizer(self.normalizer)
        return super().never_negative(rows if own is None else own.keeps_nonnegative(rows))

    def leaves(self) -> tuple[Leaf, ...]:
        """The parts inside, each reading these columns first."""
        return tuple(replace(leaf, views=(self._view, *leaf.views)) for leaf in self.similarity.leaves())

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Candidates of the similarity inside, from these columns."""
        return super().grids(self._view(X), sample_weight, seed)


def column_indices(columns: Any, n_columns: int, feature_names: Names | None) -> IntArray:
    """Resolve names, positions, a slice or a mask to positions, and refuse what is not there."""
    if isinstance(columns, slice):
        return np.arange(n_columns)[columns]
    wanted = np.asarray(columns)
    if wanted.ndim != 1 or wanted.size == 0:
        raise ValueError(f"OnColumns: columns must be a non-empty list, a slice or a mask, got {columns!r}.")
    if wanted.dtype == bool:
        if len(wanted) != n_columns:
            raise ValueError(f"OnColumns: the mask has {len(wanted)} entries, but X has {n_columns} columns.")
        return np.flatnonzero(wanted)
    if wanted.dtype.kind in "UO":
        known = {} if feature_names is None else {name: i for i, name in enumerate(feature_names)}
        missing = [name for name in wanted.tolist() if name not in known]
        if missing:
            have = list(known) if known else "no names (give a data frame)"
            raise ValueError(f"OnColumns: no column named {missing[0]!r}; X has {have}.")
        return np.array([known[name] for name in wanted.tolist()])
    outside = [int(c) for c in wanted if not -n_columns <= c < n_columns]
    if outside:
        raise ValueError(f"OnColumns: column {outside[0]} is not there; X has {n_columns} columns.")
    return wanted % n_columns
