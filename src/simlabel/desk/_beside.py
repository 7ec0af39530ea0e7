"""What a model has not learnt: items that changed since, and items that are not done, in plain sums.

Each says of the labels that are known of it how far the model is off, 1 or 0 minus the probability that it
gives. The more alike a row and the item are, the more of that is added to what the model says of the row:
s(row, item) / (penalty + sum of s(item, other)), which goes over these items, itself among them, that know
the label. For one item that is what ridge regression would change if it learnt it and held what it knows of
the rest; items that are alike share what one of them would say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.desk._store import DeskStore
from simlabel.desk._teaching import Lesson, as_rows, lessons_where, position_of

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.engines import Job, Prepared

_NEW, _MOST = 32, 256  # items that are taken in at once, and kept: the newest; the others wait to be learnt
_EDGE = 1e-4  # nothing is certain
_PART = "i.id IN (SELECT id FROM items WHERE {} ORDER BY revision DESC LIMIT ?)"
_NOT_DONE = "status = 'waiting' AND EXISTS (SELECT 1 FROM tags WHERE item = items.id)"
_TOUCHED = "SELECT id FROM items WHERE revision > ?1 UNION SELECT item FROM forgotten WHERE seq > ?1"

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class _Note:
    """An item as the model compares it, and how far the model is off for its labels."""

    revision: int
    row: sp.csr_array
    off: dict[str, float]


class Beside:
    """Notes on the items that one model lacks; `position` is the last change that they count.

    Parameters
    ----------
    position : int
        Up to where the model has learnt.
    """

    def __init__(self, store: DeskStore, model: Tagger, position: int) -> None:
        self._store, self._model, self.position = store, model, position
        self._notes: dict[int, _Note] = {}
        self._summed: tuple[Prepared, Job] | None = None
        self.labels: list[str] = model.classes_.tolist()
        with store.reading() as db:
            self._take(lessons_where(db, _PART.format(_NOT_DONE), _MOST))

    def refresh(self) -> None:
        """Take in what was stored since."""
        now = self._store.remembered(position_of)
        if now == self.position:
            return
        with self._store.reading() as db:
            gone = [item for (item,) in db.execute(_TOUCHED, (self.position,))]
            new = lessons_where(db, _PART.format("revision > ?"), self.position, _NEW)
        for item in gone:
            self._notes.pop(item, None)
        self._take(new)
        self.position = now

    def warm(self) -> None:
        """Have made ready what the first note would make ready."""
        self._take([Lesson(0, 0, {}, frozenset(), frozenset(), True)])
        rows = as_rows([{}], self._model.feature_names_in_.tolist())
        self.shifted(rows, self._model.predict_proba(rows))
        self._notes.pop(0, None)  # where notes are as many as are kept, it was the oldest
        self._summed = None

    def _take(self, lessons: Sequence[Lesson]) -> None:
        told = [one for one in lessons if one.done or one.labels or one.rejected]
        self._summed = None
        if not told:
            return
        rows = as_rows([one.content for one in told], self._model.feature_names_in_.tolist())
        encoded, known = self._encoded(rows), self._model.classes_.tolist()
        for at, (lesson, probable) in enumerate(zip(told, self._model.predict_proba(rows), strict=True)):
            said = dict(zip(known, probable.tolist(), strict=True))
            absent = said.keys() - lesson.labels if lesson.done else lesson.rejected
            off = {label: 1.0 - said.get(label, 0.0) for label in lesson.labels}
            off |= {label: -said[label] for label in absent if label in said}
            self._notes[lesson.item] = _Note(lesson.revision, encoded[[at]], off)
        for item in sorted(self._notes, key=lambda item: self._notes[item].revision)[:-_MOST]:
            del self._notes[item]

    def _encoded(self, rows: list[dict[str, Any]]) -> sp.csr_array:
        from simlabel.tables import table_cells

        encoder = self._model.encoder_
        assert encoder is not None
        return encoder.encode(encoder.aligned(table_cells(rows)))

    def shifted(self, rows: list[dict[str, Any]], probabilities: Floats) -> Floats:
        """Probabilities with what the notes add, (n_rows, n_labels), labels as in `labels`."""
        if not self._notes:
            return probabilities
        from simlabel.engines import Exact, ReduceCall

        if self._summed is None:
            self._summed = self._sums()
        prepared, job = self._summed
        (shift,) = Exact().reduce(ReduceCall(self._encoded(rows), prepared, [job], None, False, 1))
        new = shift.shape[1] - probabilities.shape[1]
        return np.clip(np.pad(probabilities, ((0, 0), (0, new))) + shift, _EDGE, 1 - _EDGE)

    def _sums(self) -> tuple[Prepared, Job]:
        """All notes as rows, and what each adds for each label per unit of similarity."""
        from simlabel.engines import Job, prepare, reducer_for, similarity_sums

        similarity = self._model.similarity_
        known = self._model.classes_.tolist()
        self.labels = list(dict.fromkeys([*known, *(k for note in self._notes.values() for k in note.off)]))
        place = {label: k for k, label in enumerate(self.labels)}
        X = sp.csr_array(sp.vstack([note.row for note in self._notes.values()], format="csr"))
        off, known_of = np.zeros((2, X.shape[0], len(self.labels)))
        for row, says, note in zip(off, known_of, self._notes.values(), strict=True):
            at = [place[label] for label in note.off]
            row[at], says[at] = list(note.off.values()), 1.0
        S = abs(similarity_sums(X, X, np.eye(X.shape[0]), similarity, engine="exact"))
        V = off / (self._model.influence_.penalty + S @ known_of)
        return prepare(X, [similarity], keep_views=True), Job(similarity, None, reducer_for(None, V))
