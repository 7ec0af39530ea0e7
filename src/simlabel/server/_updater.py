"""A thread that has the model trained on new changes and publishes the result."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from simlabel.server._journal import position_of
from simlabel.server._learner import Answer, Child, LearnerError
from simlabel.server._model import PendingUpdates, load_model
from simlabel.server._predicting import Predictor, Published
from simlabel.server._schema import files_in
from simlabel.server._store import ServerStore
from simlabel.server._types import StoreError

_GROWN = 4  # growth of the training rows after which all parameters are selected again
_QUIET = 2.0  # seconds without a change before quality is measured
_AGAIN = 60.0  # seconds until a failed fit that is needed is repeated
_SHARE = 20  # measuring quality takes at most 1/20 of the time


class ModelUpdater:
    """Keeps the published model up to date.

    Attributes
    ----------
    insights : dict
        The last order of the waiting items and the last quality.
    state : dict
        The current activity: ``learning``, ``retuning``, ``progress``, ``problem``.
    """

    def __init__(self, store: ServerStore, predictor: Predictor, after: Callable[[], None]) -> None:
        self.store, self.predictor, self._after = store, predictor, after
        self.insights: dict[str, Any] = {"order": [], "suspicious": [], "quality": None}
        self.state: dict[str, Any] = {"position": -1, "rows": 0, "learning": False, "retuning": False}
        self.state |= {"progress": None, "problem": None}
        self._models = store.places.models
        self._child: Child | None = None
        self._retuner: Child | None = None
        self._retuner_from = -1  # the journal position that it reads up to, at least
        self._retuned: Answer | None = None
        self._fitted = -1  # the journal position of the last fit: items forgotten later leave traces in it
        self._want_retune = self._closed = self._failing = False
        self._not_before = 0.0
        self._changed = threading.Condition()
        self._quality_at, self._quality_took, self._advanced_at = 0.0, 0.0, time.monotonic()
        self._retuning = threading.Thread()
        self._thread = threading.Thread(target=self._run, name="updater", daemon=True)

    def start(self) -> None:
        """Open the last snapshot, and update the model from there."""
        self._thread.start()

    def notice(self) -> None:
        """Notify the thread that there may be changes."""
        with self._changed:
            self._changed.notify_all()

    def retune(self) -> bool:
        """Start selecting all parameters again; return False if that is running already."""
        if self.state["retuning"]:
            return False
        self._want_retune = self.state["retuning"] = True
        self.notice()
        return True

    def wait_for(self, done: Callable[[], bool], seconds: float) -> bool:
        """Wait until a condition holds, which is checked after each step of the thread."""
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
            except Exception as error:  # the learner was killed or the disk is full: report it and try again
                busy = False
                self._failed(error)

    def _failed(self, error: Exception) -> None:
        if self._closed:
            return
        self.state |= {"learning": False, "problem": f"The model could not be updated: {error}"[:300]}
        self._failing = True
        if getattr(error, "removed", False):
            self._close_child()  # the next step starts another one from the last snapshot

    def _close_child(self) -> None:
        if self._child is not None:
            self._child.close()
            self._child = None

    def _open_snapshot(self) -> None:
        """Publish the last saved model if it is intact; otherwise a new one is trained."""
        try:
            self._extract_snapshot()
            for row in self.store.rows("SELECT file, position, fitted FROM snapshot"):
                if not -1 <= row["fitted"] <= row["position"] <= self.store.cached_query(position_of):
                    raise StoreError("it includes changes that are not in the store.")
                self._publish(*row)
                if not self.store.read_only:
                    self._remove_but(row["file"])  # left over from a killed process
        except Exception as error:
            self.predictor.published = None
            message = f"The saved model cannot be read, so a new one is trained: {error}"
            self.state["problem"] = message[:300]

    def _extract_snapshot(self) -> None:
        """Write the model inside an opened backup to a file of the models folder."""
        for row in self.store.rows("SELECT model FROM snapshot WHERE model IS NOT NULL"):
            if self.store.read_only:
                raise StoreError("the backup is in a read-only folder: copy it elsewhere.")
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
        """Do the next task that is due; return whether there was one."""
        if self.store.read_only:
            return False
        self.store.try_again()
        if self._retuned is not None:
            self._adopt_model(self._retuned)
        if self.store.cached_query(position_of) > self.state["position"]:
            self._follow()
        elif not self._erase_rest():
            if not self._want_retune:
                return self._run_idle_work()
            self._start_retuning()
        return True

    def _adopt_model(self, found: Answer) -> None:
        """Continue from a newly fitted model, or from none if the fit found too few items."""
        if found["file"] is None:
            self._close_child()
            self.predictor.published = None
        learner = self._learner()
        if found["file"] is not None:
            learner.ask("load", **{name: found[name] for name in ("file", "position", "fitted")})
        self._retuned = None
        self.state["position"] = -1  # so that the new model is published

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
        self._record_snapshot(file, position, fitted)
        self.state |= {"position": position, "rows": answer["rows"]}
        self.state |= {"learning": False, "progress": None, "problem": None}
        if answer["tuned"] and answer["rows"] >= _GROWN * answer["tuned"]:
            self.retune()

    def _publish(self, file: str | None, position: int, fitted: int) -> None:
        """Publish a model file, or no model."""
        if file is None:
            self.predictor.published, self._fitted = None, fitted
            return
        model = load_model(self.store.places.snapshot(file))
        published = Published(model, position, file, PendingUpdates(self.store, model, position))
        published.warm()
        self.predictor.published, self._fitted = published, fitted
        self.state["position"] = position

    def _record_snapshot(self, file: str | None, position: int, fitted: int) -> None:
        """Store which snapshot is current, and remove the others."""
        if file is None:
            self.store.execute("DELETE FROM snapshot")
        else:
            self.store.execute("REPLACE INTO snapshot VALUES (1, ?, ?, ?, NULL)", file, position, fitted)
        if self._retuner is None:
            self._remove_but(file)

    def _remove_but(self, file: str | None) -> None:
        current = {file, self._retuned["file"] if self._retuned is not None else file}
        for path in files_in(self._models):
            if path.name not in current:
                path.unlink(missing_ok=True)

    def _progress(self, done: int, total: int | None, title: str) -> None:
        self.state["progress"] = {"done": done, "total": total, "what": title}

    def _erase_rest(self) -> bool:
        """Finish forgetting: update the models and files that contain the items, and erase deleted bytes.

        What the parameters of a model reveal is erased with the next fit, which is started here.
        """
        position = self.state["position"]  # items forgotten later are still in the model and its snapshot
        query = "SELECT seq, remains FROM forgotten WHERE NOT erased AND seq <= ?"
        rows = self.store.rows(query, position)
        if not rows or any(files_in(self.store.places.incoming)):
            return False
        if self._retuner is not None and self._retuner_from < max(row["seq"] for row in rows):
            self._retuner.close()  # it trains on items that are to be forgotten
            self._retuning.join()
        if self._retuned is not None:
            return True  # the next step adopts it, and makes it forget
        published = self.predictor.published
        remaining = published and any(row["seq"] > self._fitted and row["remains"] != "[]" for row in rows)
        if self._retuner is not None or remaining:
            if time.monotonic() >= self._not_before:
                self._want_retune = self.state["retuning"] = self._want_retune or self._retuner is None
            return False
        self._remove_but(published.file if published else None)
        self.store.write_and_wait(_erase_quotes)
        self.store.shrink()
        self.store.execute("UPDATE forgotten SET erased = 1, remains = '[]' WHERE seq <= ?", position)
        return True

    def _start_retuning(self) -> None:
        self._want_retune = False
        self.state["retuning"] = self.predictor.published is not None
        if self.state["retuning"]:
            self._retuner, self._retuner_from = Child(self.store.places), self.store.cached_query(position_of)
            self._retuning = threading.Thread(target=self._retune, args=(self._retuner,), daemon=True)
            self._retuning.start()

    def _retune(self, child: Child) -> None:
        try:
            self._retuned = child.ask("retune", self._progress, file=_new_name())
            self.state["retuning"] = False
        except LearnerError as error:
            self._not_before = time.monotonic() + _AGAIN
            if error.gone and not self._closed:
                self._want_retune = True  # ended because an item is to be forgotten: repeat it
            else:
                self.state |= {"problem": str(error), "retuning": False}
        finally:
            self.state["progress"] = None
            child.close()
            self._retuner = None
            self.notice()

    def _run_idle_work(self) -> bool:
        """Order the waiting items and, after a quiet period, measure quality."""
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


def _erase_quotes(db: sqlite3.Connection) -> None:
    """Erase the messages of import problems, which may quote forgotten content."""
    erased = "json_object('row', json_extract(value, '$.row'), 'problem', 'Erased with an item.')"
    problems = f"(SELECT json_group_array({erased}) FROM json_each(data, '$.problems'))"
    db.execute(
        f"UPDATE jobs SET data = json_set(data, '$.problems', {problems}) "
        "WHERE json_array_length(data, '$.problems') > 0"
    )
