"""The model follows the journal: a thread that has changes learnt, and puts the new model in place."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simlabel.server._learner import Answer, Child, LearnerError
from simlabel.server._predicting import Predictor, Published
from simlabel.server._problems import StoreError
from simlabel.server._schema import files_in
from simlabel.server._store import DeskStore
from simlabel.server._teaching import opened, position_of

_GROWN = 4  # times the rows on which its values were chosen: they are chosen anew
_QUIET = 2.0  # seconds without a change before quality is measured
_AGAIN = 60.0  # seconds after which a fit that failed, and is needed, is tried again
_SHARE = 20  # measuring quality takes at most a twentieth of the time


class Follower:
    """Keeps the published model up to date.

    Attributes
    ----------
    insights : dict
        What the learner last said of waiting items and of quality.
    state : dict
        What it is doing, for people: ``learning``, ``retuning``, ``progress``, ``problem``.
    """

    def __init__(self, store: DeskStore, predictor: Predictor, after: Callable[[], None]) -> None:
        self.store, self.predictor, self._after = store, predictor, after
        self.insights: dict[str, Any] = {"order": [], "suspicious": [], "quality": None}
        self.state: dict[str, Any] = {"position": -1, "rows": 0, "learning": False, "retuning": False}
        self.state |= {"progress": None, "problem": None}
        self._models = store.places.models
        self._child: Child | None = None
        self._retuner: Child | None = None
        self._retuner_from = -1  # it has not seen more than this
        self._retuned: Answer | None = None
        self._fitted = -1  # up to where all of the model was chosen: what was forgotten later remains in it
        self._want_retune = self._closed = self._failing = False
        self._not_before = 0.0
        self._changed = threading.Condition()
        self._quality_at, self._quality_took, self._advanced_at = 0.0, 0.0, time.monotonic()
        self._retuning = threading.Thread()
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
        self._want_retune = self.state["retuning"] = True
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
        busy = True
        while not self._closed:
            with self._changed:
                self._changed.notify_all()
                if not busy:
                    self._changed.wait(1.0)
            try:
                busy = not self._closed and self._step()
                if self._failing:
                    self._failing, self.state["problem"] = False, None
            except Exception as error:  # the learner was killed, the disk is full: said, and tried again
                busy = False
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self._closed:
            return
        self.state |= {"learning": False, "problem": f"The model could not follow: {error}"[:300]}
        self._failing = True
        if getattr(error, "gone", False) and self._child is not None:
            self._child.close()
            self._child = None  # the next step starts another, from the last snapshot

    def _open_snapshot(self) -> None:
        """The model that was published last, if there is one, whole; else it is learnt again."""
        try:
            self._take_out()
            for row in self.store.rows("SELECT file, position, fitted FROM snapshot"):
                if not -1 <= row["fitted"] <= row["position"] <= self.store.remembered(position_of):
                    raise StoreError("it is of changes that the store has not got.")
                self._publish(*row)
                if not self.store.read_only:
                    self._remove_but(row["file"])  # what a kill has left
        except Exception as error:
            self.predictor.published = None
            self.state["problem"] = f"The last model cannot be read, it is learnt again: {error}"[:300]

    def _take_out(self) -> None:
        """Of a backup that is opened: the model that came within it, under a name of our own."""
        for row in self.store.rows("SELECT model FROM snapshot WHERE model IS NOT NULL"):
            if self.store.read_only:
                raise StoreError("a backup is opened where nothing can be written: copy it elsewhere.")
            name = _new_name()
            with self.store.places.snapshot(name).open("xb") as file:
                file.write(row["model"])
            self.store.execute("UPDATE snapshot SET file = ?, model = NULL", name)
            self.store.shrink()

    def _learner(self) -> Child:
        if self._child is None:
            self._child = Child(self.store.places)
            published = self.predictor.published
            if published is not None:
                order: Answer = {"position": published.position, "fitted": self._fitted}
                self._child.ask("load", file=published.file, **order)
        return self._child

    def _step(self) -> bool:
        """Do the next thing that is due; whether there was one."""
        if self.store.read_only:
            return False
        self.store.try_again()
        if self._retuned is not None:
            self._take_over(self._retuned)
        if self.store.remembered(position_of) > self.state["position"]:
            self._follow()
        elif not self._erase_rest():
            if not self._want_retune:
                return self._look_around()
            self._start_retuning()
        return True

    def _take_over(self, found: Answer) -> None:
        """Have the learner go on from a model that was fitted; where there is none, from nothing."""
        if found["file"] is None and self._child is not None:
            self._child.close()
            self._child = None
        self.predictor.published = self.predictor.published if found["file"] else None
        learner = self._learner()
        if found["file"] is not None:
            learner.ask("load", **{name: found[name] for name in ("file", "position", "fitted")})
        self._retuned = None
        self.state["position"] = -1  # whatever it has, the new one is published

    def _follow(self) -> None:
        self.state["learning"] = True
        self._advanced_at = time.monotonic()
        answer = self._learner().ask("follow", self._progress, file=_new_name())
        file, position, published = answer["file"], answer["position"], self.predictor.published
        fitted = answer["fitted"]
        if published is not None and published.file == file:
            self.predictor.published, self._fitted = replace(published, position=position), fitted
        else:
            self._publish(file, position, fitted)
        self._keep(file, position, fitted)
        self.state |= {"position": position, "rows": answer["rows"]}
        self.state |= {"learning": False, "progress": None, "problem": None}
        if answer["tuned"] and answer["rows"] >= _GROWN * answer["tuned"]:
            self.retune()

    def _publish(self, file: str | None, position: int, fitted: int) -> None:
        """Have a model answer, or none."""
        from simlabel.server._beside import Beside  # here: the desk takes changes before there is a model

        if file is None:
            self.predictor.published, self._fitted = None, fitted
            return
        model = opened(self.store.places.snapshot(file))
        published = Published(model, position, file, Beside(self.store, model, position))
        published.warm()
        self.predictor.published, self._fitted = published, fitted
        self.state["position"] = position

    def _keep(self, file: str | None, position: int, fitted: int) -> None:
        """Note which snapshot counts, and remove the others."""
        if file is None:
            self.store.execute("DELETE FROM snapshot")
        else:
            self.store.execute("REPLACE INTO snapshot VALUES (1, ?, ?, ?, NULL)", file, position, fitted)
        if self._retuner is None:
            self._remove_but(file)

    def _remove_but(self, file: str | None) -> None:
        kept = {file, self._retuned["file"] if self._retuned is not None else file}
        for path in files_in(self._models):
            if path.name not in kept:
                path.unlink(missing_ok=True)

    def _progress(self, done: int, total: int | None, title: str) -> None:
        self.state["progress"] = {"done": done, "total": total, "what": title}

    def _erase_rest(self) -> bool:
        """Finish forgetting: models that have learnt the items, their files, and the bytes that were deleted.

        What a model was chosen by goes with the next one that is fitted: that is begun here.
        """
        learnt = self.state["position"]  # what is forgotten later is still in the model, and in its snapshot
        rows = self.store.rows("SELECT seq, remains FROM forgotten WHERE NOT erased AND seq <= ?", learnt)
        if not rows or any(files_in(self.store.places.incoming)):
            return False
        if self._retuner is not None and self._retuner_from < max(row["seq"] for row in rows):
            self._retuner.close()  # it learns from what is to be forgotten
            self._retuning.join()
        if self._retuned is not None:
            return True  # it is taken over, and forgets, first
        published = self.predictor.published
        remaining = published and any(row["seq"] > self._fitted and row["remains"] != "[]" for row in rows)
        if self._retuner is not None or remaining:
            if time.monotonic() >= self._not_before:
                self._want_retune = self.state["retuning"] = self._want_retune or self._retuner is None
            return False
        self._remove_but(published.file if published else None)
        self.store.wrote(_without_quotes)
        self.store.shrink()
        self.store.execute("UPDATE forgotten SET erased = 1, remains = '[]' WHERE seq <= ?", learnt)
        return True

    def _start_retuning(self) -> None:
        self._want_retune = False
        self.state["retuning"] = self.predictor.published is not None
        if self.state["retuning"]:
            self._retuner, self._retuner_from = Child(self.store.places), self.store.remembered(position_of)
            self._retuning = threading.Thread(target=self._retune, args=(self._retuner,), daemon=True)
            self._retuning.start()

    def _retune(self, child: Child) -> None:
        try:
            self._retuned = child.ask("retune", self._progress, file=_new_name())
            self.state["retuning"] = False
        except LearnerError as error:
            self._not_before = time.monotonic() + _AGAIN
            if error.gone and not self._closed:
                self._want_retune = True  # ended for something to be forgotten: once more
            else:
                self.state |= {"problem": str(error), "retuning": False}
        finally:
            self.state["progress"] = None
            child.close()
            self._retuner = None
            self.notice()

    def _look_around(self) -> bool:
        """Put waiting items in order, and, when it is quiet, measure quality."""
        now, position = time.monotonic(), self.state["position"]
        due = now - self._quality_at > _SHARE * self._quality_took and now - self._advanced_at > _QUIET
        quality = due and self.insights.get("quality_position") != position
        if self.predictor.published is None or (self.insights.get("position") == position and not quality):
            return False
        found = self._learner().ask("insights", quality=quality)
        if quality:
            self._quality_at, self._quality_took = time.monotonic(), time.monotonic() - now
            found["quality_position"] = found["position"]
            row = self.store.clock(), found["position"], json.dumps(found["quality"])
            self.store.execute("REPLACE INTO quality VALUES (?, ?, ?)", *row)
        self.insights = self.insights | found
        self._after()
        return True


def _new_name() -> str:
    return secrets.token_hex(8) + ".simlabel"


def _without_quotes(db: sqlite3.Connection) -> None:
    """Take out what the problems of imports quote: it may be of what is forgotten."""
    erased = "json_object('row', json_extract(value, '$.row'), 'problem', 'Erased with an item.')"
    problems = f"(SELECT json_group_array({erased}) FROM json_each(data, '$.problems'))"
    db.execute(
        f"UPDATE jobs SET data = json_set(data, '$.problems', {problems}) "
        "WHERE json_array_length(data, '$.problems') > 0"
    )
