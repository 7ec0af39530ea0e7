"""The model that answers, and a thread that answers those who wait together."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simlabel.desk._problems import NotYet
from simlabel.desk._teaching import as_rows

if TYPE_CHECKING:
    from simlabel import Tagger

_TOGETHER = 64  # rows in one pass
_ROUND = 4  # digits of a probability that is told


@dataclass(frozen=True)
class Published:
    """A model that answers, whole; another takes its place by one assignment."""

    model: Tagger
    position: int
    file: str

    @property
    def columns(self) -> list[str]:
        """Names of the columns that it reads."""
        names: list[str] = self.model.feature_names_in_.tolist()
        return names

    def warm(self) -> None:
        """Have made ready what the first prediction would make ready, so that nobody waits for it."""
        for n in (1, _TOGETHER):
            self.model.outputs(as_rows([{}] * n, self.columns))


@dataclass(frozen=True)
class Suggestion:
    """A label by its number, how probable it is, and whether the model would give it."""

    label: int
    probability: float
    chosen: bool


class Predictor:
    """Answers requests in small batches."""

    def __init__(self) -> None:
        self.published: Published | None = None
        self._waiting: queue.SimpleQueue[tuple[Sequence[dict[str, Any]], Future[Any]] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._work, name="predictor", daemon=True)
        self._thread.start()

    def current(self) -> Published:
        """The model that answers now."""
        if self.published is None:
            raise NotYet(
                "There is no model so far: tag at least two items, one of them with a label, as done."
            )
        return self.published

    def suggest(self, contents: Sequence[dict[str, Any]]) -> Future[list[list[Suggestion]]]:
        """For each content all labels that the model knows, the most probable first."""
        done: Future[list[list[Suggestion]]] = Future()
        self._waiting.put((contents, done))
        return done

    def close(self) -> None:
        """End the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._waiting.get()) is not None:
            batch, n = [first], len(first[0])
            while n < _TOGETHER and not self._waiting.empty():
                more = self._waiting.get()
                if more is None:
                    self._waiting.put(None)
                    break
                batch.append(more)
                n += len(more[0])
            try:
                found = iter(self._answers([content for contents, _ in batch for content in contents]))
                answers = [[next(found) for _ in contents] for contents, _ in batch]
            except Exception as error:
                for _, future in batch:
                    future.set_exception(error)
                continue
            for (_, future), answer in zip(batch, answers, strict=True):
                future.set_result(answer)

    def _answers(self, contents: list[dict[str, Any]]) -> list[list[Suggestion]]:
        if not contents:
            return []
        published = self.current()
        outputs = published.model.outputs(as_rows(contents, published.columns))
        labels = [int(label) for label in published.model.classes_]
        answers = []
        for row, columns in zip(outputs.probabilities, outputs.columns, strict=True):
            chosen, order = set(columns.tolist()), (-row).argsort(kind="stable")
            answers.append(
                [Suggestion(labels[k], round(float(row[k]), _ROUND), k in chosen) for k in order.tolist()]
            )
        return answers
