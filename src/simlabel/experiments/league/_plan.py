"""What fits in a budget of time: cells of the table, the cheapest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float:
    """Seconds of a budget such as 90s, 30m, 2h or 1.5h; a bare number is seconds.

    Examples
    --------
    >>> seconds_of("2h"), seconds_of("1.5m"), seconds_of("45")
    (7200.0, 90.0, 45.0)
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(number) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"a budget is a time such as 45s, 30m or 2h; got {text!r}.")
    return seconds


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
