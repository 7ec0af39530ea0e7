"""Unknown labels: how y states them, and how they are stored."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import BoolArray, IntArray


class PartialLabels:
    """A row of y with unknown labels.

    A label in neither set is unknown in this row, including labels that are added later.

    Parameters
    ----------
    present, absent : set or other iterable of labels
        Labels that the row is known to have, and known not to have.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
    >>> y = [{"sea", "sunset"}, PartialLabels({"sea"}), PartialLabels({"trees"}, absent={"sea"})]
    >>> sorted(SMLClassifier("linear").fit(X, y).predict([[1.0, 0.1]])[0])
    ['sea', 'sunset']
    """

    __slots__ = ("absent", "present")

    def __init__(self, present: Iterable[Hashable] = (), absent: Iterable[Hashable] = ()) -> None:
        self.present, self.absent = _names(present, "present"), _names(absent, "absent")
        both = self.present & self.absent
        if both:
            raise ValueError(f"PartialLabels: {next(iter(both))!r} is both present and absent: list it once.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PartialLabels) and (self.present, self.absent) == (
            other.present,
            other.absent,
        )

    def __hash__(self) -> int:
        return hash((self.present, self.absent))

    def __repr__(self) -> str:
        return f"PartialLabels({set(self.present) or '()'}, absent={set(self.absent) or '()'})"


def _names(labels: Any, which: str) -> frozenset[Hashable]:
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise TypeError(
            f"PartialLabels: {which} must be a set of labels, got {labels!r}; write {{{labels!r}}}."
        )
    try:
        return frozenset(labels)
    except TypeError:
        raise TypeError(f"PartialLabels: {which} holds an unhashable value: {labels!r}.") from None


class MaskedIndicator:
    """A sparse y with unknown entries.

    Parameters
    ----------
    true, known : sparse of 0/1, (n_rows, n_labels)
        Labels of each row, and the entries that are known.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from simlabel import SMLClassifier
    >>> true, known = sp.csr_array([[1, 0], [0, 1], [1, 0]]), sp.csr_array([[1, 1], [0, 1], [1, 1]])
    >>> X = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]
    >>> SMLClassifier("linear").fit(X, MaskedIndicator(true, known)).predict([[1.0, 0.0]]).toarray()
    array([[1, 0]])
    """

    def __init__(self, true: Any, known: Any) -> None:
        if not (sp.issparse(true) and sp.issparse(known)):
            raise TypeError(
                f"MaskedIndicator takes two sparse matrices, got {type(true).__name__} and "
                f"{type(known).__name__}. In a dense array unknown entries are NaN, or masked."
            )
        if true.shape != known.shape:
            raise ValueError(f"MaskedIndicator: true has shape {true.shape}, but known has {known.shape}.")
        self.true, self.known = true, known

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_labels)."""
        return (int(self.true.shape[0]), int(self.true.shape[1]))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> MaskedIndicator:
        """Select rows, as splitters do."""
        return MaskedIndicator(sp.csr_array(self.true)[rows], sp.csr_array(self.known)[rows])


class UnknownLabels:
    """Unknown entries of an indicator.

    Parameters
    ----------
    entries : csr_array of ones, (n_rows, n_labels)
        The unknown entries, sorted; the indicator is 0 there.
    open_rows : array of bool, (n_rows,)
        Rows in which labels added later are unknown too.
    """

    def __init__(self, entries: sp.csr_array, open_rows: BoolArray) -> None:
        self.entries, self.open_rows = entries, open_rows

    @property
    def complete(self) -> BoolArray:
        """Mask of rows without unknown entries, (n_rows,)."""
        return np.diff(self.entries.indptr) == 0

    def part(self, rows: Any) -> UnknownLabels | None:
        """Select rows; None if they are and stay fully known."""
        return _unless_known(sp.csr_array(self.entries[rows]), self.open_rows[rows])

    def moved(self, places: IntArray, n_labels: int) -> UnknownLabels:
        """Move label k to column places[k] of `n_labels`."""
        old = self.entries
        if old.shape[1] == n_labels and np.array_equal(places, np.arange(n_labels)):
            return self
        rows = np.repeat(np.arange(old.shape[0]), np.diff(old.indptr))
        new = np.setdiff1d(np.arange(n_labels), places)
        later = np.flatnonzero(self.open_rows)
        return UnknownLabels(
            ones_at(
                np.concatenate([rows, np.repeat(later, len(new))]),
                np.concatenate([places[old.indices], np.tile(new, len(later))]),
                (old.shape[0], n_labels),
            ),
            self.open_rows,
        )

    def imputed(
        self, Y: sp.csr_array, constant: npt.NDArray[np.int8]
    ) -> tuple[sp.csr_array, UnknownLabels | None]:
        """Set unknown entries of constant labels to the constant; return Y and the remaining unknown.

        Parameters
        ----------
        constant : array, (n_labels,)
            See `constant_labels`.
        """
        columns, n = self.entries.indices, self.entries.shape[0]
        which, rows = constant[columns], np.repeat(np.arange(n), np.diff(self.entries.indptr))
        present = ones_at(rows[which > 0], columns[which > 0], self.entries.shape)
        Y = sp.csr_array(Y + present, dtype=np.int8)
        Y.sort_indices()
        rest = ones_at(rows[which == 0], columns[which == 0], self.entries.shape)
        return Y, _unless_known(rest, self.open_rows)

    def named(self) -> BoolArray:
        """Mask of labels that some open row names, (n_labels,)."""
        of_open = self.entries[np.flatnonzero(self.open_rows)]
        counts = np.bincount(of_open.indices, minlength=of_open.shape[1])
        return counts < of_open.shape[0]

    def filled(
        self, Y: sp.csr_array, before: sp.csr_array, unknown_before: UnknownLabels | None
    ) -> tuple[sp.csr_array, UnknownLabels | None]:
        """Fill unknown entries of Y from the previous labels; return Y and the remaining unknown."""
        Y = sp.csr_array(Y + self.entries.multiply(before), dtype=np.int8)
        Y.sort_indices()
        if unknown_before is None:
            return Y, None
        entries = sp.csr_array(self.entries.multiply(unknown_before.entries), dtype=np.int8)
        entries.sort_indices()
        return Y, _unless_known(entries, self.open_rows & unknown_before.open_rows)


def label_counts(Y: sp.csr_array, unknown: UnknownLabels | None) -> IntArray:
    """Count the rows where each label is present and where it is known, (2, n_labels)."""
    n, n_labels = Y.shape
    removed = 0 if unknown is None else np.bincount(unknown.entries.indices, minlength=n_labels)
    present = np.bincount(Y.indices, minlength=n_labels)
    return np.array([present, n - removed + np.zeros_like(present)])


def constant_labels(counts: IntArray) -> npt.NDArray[np.int8]:
    """Return 1 for labels present in all known rows, -1 for absent ones, else 0, (n_labels,).

    Examples
    --------
    >>> constant_labels(np.array([[2, 0, 1, 0], [2, 3, 3, 0]])).tolist()
    [1, -1, 0, -1]
    """
    present, known = counts
    constant = (present == known).astype(np.int8)
    constant[present == 0] = -1
    return constant


def ones_at(rows: Any, columns: Any, shape: tuple[int, int]) -> sp.csr_array:
    """Return a sorted matrix with ones at the given entries."""
    created = sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)
    created.sort_indices()
    return created


def _unless_known(entries: sp.csr_array, open_rows: BoolArray) -> UnknownLabels | None:
    return UnknownLabels(entries, open_rows) if entries.nnz or open_rows.any() else None


def concatenate_unknown(
    parts: Sequence[UnknownLabels | None], lengths: Sequence[int], n_labels: int
) -> UnknownLabels | None:
    """Concatenate unknown entries of row blocks; None if all are known."""
    if all(part is None for part in parts):
        return None
    filled = [
        UnknownLabels(sp.csr_array((n, n_labels), dtype=np.int8), np.zeros(n, dtype=bool))
        if part is None
        else part
        for part, n in zip(parts, lengths, strict=True)
    ]
    if len(filled) == 1:
        return filled[0]
    entries = sp.csr_array(sp.vstack([part.entries for part in filled], format="csr"))
    return UnknownLabels(entries, np.concatenate([part.open_rows for part in filled]))
