"""From the columns of a file to those that a model was fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from simlabel.datasets._columns import Place
from simlabel.datasets._errors import DatasetError, quote
from simlabel.datasets._features import TRUTH, finite_number

_MOST_NAMED = 5  # absent columns that an error names


class FeatureMap:
    """Which column of a file is which feature of a model; names, categories and types are the model's.

    A column of the file that has a feature's name is a number, or yes and no. A column ``a`` of which the
    model has features ``a=red``, ``a=blue`` is one of these texts; a text that the model does not know is
    none of them. Columns that the model does not know (labels, notes) are left out.

    Parameters
    ----------
    features : sequence of str
        The model's.
    names : sequence of str
        Of the file's columns.
    path : path
        The file, for the errors.

    Attributes
    ----------
    convert : dict of int to callable
        For each column of the file that is used, from a text to a place, or None for "none of them".
    numbers : dict of int to int
        For those among them that are numbers, the feature.
    unknown : int
        How many texts were met that the model does not know.

    Examples
    --------
    >>> columns = FeatureMap(["size", "hue=blue", "hue=red"], ["name", "hue", "size"], Path("a.csv"))
    >>> columns.convert[1]("red"), columns.convert[1]("green"), columns.convert[2]("4.5")
    ((2, 1.0), None, (0, 4.5))
    >>> columns.unknown
    1
    """

    def __init__(self, features: Sequence[str], names: Sequence[str], path: Path) -> None:
        self._path = path
        self.width = len(features)
        self.unknown = 0
        position = {name: k for k, name in enumerate(features)}
        groups: dict[str, dict[str, int]] = {}
        for name, k in position.items():
            for at in (i for i, character in enumerate(name) if character == "="):
                groups.setdefault(name[:at], {})[name[at + 1 :]] = k
        self.numbers: dict[int, int] = {}
        self.convert: dict[int, Callable[[str], Place | None]] = {}
        covered: set[int] = set()
        for j, name in enumerate(names):
            if name in position:
                self.numbers[j] = position[name]
                self.convert[j] = _number(position[name])
                covered.add(position[name])
            elif name in groups:
                self.convert[j] = self._category(groups[name])
                covered |= set(groups[name].values())
        self._check([name for name, k in position.items() if k not in covered], names)

    def _category(self, columns: dict[str, int]) -> Callable[[str], Place | None]:
        def place(text: str) -> Place | None:
            column = columns.get(text)
            if column is None:
                self.unknown += 1
                return None
            return column, 1.0

        return place

    def _check(self, absent: list[str], names: Sequence[str]) -> None:
        if not absent:
            return
        listed = ", ".join(map(quote, dict.fromkeys(name.partition("=")[0] for name in absent[:_MOST_NAMED])))
        more = f" and {len(absent) - _MOST_NAMED} more" if len(absent) > _MOST_NAMED else ""
        found = quote(", ".join(names), 300)
        raise DatasetError(
            f"expected the columns that the model was fitted on; {listed}{more} not found among {found}",
            self._path,
        )

    def places(self, cells: Iterable[tuple[int, str | None]], names: Sequence[str], line: int) -> list[Place]:
        """Places and numbers of a row's cells, zeros left out."""
        places = []
        for j, text in cells:
            convert = self.convert.get(j)
            if convert is None:
                continue
            if text is None:
                message = f"expected a value for {quote(names[j])}, found a missing one; fill it in"
                raise DatasetError(message, self._path, line)
            try:
                place = convert(text)
            except ValueError:
                message = f"expected a finite number for {quote(names[j])}, found {quote(text)}"
                raise DatasetError(message, self._path, line) from None
            if place is not None and place[1]:
                places.append(place)
        return places


def _number(column: int) -> Callable[[str], Place]:
    def place(text: str) -> Place:
        try:
            return column, finite_number(text)
        except ValueError:  # yes and no are rarer than numbers, so they are tried second
            truth = TRUTH.get(text.lower())
            if truth is None:
                raise
            return column, float(truth)

    return place
