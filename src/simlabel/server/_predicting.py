"""The model that answers, and a thread that answers requests, some rows of several at a time."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from simlabel.server._problems import Conflict, NotYet, Unwritable
from simlabel.server._store import DeskStore
from simlabel.server._turns import ROWS, Content, Request, Turns, asker
from simlabel.server._views import label_names, text_column

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.model import Outputs
    from simlabel.server._beside import Beside

_ROUND = 4  # digits of a probability that is told

Shown = list[dict[str, Any]]


@dataclass(frozen=True)
class Suggestions:
    """For each content labels with numbers, names and probabilities, the most probable first.

    `position` is the last change that the model has learnt, `plain_position` the last one that counts.
    """

    position: int
    plain_position: int
    results: list[Shown]


@dataclass(frozen=True)
class Published:
    """A model that answers, whole; another takes its place by one assignment."""

    model: Tagger
    position: int
    file: str
    beside: Beside

    def warm(self) -> None:
        """Have made ready what the first prediction would make ready, so that nobody waits for it."""
        self.model.make_ready()
        for n in (1, ROWS):
            self.beside.outputs([{}] * n)
        self.beside.warm()
        if not gc.get_freeze_count():  # what is there by now stays: to look through it takes 100 ms each time
            gc.collect()
            gc.freeze()


class Predictor:
    """Answers requests, some rows of several at a time.

    Parameters
    ----------
    coming : callable
        Returns whether a model is being learned.
    """

    def __init__(self, store: DeskStore, coming: Callable[[], bool] = lambda: False) -> None:
        self.published: Published | None = None
        self._store, self._coming = store, coming
        self._turns, self._changed = Turns(), threading.Condition()
        self._stale = self._closed = False
        self._thread = threading.Thread(target=self._work, name="predictor", daemon=True)
        self._thread.start()

    def current(self) -> Published:
        """The model that answers now."""
        if self.published is not None:
            return self.published
        if self._store.read_only:
            raise Unwritable("There is no model, and none can be learned: the store can only be read.")
        if self._coming():
            raise NotYet("The first model is being learned; ask again soon.")
        raise Conflict("There is no model so far: tag at least two items, one with a label, as done.")

    def suggest(
        self, contents: Sequence[Content], limit: int, threshold: float, bounded: bool = False
    ) -> Future[Suggestions]:
        """Labels for each content, or bare text: at most so many, those that are chosen or so probable.

        What is sent with a request is `bounded` in length; items that are stored are not.
        """
        request = Request(asker.get(), contents, limit, threshold)
        with self._changed:
            if self._closed:
                request.answer.set_exception(Unwritable("The server is closing; ask again when it is back."))
            else:
                self._turns.add(request, bounded)
                self._changed.notify()
        return request.answer

    def notice(self) -> None:
        """Take in what was stored, while nobody asks: the next question finds it done."""
        with self._changed:
            self._stale = True
            self._changed.notify()

    def close(self) -> None:
        """Refuse what waits, and end."""
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
                    raise Unwritable("The server is closing; ask again when it is back.")
                self._answer(parts)
            except Exception as raised:  # the thread goes on for those who come later
                error = raised
            done = [one for one, _ in parts if error is not None or one.taken == len(one.contents)]
            with self._changed:
                self._turns.drop(done)
            for request in done:
                _finish(request, error)
            if self._closed and not self._turns:
                return

    def _answer(self, parts: list[tuple[Request, range]]) -> None:
        """Find suggestions for some rows of each request."""
        contents = [one.contents[row] for one, rows in parts for row in rows]
        published, names = self.current(), self._store.remembered(label_names)
        published.beside.refresh()
        upto = published.position, max(published.position, published.beside.position)
        found, at = self._found(published.beside, contents) if contents else None, 0
        for request, rows in parts:
            request.positions = request.positions or upto
            for _ in rows:
                request.found.append(_shown(found, at, names, request.limit, request.threshold))
                at += 1

    def _found(self, beside: Beside, contents: Sequence[Content]) -> Outputs:
        column = partial(self._store.remembered, text_column)
        return beside.outputs([{column(): one} if isinstance(one, str) else one for one in contents])


def _finish(request: Request, error: Exception | None) -> None:
    """Answer a request, unless whoever sent it waits no more."""
    if not request.answer.set_running_or_notify_cancel():
        return
    if error is not None:
        request.answer.set_exception(error)
    else:
        assert request.positions is not None
        request.answer.set_result(Suggestions(*request.positions, request.found))


def _shown(found: Any, row: int, names: dict[int, str], limit: int, threshold: float) -> Shown:
    """Labels of one row, the most probable first: those that are chosen, or probable enough."""
    labels, probable, sets = found.names, found.probabilities[row], found.sets
    chosen, shown = {*sets.indices[sets.indptr[row] : sets.indptr[row + 1]].tolist()}, Shown()
    for k in (-probable).argsort(kind="stable").tolist():
        number, value, given = int(labels[k]), float(probable[k]), k in chosen
        if number in names and (given or value >= threshold):
            told = {"label": names[number], "probability": round(value, _ROUND), "chosen": given}
            shown.append({"number": number, **told})
            if len(shown) == limit:
                break
    return shown
