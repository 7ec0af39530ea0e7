"""The published model, and a thread that answers requests for suggestions in fair order.

Users take turns, and small requests do not wait for large ones.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from simlabel.server._store import ServerStore
from simlabel.server._types import Conflict, NotReady, ReadOnlyError, TooLarge, TooManyRequests
from simlabel.server._views import label_names, text_column

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.server._model import PendingUpdates

PASS_ROWS = 64  # in one pass of the model
_PASS = 200_000  # characters in one pass; further rows wait for the next pass
_ROW = 200  # characters that each row counts in addition to its own
MAX_TEXT = 2_000_000  # characters of a bounded request
_MAX_WAITING = 4 * MAX_TEXT  # of all waiting requests of one user
_ROUND = 4  # digits of a probability

RowContent = dict[str, Any] | str
asker: ContextVar[str] = ContextVar("asker", default="")  # the name of the user whose request is handled
Shown = list[dict[str, Any]]


def characters(content: RowContent) -> int:
    """Return the length of a row."""
    if isinstance(content, str):
        return len(content)
    cells = content.values()
    return sum(sum(map(len, cell)) if isinstance(cell, list) else len(str(cell)) for cell in cells)


@dataclass(eq=False)
class Request:
    """A request for suggestions, and the suggestions of the rows that are finished."""

    who: str
    contents: Sequence[RowContent]
    limit: int
    threshold: float
    answer: Future[Any] = field(default_factory=Future)
    found: list[Shown] = field(default_factory=list)
    positions: tuple[int, int] | None = None  # of the model that predicted the first row

    def __post_init__(self) -> None:
        self.costs = [_ROW + characters(content) for content in self.contents]
        self.left = sum(self.costs)
        self.taken = 0  # rows

    def take(self, rows: int, room: int) -> tuple[range, int]:
        """Take the next rows that fit; return their indices and cost."""
        start, cost = self.taken, 0
        while self.taken < min(start + rows, len(self.costs)) and cost + self.costs[self.taken] <= room:
            cost += self.costs[self.taken]
            self.taken += 1
        self.left -= cost
        return range(start, self.taken), cost


class FairQueue:
    """The waiting requests: the user with the lowest cost so far is next, with the smallest request first."""

    def __init__(self) -> None:
        self._waiting: list[Request] = []
        self._had: dict[str, int] = {}  # cost of the finished rows, by waiting user

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, request: Request, bounded: bool = False) -> None:
        """Add a request; if it is `bounded`, raise an error if it or its user's requests are too large."""
        if bounded:
            _check_size(request, [one for one in self._waiting if one.who == request.who])
        self._had.setdefault(request.who, min(self._had.values(), default=0))
        self._waiting.append(request)

    def next(self) -> list[tuple[Request, range]]:
        """Return the rows of the next pass, by request."""
        self._waiting = [one for one in self._waiting if not one.answer.cancelled()]
        rows, room = PASS_ROWS, _PASS
        parts: list[tuple[Request, range]] = []
        waiting = list(self._waiting)
        while waiting and rows:
            first = min(waiting, key=lambda one: (self._had[one.who], one.left))
            first_row = first.costs[first.taken : first.taken + 1]  # the first row of a pass always fits
            part, cost = first.take(rows, room if parts else max([room, *first_row]))
            if first.left and not part:
                break
            rows, room = rows - len(part), room - cost
            self._had[first.who] += cost
            parts.append((first, part))
            waiting.remove(first)
        return parts

    def drop(self, requests: Sequence[Request]) -> None:
        """Remove finished requests, and the costs of users who have no waiting request."""
        self._waiting = [one for one in self._waiting if one not in requests]
        who = {one.who for one in self._waiting}
        self._had = {name: had for name, had in self._had.items() if name in who}


def _check_size(request: Request, waiting: Sequence[Request]) -> None:
    if request.left > MAX_TEXT:
        raise TooLarge(
            f"The rows have {request.left:,} characters (including {_ROW} for each row), but a request may "
            f"have at most {MAX_TEXT:,}: send them in parts."
        )
    if request.left + sum(one.left for one in waiting) > _MAX_WAITING:
        raise TooManyRequests(
            f"You have {len(waiting)} waiting requests: send the next one when one is answered."
        )


@dataclass(frozen=True)
class RowSuggestions:
    """For each row labels with ids, names and probabilities, the most probable first.

    `position` is the last change that the model was trained on; `plain_position` is the last one that is
    included by pending updates.
    """

    position: int
    plain_position: int
    results: list[Shown]


@dataclass(frozen=True)
class Published:
    """The model that answers requests; it is replaced by a single assignment."""

    model: Tagger
    position: int
    file: str
    pending_updates: PendingUpdates

    def warm(self) -> None:
        """Precompute what the first prediction needs, so that no request waits for it."""
        self.model.warm_up()
        for n in (1, PASS_ROWS):
            self.pending_updates.outputs([{}] * n)
        self.pending_updates.warm()
        if not gc.get_freeze_count():  # these objects are permanent: scanning them takes 100 ms each time
            gc.collect()
            gc.freeze()


class Predictor:
    """Answers requests in passes over some rows of several requests.

    Parameters
    ----------
    coming : callable
        Returns whether the first model is being trained.
    """

    def __init__(self, store: ServerStore, coming: Callable[[], bool]) -> None:
        self.published: Published | None = None
        self._store, self._coming = store, coming
        self._turns, self._changed = FairQueue(), threading.Condition()
        self._stale = self._closed = False
        self._thread = threading.Thread(target=self._work, name="predictor", daemon=True)
        self._thread.start()

    def current(self) -> Published:
        """Return the published model."""
        if self.published is not None:
            return self.published
        if self._store.read_only:
            raise ReadOnlyError("There is no model, and none can be trained, because the store is read-only.")
        if self._coming():
            raise NotReady("The first model is being trained: try again soon.")
        raise Conflict("There is no model so far: tag at least two items, one with a label, as done.")

    def suggest(
        self, contents: Sequence[RowContent], limit: int, threshold: float, bounded: bool = False
    ) -> Future[RowSuggestions]:
        """Suggest at most `limit` labels for each row or text: those predicted or with enough probability.

        The size of a request is `bounded` if its rows come from a client, not from the store.
        """
        request = Request(asker.get(), contents, limit, threshold)
        with self._changed:
            if self._closed:
                request.answer.set_exception(_closing())
            else:
                self._turns.add(request, bounded)
                self._changed.notify()
        return request.answer

    def notice(self) -> None:
        """Update the pending rows now, so that the next request does not wait for it."""
        with self._changed:
            self._stale = True
            self._changed.notify()

    def close(self) -> None:
        """Refuse the waiting requests, and end the thread."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._turns or self._stale or self._closed)
                self._stale = False
                parts = self._turns.next()
            error: Exception | None = None
            try:
                if self._closed:
                    raise _closing()
                self._answer(parts)
            except Exception as raised:  # the thread continues with later requests
                error = raised
            done = [one for one, _ in parts if error is not None or one.taken == len(one.contents)]
            with self._changed:
                self._turns.drop(done)
            for request in done:
                _finish(request, error)
            if self._closed and not self._turns:
                return

    def _answer(self, parts: list[tuple[Request, range]]) -> None:
        """Predict some rows of each request."""
        contents = [one.contents[row] for one, part in parts for row in part]
        published, names = self.current(), self._store.cached_query(label_names)
        published.pending_updates.refresh()
        positions = published.position, max(published.position, published.pending_updates.position)
        rows = [
            {self._store.cached_query(text_column): one} if isinstance(one, str) else one for one in contents
        ]
        found, at = published.pending_updates.outputs(rows) if rows else None, 0
        for request, part in parts:
            request.positions = request.positions or positions
            for _ in part:
                request.found.append(_row_suggestions(found, at, names, request.limit, request.threshold))
                at += 1


def _closing() -> ReadOnlyError:
    return ReadOnlyError("The server is closing: repeat the request later.")


def _finish(request: Request, error: Exception | None) -> None:
    """Answer a request, unless it was canceled."""
    if not request.answer.set_running_or_notify_cancel():
        return
    if error is not None:
        request.answer.set_exception(error)
    else:
        assert request.positions is not None
        request.answer.set_result(RowSuggestions(*request.positions, request.found))


def _row_suggestions(found: Any, row: int, names: dict[int, str], limit: int, threshold: float) -> Shown:
    """Return the labels of one row that are predicted or reach the threshold, the most probable first."""
    labels, probable, sets = found.names, found.probabilities[row], found.sets
    chosen, shown = {*sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tolist()}, Shown()
    for k in (-probable).argsort(kind="stable").tolist():
        number, value, given = int(labels[k]), float(probable[k]), k in chosen
        if number in names and (given or value >= threshold):
            label = {"label": names[number], "probability": round(value, _ROUND), "chosen": given}
            shown.append({"number": number, **label})
            if len(shown) == limit:
                break
    return shown
