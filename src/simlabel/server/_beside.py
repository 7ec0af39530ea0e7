"""What a model has not learnt: items that changed since, and items that are not done, in plain sums."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel.labels import Partial
from simlabel.server._store import DeskStore
from simlabel.server._teaching import Lesson, as_rows, lessons_where, position_of

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.model import Notes, Outputs

_NEW, _MOST = 32, 256  # items that are taken in at once, and kept: the newest; the others wait to be learnt
_PART = "i.id IN (SELECT id FROM items WHERE {} ORDER BY revision DESC LIMIT ?)"
_NOT_DONE = "status = 'waiting' AND EXISTS (SELECT 1 FROM tags WHERE item = items.id)"
_TOUCHED = "SELECT id FROM items WHERE revision > ?1 UNION SELECT item FROM forgotten WHERE seq > ?1"


class Beside:
    """Notes on the items that one model lacks; `position` is the last change that they count.

    Parameters
    ----------
    position : int
        Up to where the model has learnt.
    """

    def __init__(self, store: DeskStore, model: Tagger, position: int) -> None:
        self._store, self._model, self.position = store, model, position
        self._columns: list[str] = model.feature_names_in_.tolist()
        self._items: list[tuple[int, int]] = []  # revisions and numbers of those that are noted, rising
        self._notes: Notes | None = None
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
        items, notes = self._items, self._notes
        self._take([Lesson(0, 0, {}, frozenset(), frozenset(), True)])
        self.outputs([{}])
        self._items, self._notes = items, notes

    def outputs(self, contents: Sequence[dict[str, Any]]) -> Outputs:
        """What the model says of contents, and what the notes add."""
        return self._model.outputs(as_rows(contents, self._columns), self._notes)

    def _take(self, lessons: Sequence[Lesson], gone: Collection[int] = ()) -> None:
        """Note some items, in place of what was noted of them and of those that are gone."""
        told = [one for one in lessons if one.done or one.labels or one.rejected]
        left = {*gone, *(one.item for one in told)}
        kept = [at for at, (_, item) in enumerate(self._items) if item not in left]
        if not told and len(kept) == len(self._items):
            return
        items = [self._items[at] for at in kept] + [(one.revision, one.item) for one in told]
        notes = self._notes.part(np.array(kept)) if self._notes is not None and kept else None
        if told:
            rows = as_rows([one.content for one in told], self._columns)
            y = [set(one.labels) if one.done else Partial(one.labels, one.rejected) for one in told]
            more = self._model.noted(rows, y)
            notes = more if notes is None else notes + more
        newest = sorted(range(len(items)), key=items.__getitem__)[-_MOST:]
        self._items = [items[at] for at in newest]
        self._notes = None if notes is None else notes.part(np.array(newest))
