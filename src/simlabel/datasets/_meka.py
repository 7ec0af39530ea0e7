"""MEKA says in the relation name of an ARFF file how many of its attributes are labels."""

from __future__ import annotations

import re
from pathlib import Path

from simlabel.datasets._errors import DatasetError

_COUNT = re.compile(r"(?:^|[\s:])-C\s+(-?\d{1,9})(?=\s|$)", re.IGNORECASE)


def label_count(relation: str) -> int | None:
    """The n of ``-C n`` in a relation name.

    Examples
    --------
    >>> label_count("Music: -C 6"), label_count("scene: -C -6 -split-number 1211"), label_count("yeast")
    (6, -6, None)
    """
    match = _COUNT.search(relation)
    return None if match is None else int(match[1])


def label_positions(count: int, n_attributes: int, path: Path) -> list[int]:
    """Positions of the labels: the first n attributes, or for a negative n the last.

    Examples
    --------
    >>> label_positions(2, 5, Path("a.arff")), label_positions(-2, 5, Path("a.arff"))
    ([0, 1], [3, 4])
    """
    if not 0 < abs(count) <= n_attributes:
        raise DatasetError(
            f"expected a number of labels between 1 and the {n_attributes} attributes, found -C {count}", path
        )
    everything = list(range(n_attributes))
    return everything[:count] if count > 0 else everything[count:]
