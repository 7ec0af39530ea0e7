"""What fits in a budget of time: cells of the table, the cheapest first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_NUMBER = r"(\d+\.?\d*|\.\d+)"
_TIME = re.compile(rf"(?:{_NUMBER}h)?\s*(?:{_NUMBER}m)?\s*(?:{_NUMBER}s)?", re.IGNORECASE | re.ASCII)


def seconds_of(text: str) -> float:
    """Seconds of a budget such as 90s, 30m, 1.5h or 1h30m; a bare number is seconds.

    Examples
    --------
    >>> seconds_of("2h"), seconds_of("1.5m"), seconds_of("45"), seconds_of("1h30m")
    (7200.0, 90.0, 45.0, 5400.0)
    """
    bare = re.fullmatch(_NUMBER, text.strip(), re.ASCII)  # alone: the 30 of 1h30 may be meant as minutes
    found = _TIME.fullmatch(f"{text.strip()}s" if bare else text.strip())
    hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0.0, 0.0, 0.0)
    total = 3600 * hours + 60 * minutes + seconds
    if not 0 < total < float("inf"):
        raise ValueError(f"a budget is a time such as 45s, 30m, 2h or 1h30m; got {text!r}.")
    return total


@dataclass(frozen=True)
class Fixture:
    """One rival on one set: processor seconds that a fold should take, how many there are and done."""

    data: str
    rival: str
    seconds: float
    folds: int
    done: int = 0

    @property
    def left(self) -> float:
        """Seconds of the folds that are not done."""
        return self.seconds * (self.folds - self.done)


def chosen(cells: Sequence[Fixture], budget: float | None, jobs: int) -> tuple[list[Fixture], list[Fixture]]:
    """The cells that fit, and those that do not; the cheapest first, what is done for nothing.

    Examples
    --------
    >>> cells = [Fixture("a", "x", 30.0, 2), Fixture("a", "y", 1.0, 2), Fixture("b", "x", 500.0, 2, done=2)]
    >>> fit, rest = chosen(cells, 10.0, jobs=1)
    >>> [(cell.data, cell.rival) for cell in fit], [(cell.data, cell.rival) for cell in rest]
    ([('b', 'x'), ('a', 'y')], [('a', 'x')])
    """
    if budget is None:
        return list(cells), []
    left = budget * jobs
    fit, rest = [], []
    for cell in sorted(cells, key=lambda cell: cell.left):
        if cell.left <= left:
            left -= cell.left
            fit.append(cell)
        else:
            rest.append(cell)
    return fit, rest
