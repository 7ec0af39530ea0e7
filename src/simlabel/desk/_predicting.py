"""The model that answers, and a thread that answers those who wait together."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from simlabel.desk._problems import Conflict
from simlabel.desk._store import DeskStore, Together
from simlabel.desk._views import label_names, text_column

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.desk._beside import Beside
    from simlabel.fitted import Outputs

_TOGETHER = 64  # rows in one pass
_ROUND = 4  # digits of a probability that is told

Shown = list[dict[str, Any]]
_Asked = tuple[Sequence[dict[str, Any] | str], int, float]  # contents, how many labels, how probable


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
        for n in (1, _TOGETHER):
            self.beside.outputs([{}] * n)
        self.beside.warm()
        if not gc.get_freeze_count():  # what is there by now stays: to look through it takes 100 ms each time
            gc.collect()
            gc.freeze()


class Predictor:
    """Answers requests in small batches."""

    def __init__(self, store: DeskStore) -> None:
        self.published: Published | None = None
        self._store = store
        self._asked: Together[_Asked, Suggestions] = Together("predictor", _TOGETHER, self._answers)
        self.close = self._asked.close

    def current(self) -> Published:
        """The model that answers now."""
        if self.published is None:
            raise Conflict("There is no model so far: tag at least two items, one with a label, as done.")
        return self.published

    def suggest(
        self, contents: Sequence[dict[str, Any] | str], limit: int, threshold: float
    ) -> Future[Suggestions]:
        """Labels for each content, or bare text: at most so many, those that are chosen or so probable."""
        return self._asked.ask((contents, limit, threshold))

    def notice(self) -> None:
        """Take in what was stored, while nobody asks: the next question finds it done."""
        self._asked.ask(((), 0, 0.0))

    def _answers(self, batch: list[_Asked]) -> Sequence[Suggestions | Exception]:
        contents = [content for asked in batch for content in asked[0]]
        try:
            published, names = self.current(), self._store.remembered(label_names)
            published.beside.refresh()
            upto = published.position, max(published.position, published.beside.position)
            found = self._found(published.beside, contents) if contents else None
            rows = count()
            return [
                Suggestions(*upto, [_shown(found, next(rows), names, limit, threshold) for _ in asked])
                for asked, limit, threshold in batch
            ]
        except Exception as error:
            return [error] * len(batch)

    def _found(self, beside: Beside, contents: Sequence[dict[str, Any] | str]) -> Outputs:
        column = partial(self._store.remembered, text_column)
        return beside.outputs([{column(): one} if isinstance(one, str) else one for one in contents])


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
