"""The model that answers, and a thread that answers those who wait together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from simlabel.desk._problems import Conflict
from simlabel.desk._store import DeskStore, Together
from simlabel.desk._teaching import as_rows
from simlabel.desk._views import label_names, text_column

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.desk._beside import Beside

_TOGETHER = 64  # rows in one pass
_ROUND = 4  # digits of a probability that is told
_MOVED = 0.05  # by plain sums: beyond, a label is chosen from a half on, whatever the model's rule says

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

    @property
    def columns(self) -> list[str]:
        """Names of the columns that it reads."""
        names: list[str] = self.model.feature_names_in_.tolist()
        return names

    def warm(self) -> None:
        """Have made ready what the first prediction would make ready, so that nobody waits for it."""
        for n in (1, _TOGETHER):
            self.model.outputs(as_rows([{}] * n, self.columns))
        self.beside.warm()


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

    def _answers(self, batch: list[_Asked]) -> Sequence[Suggestions | Exception]:
        contents = [content for asked in batch for content in asked[0]]
        try:
            published, names = self.current(), self._store.remembered(label_names)
            found = iter(self._found(published, contents) if contents else ())
            upto = published.position, max(published.position, published.beside.position)
            labels = published.beside.labels
            return [
                Suggestions(*upto, [_shown(*next(found), labels, names, limit, threshold) for _ in asked])
                for asked, limit, threshold in batch
            ]
        except Exception as error:
            return [error] * len(batch)

    def _found(self, published: Published, contents: list[dict[str, Any] | str]) -> Iterator[tuple[Any, Any]]:
        """Probabilities, and which labels are chosen, for each content."""
        column = partial(self._store.remembered, text_column)
        given = [{column(): one} if isinstance(one, str) else one for one in contents]
        rows, beside = as_rows(given, published.columns), published.beside
        outputs = published.model.outputs(rows)
        beside.refresh()
        probable = beside.shifted(rows, outputs.probabilities)
        n, chosen = outputs.probabilities.shape[1], probable >= 0.5
        stays = abs(probable[:, :n] - outputs.probabilities) <= _MOVED
        chosen[:, :n][stays] = outputs.sets.toarray()[stays]
        return zip(probable, chosen, strict=True)


def _shown(
    probable: Any, chosen: Any, labels: list[str], names: dict[int, str], limit: int, threshold: float
) -> Shown:
    shown: Shown = []
    for k in (-probable).argsort(kind="stable").tolist():
        number, value, given = int(labels[k]), float(probable[k]), bool(chosen[k])
        if number in names and (given or value >= threshold):
            told = {"label": names[number], "probability": round(value, _ROUND), "chosen": given}
            shown.append({"number": number, **told})
            if len(shown) == limit:
                break
    return shown
