"""The process that learns: it reads the store, brings the model up to date and writes it to a file.

The server, which sees it as `Child`, stays free to answer. They speak in lines of JSON; the process ends when
the server does, however that ends. Nothing is printed: errors go back as answers.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from simlabel._utils.progress import heard_by
from simlabel.server._child import start_child
from simlabel.server._insights import insights
from simlabel.server._schema import Places, read_connection
from simlabel.server._teaching import Changes, changes_since, fitted, followed, opened

if TYPE_CHECKING:
    from simlabel import Tagger

Answer = dict[str, Any]
Progress = Callable[[int, int | None, str], None]
_REST = 1.0  # seconds at most between two times of learning: plain sums have what comes meanwhile
_MAIN = "from simlabel.server._learner import main; main()"


class LearnerError(Exception):
    """What the learner could not do, in its words; `gone` where its process ended."""

    def __init__(self, words: str, gone: bool = False) -> None:
        super().__init__(words)
        self.gone = gone


class Child:
    """A process that answers one order at a time."""

    def __init__(self, places: Places) -> None:
        self._process = start_child(_MAIN, places.store, places.models)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()

    def ask(self, what: str, progress: Progress = lambda *_: None, **order: Any) -> Answer:
        """Have something done, and wait for the answer."""
        with self._lock, suppress(OSError, ValueError):  # pipes that are closed
            self._orders.write(json.dumps({"do": what, **order}) + "\n")
            self._orders.flush()
            for line in self._answers:
                said = json.loads(line)
                if "answer" in said:
                    answer: Answer = said["answer"]
                    return answer
                if "error" in said:
                    raise LearnerError(said["error"])
                progress(*said["progress"])
        raise LearnerError("The learning process has ended.", gone=True)

    def close(self) -> None:
        """End it; what it was at is lost, and learnt again."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with suppress(OSError):
                pipe.close()


class Learner:
    """A model, and up to where in the journal it has learnt."""

    def __init__(self, store: Path, models: Path) -> None:
        self.store, self.models = store, models
        self.model: Tagger | None = None
        self.position = self.fitted = -1  # up to where it has learnt, and where all of it was chosen
        self.file: str | None = None  # that has this very model
        self._rested = 0.0  # from when on it learns again

    def load(self, file: str, position: int, fitted: int) -> Answer:
        """Take over a model that a file has."""
        self.model, self.position, self.file = opened(self.models / file), position, file
        self.fitted = fitted
        return {"position": position}

    def follow(self, file: str) -> Answer:
        """Learn what the journal has by now, and write the model to a file, if it differs.

        Where one change comes upon the other it rests for as long as it took, and takes them together.
        """
        time.sleep(max(0.0, self._rested - time.monotonic()))
        started, changes = time.monotonic(), self._changes(self.position)
        known = set() if self.model is None else set(self.model.ids_.tolist())
        if changes.lessons or known & changes.touched:
            model = None if self.model is None else followed(self.model, changes)
            if model is None:
                self._fit()
            else:
                self.model, self.file = model, None
        self.position = max(self.position, changes.position)
        answer = self._saved(file)
        self._rested = time.monotonic() + min(_REST, time.monotonic() - started)
        return answer

    def retune(self, file: str) -> Answer:
        """Fit a model on what the store has now: nothing in it comes from items that it has no more."""
        self._fit()
        return self._saved(file)

    def _fit(self) -> None:
        changes = self._changes(-1)
        self.model, self.file = fitted(changes.lessons), None
        self.position = self.fitted = changes.position

    def insights(self, quality: bool) -> Answer:
        """What the model says of the items that wait, and of itself."""
        if self.model is None:
            return {"position": self.position, "order": []}
        with closing(read_connection(self.store)) as db:
            return {"position": self.position, **insights(db, self.model, quality=quality)}

    def _changes(self, position: int) -> Changes:
        with closing(read_connection(self.store)) as db:
            return changes_since(db, position)

    def _saved(self, file: str) -> Answer:
        upto = {"position": self.position, "fitted": self.fitted}
        if self.model is None:
            return {**upto, "file": None, "rows": 0, "tuned": 0}
        if self.file is None:
            self.model.save(self.models / file)
            self.file = file
        n, tuned = self.model.n_references_, self.model.tuning_.n_rows
        return {**upto, "file": self.file, "rows": n, "tuned": tuned}


def main() -> None:
    """Answer the lines of stdin until it ends."""
    learner = Learner(*map(Path, sys.argv[1:3]))
    os.nice(5)  # people who wait come first
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what a library prints is no answer
    asked: SimpleQueue[Answer] = SimpleQueue()
    threading.Thread(target=_listen, args=(asked.put,), daemon=True).start()

    def say(answer: Answer) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    while True:
        order = asked.get()
        what = order.pop("do")
        try:
            with heard_by(lambda done, total, title: say({"progress": [done, total, title]})):
                say({"answer": getattr(learner, what)(**order)})
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"[:500]})


def _listen(put: Callable[[Answer], None]) -> None:
    for line in sys.stdin:
        put(json.loads(line))
    os._exit(0)  # the server is gone: whatever is being learnt is learnt again by the next
