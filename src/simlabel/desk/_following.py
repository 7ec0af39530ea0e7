"""The model follows the journal: a thread that has changes learnt, and puts the new model in place."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any

from simlabel.desk._child import Child, LearnerError
from simlabel.desk._predicting import Predictor, Published
from simlabel.desk._store import DeskStore
from simlabel.desk._teaching import position_of

_GROWN = 4  # times the rows on which its values were chosen: they are chosen anew
_QUIET = 2.0  # seconds without a change before quality is measured
_SHARE = 20  # measuring quality takes at most a twentieth of the time
_ENDING = ".simlabel"

Applied = Callable[[], None]


class Follower:
    """Keeps the published model up to date.

    Attributes
    ----------
    insights : dict
        What the learner last said of waiting items and of quality.
    state : dict
        What it is doing, for people: ``learning``, ``retuning``, ``progress``, ``problem``.
    """

    def __init__(self, store: DeskStore, predictor: Predictor) -> None:
        self.store, self.predictor = store, predictor
        self.insights: dict[str, Any] = {"order": [], "suspicious": [], "quality": None}
        self.state: dict[str, Any] = {
            "position": -1,
            "learning": False,
            "retuning": False,
            "progress": None,
            "problem": None,
            "rows": 0,
        }
        self.after_publishing: Callable[[Published], None] = lambda published: None
        self._models = store.places.models
        self._child: Child | None = None
        self._retuner: Child | None = None
        self._retuned: tuple[str, int] | None = None
        self._retuning = threading.Thread()
        self._want_retune = False
        self._changed = threading.Condition()
        self._closed = False
        self._quality_at, self._quality_took, self._insights_position = 0.0, 0.0, -2
        self._advanced_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        """Open the last snapshot, and follow from there."""
        self._thread.start()

    def notice(self) -> None:
        """Say that there may be something new."""
        with self._changed:
            self._changed.notify_all()

    def retune(self) -> bool:
        """Have all values chosen anew, while the old model answers; False where that is under way."""
        if self.state["retuning"]:
            return False
        self._want_retune = True
        self.state["retuning"] = True
        self.notice()
        return True

    def wait_for(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until something holds, as far as the follower brings it about."""
        with self._changed:
            return self._changed.wait_for(lambda: done() or self._closed, seconds) and done()

    def close(self) -> None:
        """End the thread and its processes."""
        self._closed = True
        self.notice()
        threads = [thread for thread in (self._thread, self._retuning) if thread.ident is not None]
        while True:
            for child in (self._child, self._retuner):
                if child is not None:
                    child.close()
            if not any(thread.is_alive() for thread in threads):
                return
            threads[0].join(0.1)

    # what the thread does

    def _run(self) -> None:
        self._open_snapshot()
        self.notice()
        while not self._closed:
            busy = False
            try:
                busy = self._step()
            except Exception as error:  # the learner was killed, the disk is full: said, and tried again
                self._failed(error)
            with self._changed:
                self._changed.notify_all()
                if not busy and not self._closed:
                    self._changed.wait(1.0)

    def _failed(self, error: Exception) -> None:
        if self._closed:
            return
        self.state["problem"] = f"The model could not follow: {error}"[:300]
        self.state["learning"] = False
        if getattr(error, "gone", False) and self._child is not None:
            self._child.close()
            self._child = None  # the next step starts another, from the last snapshot

    def _open_snapshot(self) -> None:
        """The model that was published last, if there is one, whole."""
        if not self.store.read_only:
            self._models.mkdir(parents=True, exist_ok=True)
            self._take_out_carried()
        known = self._snapshot()
        if known is None:
            return
        try:
            self._publish(known["file"], known["position"])
            if not self.store.read_only:
                self._remove_but(known["file"])  # what a kill has left
        except Exception as error:
            self.state["problem"] = (
                f"The last snapshot of the model cannot be read, it is learnt anew: {error}"[:300]
            )
            self.store.wrote(lambda db: _forget_snapshot(db))

    def _take_out_carried(self) -> None:
        """Of a backup that is opened: the model that came within it."""
        rows = self.store.rows("SELECT name, model FROM carried")
        if not rows:
            return
        for row in rows:
            (self._models / row["name"]).write_bytes(row["model"])
        self.store.wrote(lambda db: db.execute("DELETE FROM carried").rowcount)
        self.store.shrink()

    def _snapshot(self) -> dict[str, Any] | None:
        rows = self.store.rows("SELECT value FROM meta WHERE name = 'snapshot'")
        return json.loads(rows[0]["value"]) if rows else None

    def _learner(self) -> Child:
        if self._child is None:
            self._child = Child(self.store.places)
            published = self.predictor.published
            if published is not None:
                self._child.ask("load", file=published.file, position=published.position)
        return self._child

    def _step(self) -> bool:
        """Do the next thing that is due; whether there was one."""
        if self.store.read_only:
            return False
        if self._retuned is not None:
            (file, position), self._retuned = self._retuned, None
            self._learner().ask("load", file=file, position=position)
            self.state["position"] = -1  # whatever it has, the new one is published
        with self.store.reading() as db:
            position = position_of(db)
        if position > self.state["position"]:
            self._follow()
            return True
        if self._erase_rest():
            return True
        if self._want_retune:
            self._start_retuning()
            return True
        return self._look_around()

    def _follow(self) -> None:
        self.state["learning"] = True
        self._advanced_at = time.monotonic()
        answer = self._learner().ask("follow", self._progress, file=_new_name())
        published = self.predictor.published
        if answer["file"] is None:
            self.predictor.published = None
            self.store.wrote(_forget_snapshot)
        elif published is None or published.file != answer["file"]:
            self._publish(answer["file"], answer["position"])
        else:
            self.predictor.published = Published(published.model, answer["position"], published.file)
        self._keep(answer)
        self.state |= {
            "position": answer["position"],
            "rows": answer["rows"],
            "learning": False,
            "progress": None,
        }
        self.state["problem"] = None
        if answer["tuned"] and answer["rows"] >= _GROWN * answer["tuned"]:
            self.retune()

    def _publish(self, file: str, position: int) -> None:
        from simlabel import Tagger, load  # here: the desk takes changes before there is a model

        model = load(self._models / file)
        assert isinstance(model, Tagger)
        published = Published(model, position, file)
        published.warm()
        self.predictor.published = published
        self.state["position"] = position

    def _keep(self, answer: dict[str, Any]) -> None:
        """Note which snapshot counts, and remove the others."""
        if answer["file"] is not None:
            value = json.dumps({"file": answer["file"], "position": answer["position"]})
            self.store.wrote(
                lambda db: db.execute("REPLACE INTO meta VALUES ('snapshot', ?)", (value,)).rowcount
            )
        if self._retuner is None:
            self._remove_but(answer["file"])

    def _remove_but(self, file: str | None) -> None:
        for path in self._models.iterdir():
            if path.name != file and (self._retuned is None or path.name != self._retuned[0]):
                path.unlink(missing_ok=True)

    def _progress(self, done: int, total: int | None, title: str) -> None:
        self.state["progress"] = {"done": done, "total": total, "what": title}

    def _erase_rest(self) -> bool:
        """Finish forgetting: snapshots that held the items, and the bytes that were deleted."""
        rows = self.store.rows("SELECT item FROM forgotten WHERE NOT erased")
        if not rows or any(self.store.places.incoming.glob("*")):
            return False
        if self._retuner is not None:  # it learns from what is to be forgotten
            self._retuner.close()
            self._retuning.join()
        if self._retuned is not None:
            return True  # it is taken over, and forgets, first
        published = self.predictor.published
        self._remove_but(published.file if published else None)
        self.store.shrink()
        items = [(row["item"],) for row in rows]
        self.store.wrote(
            lambda db: db.executemany("UPDATE forgotten SET erased = 1 WHERE item = ?", items).rowcount
        )
        return True

    def _start_retuning(self) -> None:
        published, self._want_retune = self.predictor.published, False
        if published is None:
            self.state["retuning"] = False
            return
        self._retuner = Child(self.store.places)
        self._retuning = threading.Thread(target=self._retune, args=(self._retuner, published), daemon=True)
        self._retuning.start()

    def _retune(self, child: Child, published: Published) -> None:
        try:
            child.ask("load", file=published.file, position=published.position)
            answer = child.ask("retune", self._progress, file=_new_name())
            self._retuned = (answer["file"], published.position)
            self.state["retuning"] = False
        except LearnerError as error:
            if error.gone and not self._closed:
                self._want_retune = True  # ended for something to be forgotten: once more
            else:
                self.state["problem"], self.state["retuning"] = str(error), False
        finally:
            self.state["progress"] = None
            child.close()
            self._retuner = None
            self.notice()

    def _look_around(self) -> bool:
        """Put waiting items in order, and, when it is quiet, measure quality."""
        if self.predictor.published is None:
            return False
        now = time.monotonic()
        fresh = self._insights_position == self.state["position"]
        due = now - self._quality_at > _SHARE * self._quality_took and now - self._advanced_at > _QUIET
        quality = due and self.insights.get("quality_position") != self.state["position"]
        if fresh and not quality:
            return False
        found = self._learner().ask("insights", quality=quality)
        self._insights_position = found["position"]
        if quality:
            self._quality_at, self._quality_took = time.monotonic(), time.monotonic() - now
            found["quality_position"] = found["position"]
            self._remember(found["position"], found["quality"])
        self.insights = self.insights | found
        self.after_publishing(self.predictor.published)
        return True

    def _remember(self, position: int, quality: dict[str, Any]) -> None:
        at, text = self.store.clock(), json.dumps(quality)
        self.store.wrote(
            lambda db: db.execute("REPLACE INTO quality VALUES (?, ?, ?)", (at, position, text)).rowcount
        )


def _new_name() -> str:
    return secrets.token_hex(8) + _ENDING


def _forget_snapshot(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM meta WHERE name = 'snapshot'")
