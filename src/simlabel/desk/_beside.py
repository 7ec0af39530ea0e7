"""What a model has not learnt: items that changed since, and items that are not done, in plain sums.

Each says of the labels that are known of it how far the model is off, 1 or 0 minus the probability that it
gives. The more alike a row and the item are, the more of that is added to what the model says of the row:
s(row, item) / (penalty + sum of s(item, other)), which goes over these items, itself among them, that know
the label. For one item that is what ridge regression would change if it learnt it and held what it knows of
the rest; items that are alike share what one of them would say.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
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


class Beside:
    """Notes on the items that one model lacks; `position` is the last change that they count.

    Parameters
    ----------
    position : int
        Up to where the model has learnt.
    """

    def __init__(self, store: DeskStore, model: Tagger, position: int) -> None:
        self._store, self._model, self.position = store, model, position
        self.labels: list[str] = model.classes_.tolist()
        self._known, self._columns = self.labels, model.feature_names_in_.tolist()
        self._notes: dict[
            int, int
        ] = {}  # items and their revisions, a row of each of these for each of them:
        self._X = self._encoded(as_rows([{}], self._columns))[:0]  # as the model compares it
        self._off = np.empty((0, len(self.labels)))  # how far the model is off, NaN where nothing is known
        self._new: list[frozenset[str]] = []  # labels that the model does not know
        self._summed: tuple[Prepared, Job] | None = None
        self._take(store.read(lessons_where, _PART.format(_NOT_DONE), _MOST))

    def refresh(self) -> None:
        """Take in what was stored since."""
        now = self._store.remembered(position_of)
        if now == self.position:
            return
        with self._store.reading() as db:
            gone = [item for (item,) in db.execute(_TOUCHED, (self.position,))]
            new = lessons_where(db, _PART.format("revision > ?"), self.position, _NEW)
        self._take(new, gone)
        self.position = now

    def warm(self) -> None:
        """Have made ready what the first note would make ready."""
        self._take([Lesson(0, 0, {}, frozenset(), frozenset(), True)])
        rows = as_rows([{}], self._columns)
        self.shifted(rows, self._model.predict_proba(rows))
        self._take([], {0})  # where notes are as many as are kept, it was the oldest

    def _take(self, lessons: Sequence[Lesson], gone: Collection[int] = ()) -> None:
        """Note some items, in place of what was noted of them and of those that are gone."""
        told = [one for one in lessons if one.done or one.labels or one.rejected]
        left = {*gone, *(one.item for one in told)}
        kept = [at for at, item in enumerate(self._notes) if item not in left]
        if not told and len(kept) == len(self._notes):
            return
        notes = [note for note in self._notes.items() if note[0] not in left]
        X, off, new = self._X[kept], self._off[kept], [self._new[at] for at in kept]
        if told:
            rows = as_rows([one.content for one in told], self._columns)
            X = sp.vstack([X, self._encoded(rows)], format="csr")
            off = np.vstack([off, self._how_far(told, self._model.predict_proba(rows))])
            new += [one.labels.difference(self._known) for one in told]
            notes += [(one.item, one.revision) for one in told]
        newest = np.argsort([revision for _, revision in notes], kind="stable")[-_MOST:].tolist()
        self._notes, self._summed = dict(notes[at] for at in newest), None
        self._X, self._off, self._new = sp.csr_array(X[newest]), off[newest], [new[at] for at in newest]

    def _how_far(self, lessons: Sequence[Lesson], probable: Floats) -> Floats:
        """1 or 0 minus the probability, (n_lessons, n_known_labels); NaN where nothing is known."""
        place = {label: k for k, label in enumerate(self._known)}
        off = np.full(probable.shape, np.nan)
        for row, said, lesson in zip(off, probable, lessons, strict=True):
            absent = (
                slice(None) if lesson.done else [place[label] for label in lesson.rejected & place.keys()]
            )
            row[absent] = -said[absent]
            present = [place[label] for label in lesson.labels & place.keys()]
            row[present] = 1.0 - said[present]
        return off

    def _encoded(self, rows: list[dict[str, Any]]) -> sp.csr_array:
        from simlabel.tables import table_cells

        encoder = self._model.encoder_
        assert encoder is not None
        return encoder.encode(encoder.aligned(table_cells(rows)))

    def shifted(self, rows: list[dict[str, Any]], probabilities: Floats) -> Floats:
        """Probabilities with what the notes add, (n_rows, n_labels), labels as in `labels`."""
        if not self._notes:
            return probabilities
        if self._summed is None:
            self._summed = self._sums()
        shift = _reduced(self._encoded(rows), *self._summed)
        new = shift.shape[1] - probabilities.shape[1]
        return np.clip(np.pad(probabilities, ((0, 0), (0, new))) + shift, _EDGE, 1 - _EDGE)

    def _sums(self) -> tuple[Prepared, Job]:
        """All notes as rows, and what each adds for each label per unit of similarity."""
        from simlabel.engines import Job, prepare, reducer_for

        similarity, n = self._model.similarity_, len(self._notes)
        new = sorted(frozenset().union(*self._new))
        self.labels = [*self._known, *new]
        theirs = [[1.0 if label in each else np.nan for label in new] for each in self._new]
        off = np.hstack([self._off, np.reshape(theirs, (n, len(new)))])
        prepared = prepare(self._X, [similarity], keep_views=True)
        S = abs(_reduced(self._X, prepared, Job(similarity, None, reducer_for(None, np.eye(n)))))
        V = np.nan_to_num(off) / (self._model.influence_.penalty + S @ ~np.isnan(off))
        return prepared, Job(similarity, None, reducer_for(None, V))


def _reduced(Q: sp.csr_array, prepared: Prepared, job: Job) -> Floats:
    from simlabel.engines import Exact, ReduceCall

    return Exact().reduce(ReduceCall(Q, prepared, [job], None, False, 1))[0]
