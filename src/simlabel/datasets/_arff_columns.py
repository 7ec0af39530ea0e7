"""From the text of an ARFF value to a column of X or Y and a number."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from simlabel.datasets._arff_header import Attribute
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import MISSING_HINT, Missing

Place = tuple[int, float]  # a column and the number there
_LARGEST = sys.float_info.max
_TRUTH = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}
_BINARY = {"0", "1"}


class Columns:
    """Columns of X, and after them, from `width` on, those of Y.

    A numeric attribute is a column; so is a nominal one whose values are 0 and 1. Another nominal one is a
    column per value, named ``attribute=value``.

    Attributes
    ----------
    convert : list of callable
        For each attribute, from a text to its place; raises ValueError, KeyError or TypeError.
    implied : dict of int to int
        The attributes that a sparse row must write to mean 0, and the column of Y or X that is 1 where it
        does not: what is left out of a sparse row is the *first* value of a nominal attribute.
    """

    def __init__(
        self, attributes: Sequence[Attribute], labels: Sequence[int], path: Path, missing: Missing
    ) -> None:
        self._attributes = attributes
        self._labels = frozenset(labels)
        self._path = path
        self._missing = missing
        names: list[str] = []
        starts: dict[int, int] = {}
        for j, attribute in enumerate(attributes):
            if j not in self._labels:
                starts[j] = len(names)
                names += _column_names(attribute)
        self.width = len(names)
        self.feature_names = tuple(names)
        self.label_names = tuple(attributes[j].name for j in labels)
        starts |= {j: self.width + k for k, j in enumerate(labels)}
        self.implied: dict[int, int] = {}
        self.convert: list[Callable[[str], Place]] = [
            self._converter(j, attribute, starts[j]) for j, attribute in enumerate(attributes)
        ]
        self._starts = starts

    def _converter(self, j: int, attribute: Attribute, start: int) -> Callable[[str], Place]:
        if attribute.values is None:
            return _label_number(start) if j in self._labels else _number(start)
        if j in self._labels:
            self._check_label(attribute)
            places = {value: (start, float(_TRUTH[value.lower()])) for value in attribute.values}
        elif _is_binary(attribute):
            places = {value: (start, float(value)) for value in attribute.values}
        else:
            places = {value: (start + code, 1.0) for code, value in enumerate(attribute.values)}
        column, number = places[attribute.values[0]]
        if number:
            self.implied[j] = column
        return places.__getitem__

    def _check_label(self, attribute: Attribute) -> None:
        values = attribute.values or ()
        truths = {_TRUTH.get(value.lower()) for value in values}
        if None in truths or len(truths) < len(values):
            raise DatasetError(
                f"expected a label with the values 0 and 1; {quote(attribute.name)} has "
                f"{quote(', '.join(values))}",
                self._path,
                attribute.line,
            )

    def explain(self, j: int, text: str | None, line: int) -> Place:
        """Give the place of a missing value, or say why the text has none."""
        attribute = self._attributes[j]
        kind = "label" if j in self._labels else "feature"
        if text is None:
            if j in self._labels:
                raise DatasetError(
                    f"expected 0 or 1 for the label {quote(attribute.name)}, found a missing value; "
                    "every row needs known labels",
                    self._path,
                    line,
                )
            if self._missing == "error":
                raise DatasetError(
                    f"expected a value for {quote(attribute.name)}, found a missing one. {MISSING_HINT}",
                    self._path,
                    line,
                )
            # A missing value of several columns is a 0 in each: none of the values.
            several = attribute.values is not None and not _is_binary(attribute)
            return self._starts[j], 0.0 if several else float("nan")
        if attribute.values is not None:
            expected = "one of " + quote(", ".join(attribute.values))
        else:
            expected = "0 or 1" if j in self._labels else "a finite number"
        raise DatasetError(
            f"expected {expected} for the {kind} {quote(attribute.name)}, found {quote(text)}",
            self._path,
            line,
        )


def _is_binary(attribute: Attribute) -> bool:
    return attribute.values is not None and set(attribute.values) <= _BINARY


def _column_names(attribute: Attribute) -> list[str]:
    if attribute.values is None or _is_binary(attribute):
        return [attribute.name]
    return [f"{attribute.name}={value}" for value in attribute.values]


def _number(start: int) -> Callable[[str], Place]:
    def convert(text: str) -> Place:
        number = float(text)
        if not -_LARGEST <= number <= _LARGEST or "_" in text:
            raise ValueError(text)
        return start, number

    return convert


def _label_number(start: int) -> Callable[[str], Place]:
    def convert(text: str) -> Place:
        number = float(text)
        if number not in (0.0, 1.0):
            raise ValueError(text)
        return start, number

    return convert
