"""Labels that are part of others: who has the narrower one has the wider one too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel.labels._forms import Names


class Hierarchy(BaseEstimator):
    """Which labels are part of which: a tree, several trees, or labels with more than one parent.

    Parameters
    ----------
    parents : dict, optional
        Label -> its parent, or a list of its parents; labels that are not in it have none.
    separator : str, optional
        In place of `parents`: labels are paths, and this stands between their steps. With ``"::"``,
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
        """Raise ValueError where this is no hierarchy: no parents at all, or labels above themselves."""
        if (self.parents is None) == (self.separator is None):
            raise ValueError("Hierarchy: give either parents or a separator.")
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
        """A walk upwards from a label must not meet it again."""
        seen, ahead = set(), self.parents_of(label)
        while ahead:
            one = ahead.pop()
            if one == label:
                raise ValueError(f"Hierarchy: {label!r} is among the labels above itself.")
            if one not in seen:
                seen.add(one)
                ahead += self.parents_of(one)

    def parents_of(self, label: Hashable) -> list[Hashable]:
        """The labels right above one."""
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
        """All labels above one, the nearest first."""
        found: dict[Hashable, None] = {}
        level = [label]
        while level:
            level = [one for below in level for one in self.parents_of(below) if one not in found]
            found |= dict.fromkeys(level)
        return list(found)

    def closure(self, classes: Names) -> sp.csr_array:
        """A[k, j] = 1 where label j is k or above it, (n_labels, n_labels); labels not in `classes` aside."""
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
    """A hierarchy, from one, from a dict of parents, or from what separates the steps of paths; checked."""
    if given is None:
        return None
    made = given
    if isinstance(given, str):
        made = Hierarchy(separator=given)
    elif isinstance(given, Mapping):
        made = Hierarchy(given)
    elif not isinstance(given, Hierarchy):
        raise TypeError(
            f"hierarchy must be a Hierarchy, a dict from labels to their parents, or what stands between the "
            f"steps of labels that are paths, such as '::'; got {given!r}."
        )
    made.check()
    return made
