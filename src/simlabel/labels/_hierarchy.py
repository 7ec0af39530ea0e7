"""Hierarchies of labels: a row that has a label has all labels above it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.validation import AnyArray
from simlabel.labels._unknown import UnknownLabels


class Hierarchy(BaseEstimator):
    """Hierarchy of labels: a tree, several trees, or labels with more than one parent.

    Parameters
    ----------
    parents : dict, optional
        Maps a label to its parent or a list of parents; other labels have no parent.
    separator : str, optional
        Instead of `parents`: labels are paths, whose steps this string separates. With ``"::"``,
        ``"mail::imap"`` is part of ``"mail"``.

    Examples
    --------
    >>> Hierarchy({"imap": "mail", "mail": ["network", "text"]}).above("imap")
    ['mail', 'network', 'text']
    >>> Hierarchy(separator="/").above("animal/dog/poodle")
    ['animal/dog', 'animal']
    """

    file_key: ClassVar[str] = "labels.Hierarchy"

    def __init__(self, parents: Any = None, separator: str | None = None) -> None:
        self.parents = parents
        self.separator = separator

    def check(self) -> None:
        """Raise ValueError if the parameters are invalid or a label is its own ancestor."""
        if (self.parents is None) == (self.separator is None):
            raise ValueError("Hierarchy: pass either parents or separator.")
        if self.separator is not None:
            if not isinstance(self.separator, str) or not self.separator:
                raise ValueError(
                    f"Hierarchy: separator must be a string such as '::', got {self.separator!r}."
                )
            return
        if not isinstance(self.parents, Mapping):
            raise ValueError(
                f"Hierarchy: parents must be a dict from labels to their parents, got {self.parents!r}."
            )
        for label in self.parents:
            self._check_acyclic(label)

    def _check_acyclic(self, label: Hashable) -> None:
        """Raise ValueError if the label is its own ancestor."""
        seen, ahead = set(), self.parents_of(label)
        while ahead:
            one = ahead.pop()
            if one == label:
                raise ValueError(f"Hierarchy: {label!r} is its own ancestor.")
            if one not in seen:
                seen.add(one)
                ahead += self.parents_of(one)

    def parents_of(self, label: Hashable) -> list[Hashable]:
        """Return the direct parents of a label."""
        if self.separator is not None:
            before = label.rpartition(self.separator)[0] if isinstance(label, str) else ""
            return [before] if before else []
        found = self.parents.get(label)
        if found is None:
            return []
        if isinstance(found, str) or not isinstance(found, Iterable):
            return [found]
        return list(found)

    def above(self, label: Hashable) -> list[Hashable]:
        """Return all ancestors of a label, the nearest first."""
        found: dict[Hashable, None] = {}
        level = [label]
        while level:
            level = [one for below in level for one in self.parents_of(below) if one not in found]
            found |= dict.fromkeys(level)
        return list(found)

    def closure(self, classes: AnyArray) -> sp.csr_array:
        """Return A with A[k, j] = 1 if label j is k or an ancestor of k, (n_labels, n_labels)."""
        names = classes.tolist()
        position = {name: k for k, name in enumerate(names)}
        pairs = [(k, k) for k in range(len(names))]
        pairs += [
            (k, position[one]) for k, name in enumerate(names) for one in self.above(name) if one in position
        ]
        rows, columns = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        shape = (len(names), len(names))
        return sp.csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=shape)


def as_hierarchy(given: Any) -> Hierarchy | None:
    """Convert a hierarchy, a dict of parents or a separator of paths to a checked hierarchy."""
    if given is None:
        return None
    created = given
    if isinstance(given, str):
        created = Hierarchy(separator=given)
    elif isinstance(given, Mapping):
        created = Hierarchy(given)
    elif not isinstance(given, Hierarchy):
        raise TypeError(
            f"hierarchy must be a Hierarchy, a dict from labels to their parents, or the separator of labels "
            f"that are paths, such as '::'; got {given!r}."
        )
    created.check()
    return created


def closed(A: sp.csr_array, Y: sp.csr_array) -> sp.csr_array:
    """Add the ancestors of each row's labels, (n_rows, n_labels)."""
    Y = sp.csr_array(Y @ A, dtype=np.int8)
    Y.data[:] = 1
    Y.sort_indices()
    return Y


def still_unknown(A: sp.csr_array, Y: sp.csr_array, unknown: UnknownLabels) -> UnknownLabels:
    """Return the entries still unknown in closed rows: descendants of an absent label are absent."""
    possible = sp.csr_array(Y + unknown.entries)
    of_all = np.diff(A.indptr)  # number of labels that must be possible for each label to be possible
    rows, columns = unknown.entries.nonzero()
    met = np.asarray((possible @ A.T)[rows, columns]).ravel()
    open_ = (met == of_all[columns]) & (np.asarray(Y[rows, columns]).ravel() == 0)
    ones = np.ones(int(open_.sum()), dtype=np.int8)
    entries = sp.csr_array((ones, (rows[open_], columns[open_])), shape=Y.shape)
    entries.sort_indices()
    return UnknownLabels(entries, unknown.open_rows)
