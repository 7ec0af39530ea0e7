"""Whose request for suggestions is next: people take turns, and small requests do not wait for large ones."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from simlabel.server._problems import TooLarge, TooMany

ROWS = 64  # in one pass of the model
_PASS = 200_000  # characters in one pass, beyond which a row waits for the next one
_ROW = 200  # characters that a row counts for besides its own
MOST_TEXT = 2_000_000  # characters of a request that a program sends
_MOST_WAITING = 4 * MOST_TEXT  # of all such requests of one person

Content = dict[str, Any] | str
asker: ContextVar[str] = ContextVar("asker", default="")  # the person whose request is being answered


def characters(content: Content) -> int:
    """Return how long a row is."""
    if isinstance(content, str):
        return len(content)
    cells = content.values()
    return sum(sum(map(len, cell)) if isinstance(cell, list) else len(str(cell)) for cell in cells)


@dataclass(eq=False)
class Request:
    """Rows that somebody wants suggestions for, and those found so far."""

    who: str
    contents: Sequence[Content]
    limit: int
    threshold: float
    answer: Future[Any] = field(default_factory=Future)
    found: list[list[dict[str, Any]]] = field(default_factory=list)
    positions: tuple[int, int] | None = None  # of the model that found the first of them

    def __post_init__(self) -> None:
        self.costs = [_ROW + characters(content) for content in self.contents]
        self.left = sum(self.costs)
        self.taken = 0  # rows

    def take(self, rows: int, room: int) -> tuple[range, int]:
        """Take the next rows, as many as there is room for; which, and what they cost."""
        start, cost = self.taken, 0
        while self.taken < min(start + rows, len(self.costs)) and cost + self.costs[self.taken] <= room:
            cost += self.costs[self.taken]
            self.taken += 1
        self.left -= cost
        return range(start, self.taken), cost


class Turns:
    """Requests that wait: whose author has had least is next, and of one author the smallest."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._had: dict[str, int] = {}  # characters answered, by authors who wait

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: Request, bounded: bool = False) -> None:
        """Have a request wait; a `bounded` one is refused if it or its author asks for too much."""
        if bounded:
            _check(request, [one for one in self._waiting if one.who == request.who])
        self._had.setdefault(request.who, min(self._had.values(), default=0))
        self._waiting.append(request)

    def next(self) -> list[tuple[Request, range]]:
        """Return the rows of the next pass, by request."""
        self._waiting = [one for one in self._waiting if not one.answer.cancelled()]
        rows, room = ROWS, _PASS
        parts: list[tuple[Request, range]] = []
        waiting = list(self._waiting)
        while waiting and rows:
            first = min(waiting, key=lambda one: (self._had[one.who], one.left))
            first_row = first.costs[first.taken : first.taken + 1]  # has a pass of its own, however long
            part, cost = first.take(rows, room if parts else max([room, *first_row]))
            if first.left and not part:
                break
            rows, room = rows - len(part), room - cost
            self._had[first.who] += cost
            parts.append((first, part))
            waiting.remove(first)
        return parts

    def drop(self, requests: Sequence[Request]) -> None:
        """Forget requests that are answered, and what authors have had who wait no more."""
        self._waiting = [one for one in self._waiting if one not in requests]
        who = {one.who for one in self._waiting}
        self._had = {name: had for name, had in self._had.items() if name in who}


def _check(request: Request, waiting: Sequence[Request]) -> None:
    if request.left > MOST_TEXT:
        raise TooLarge(
            f"The rows are {request.left:,} characters long (each counts {_ROW} more); at most "
            f"{MOST_TEXT:,} are taken in one request: send them in parts."
        )
    if request.left + sum(one.left for one in waiting) > _MOST_WAITING:
        raise TooMany(f"{len(waiting)} requests of yours wait already; send the next when one is answered.")
