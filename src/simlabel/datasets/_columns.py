"""From the text of a value to a column of X or Y and a number; shared by ARFF and CSV."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import MISSING_HINT, TRUTH, Missing, finite_number, identifies_rows, is_truth

Place = tuple[int, float]  # a column and the number there


@dataclass(frozen=True)
class Attribute:
    """One attribute; `values` are those of a nominal one, in the order of their declaration."""

    name: str
    values: tuple[str, ...] | None
    line: int

    @property
    def columns(self) -> list[str]:
        """Names of its columns in X."""
        if self.values is None or is_truth(self.values):
            return [self.name]
        return [f"{self.name}={value}" for value in self.values]


class TableColumns:
    """Columns of X, and after them, from `width` on, those of Y.

    A numeric attribute is a column; so is a nominal one whose values are 0 and 1. Another nominal one is a
    column per value, named ``attribute=value``, unless it identifies rows.

    Attributes
    ----------
    convert : list of callable
        For each attribute, from a text to its place; raises ValueError, KeyError or TypeError.
    n_features : int
        How many attributes are features.
    implied : dict of int to int
        The attributes whose absence from a sparse row does not mean 0, and the column that is 1 then:
        what a sparse row leaves out is the *first* value of a nominal attribute.
    """

    def __init__(
        self, attributes: Sequence[Attribute], labels: Sequence[int], path: Path, missing: Missing
    ) -> None:
        self._attributes = attributes
        self._labels = frozenset(labels)
        self._path = path
        self._missing = missing
        names: list[str] = []
        self._starts: dict[int, int] = {}
        for j, attribute in enumerate(attributes):
            if j not in self._labels:
                self._starts[j] = len(names)
                names += attribute.columns
        self.width = len(names)
        self.n_features = len(self._starts)
        self.feature_names = tuple(names)
        self.label_names = tuple(attributes[j].name for j in labels)
        self._starts |= {j: self.width + k for k, j in enumerate(labels)}
        self.implied: dict[int, int] = {}
        self.convert = [self._converter(j, attribute) for j, attribute in enumerate(attributes)]

    def _converter(self, j: int, attribute: Attribute) -> Callable[[str], Place]:
        start = self._starts[j]
        if attribute.values is None:
            return _label(start) if j in self._labels else _number(start)
        if is_truth(attribute.values):
            places = {value: (start, float(TRUTH[value.lower()])) for value in attribute.values}
        elif j in self._labels:
            values = quote(", ".join(attribute.values))
            raise self._error(
                f"a label with the values 0 and 1; {quote(attribute.name)} has {values}", attribute.line
            )
        else:
            places = {value: (start + code, 1.0) for code, value in enumerate(attribute.values)}
        column, number = places[attribute.values[0]]
        if number:
            self.implied[j] = column
        return places.__getitem__

    def without_identifiers(self, X: Rows) -> Rows:
        """Leave out the columns of texts of which nearly every row has its own: from X and from the names."""
        n, kept = int(X.shape[0]), np.ones(self.width, dtype=bool)
        used = np.bincount(X.indices, minlength=self.width) if sp.issparse(X) else np.count_nonzero(X, axis=0)
        for j, attribute in enumerate(self._attributes):
            if j in self._labels or attribute.values is None:
                continue
            own = slice(self._starts[j], self._starts[j] + len(attribute.columns))
            if identifies_rows(attribute.name, int(np.count_nonzero(used[own])), n):
                kept[own] = False
                self.n_features -= 1
        if kept.all():
            return X
        self.feature_names = tuple(itertools.compress(self.feature_names, kept))
        return X[:, np.flatnonzero(kept)]

    def explain(self, j: int, text: str | None, line: int) -> Place:
        """Give the place of a missing value, or say why the text has none."""
        attribute = self._attributes[j]
        name = quote(attribute.name)
        if text is not None:
            if attribute.values is not None:
                expected = "one of " + quote(", ".join(attribute.values))
            else:
                expected = "0 or 1" if j in self._labels else "a finite number"
            raise self._error(f"{expected} for {name}, found {quote(text)}", line)
        if j in self._labels:
            raise self._error(
                f"0 or 1 for the label {name}, found a missing value; every row needs known labels", line
            )
        if self._missing == "error":
            raise self._error(f"a value for {name}, found a missing one. {MISSING_HINT}", line)
        # Where there is a column per value, a missing one is 0 in each of them.
        one_hot = attribute.values is not None and not is_truth(attribute.values)
        return self._starts[j], 0.0 if one_hot else float("nan")

    def _error(self, expected: str, line: int) -> DatasetError:
        return DatasetError(f"expected {expected}", self._path, line)


def _number(start: int) -> Callable[[str], Place]:
    return lambda text: (start, finite_number(text))


def _label(start: int) -> Callable[[str], Place]:
    def convert(text: str) -> Place:
        number = float(text)
        if number not in (0.0, 1.0):
            raise ValueError(text)
        return start, number

    return convert
