"""The learning process: it reads the store, updates the model and writes it to a file.

Training in a process of its own keeps the server responsive; the server uses it through `Child`. Requests and
answers are lines of JSON. Nothing is printed: errors are answers. The process ends when the server ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from simlabel._utils.progress import report_progress_to
from simlabel.server._model import Changes, changes_since, fit_model, insights, load_model, update_model
from simlabel.server._schema import StorePaths, read_connection

if TYPE_CHECKING:
    from simlabel import Tagger

Answer = dict[str, Any]
LearnerProgress = Callable[[int, int | None, str], None]
_REST = 1.0  # maximum pause in seconds between updates; pending updates cover the changes meanwhile
_ENVIRONMENT = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
_ENVIRONMENT["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # the default pool reserves 1 GiB of address space
_MAIN = "from simlabel.server._learner import run_learner; run_learner()"


def start_child(main: str, *arguments: Path | float) -> subprocess.Popen[str]:
    """Start a Python process that runs some code and communicates in lines of text."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", main, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a warning may quote content
        env=os.environ | _ENVIRONMENT,
        start_new_session=True,  # Ctrl-C is for the server, which ends this process
        encoding="utf-8",
    )


def silent_stdout() -> Any:
    """Return a stream to stdout, and redirect what libraries print there to the null device."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return out


class LearnerError(Exception):
    """An error of the learning process; `gone` if the process has ended."""

    def __init__(self, message: str, gone: bool = False) -> None:
        super().__init__(message)
        self.gone = gone


class Child:
    """A learning process, which handles one request at a time."""

    def __init__(self, places: StorePaths) -> None:
        self._process = start_child(_MAIN, places.store, places.models)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()

    def ask(self, what: str, progress: LearnerProgress = lambda *_: None, **order: Any) -> Answer:
        """Call a method of the process's `Learner` and return its answer."""
        with self._lock, suppress(OSError, ValueError):  # closed pipes
            self._orders.write(json.dumps({"do": what, **order}) + "\n")
            self._orders.flush()
            for line in self._answers:
                message = json.loads(line)
                if "answer" in message:
                    answer: Answer = message["answer"]
                    return answer
                if "error" in message:
                    raise LearnerError(message["error"])
                progress(*message["progress"])
        raise LearnerError("The learning process has ended.", gone=True)

    def close(self) -> None:
        """End the process; unfinished work is lost and repeated later."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._orders, self._answers):
            with suppress(OSError):
                pipe.close()


class Learner:
    """A model and the journal position up to which it is trained."""

    def __init__(self, store: Path, models: Path) -> None:
        self.store, self.models = store, models
        self.model: Tagger | None = None
        self.position = self.fitted = -1  # journal positions of the last update and of the last fit
        self.file: str | None = None  # the file of this model, if it is saved
        self._next_update = 0.0

    def load(self, file: str, position: int, fitted: int) -> Answer:
        """Load a model file."""
        self.model, self.file = load_model(self.models / file), file
        self.position, self.fitted = position, fitted
        return {"position": position}

    def follow(self, file: str) -> Answer:
        """Update the model with the new changes of the journal; if it differs, write it to a file.

        Before an update that follows directly, the process pauses for as long as the last one took (at most
        `_REST` seconds), so that changes are collected.
        """
        time.sleep(max(0.0, self._next_update - time.monotonic()))
        started, changes = time.monotonic(), self._changes(self.position)
        known = set() if self.model is None else set(self.model.ids_.tolist())
        if changes.labeled_items or known & changes.touched:
            model = None if self.model is None else update_model(self.model, changes)
            if model is None:
                self._fit()
            else:
                self.model, self.file = model, None
        self.position = max(self.position, changes.position)
        answer = self._save(file)
        self._next_update = time.monotonic() + min(_REST, time.monotonic() - started)
        return answer

    def retune(self, file: str) -> Answer:
        """Fit a new model on the current store, without any influence of items that were removed."""
        self._fit()
        return self._save(file)

    def _fit(self) -> None:
        changes = self._changes(-1)
        self.model, self.file = fit_model(changes.labeled_items), None
        self.position = self.fitted = changes.position

    def insights(self, quality: bool) -> Answer:
        """Return the order of the waiting items and, if requested, the model's quality."""
        if self.model is None:
            return {"position": self.position, "order": []}
        with closing(read_connection(self.store)) as db:
            return {"position": self.position, **insights(db, self.model, quality=quality)}

    def _changes(self, position: int) -> Changes:
        with closing(read_connection(self.store)) as db:
            return changes_since(db, position)

    def _save(self, file: str) -> Answer:
        positions = {"position": self.position, "fitted": self.fitted}
        if self.model is None:
            return {**positions, "file": None, "rows": 0, "tuned": 0}
        if self.file is None:
            self.model.save(self.models / file)
            self.file = file
        n, tuned = self.model.n_references_, self.model.tuning_.n_rows
        return {**positions, "file": self.file, "rows": n, "tuned": tuned}


def run_learner() -> None:
    """Answer the requests on stdin until it is closed."""
    learner = Learner(*map(Path, sys.argv[1:3]))
    os.nice(5)  # requests of users have priority
    out = silent_stdout()
    orders: SimpleQueue[Answer] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders.put,), daemon=True).start()

    def send(answer: Answer) -> None:
        out.write(json.dumps(answer) + "\n")
        out.flush()

    while True:
        order = orders.get()
        what = order.pop("do")
        try:
            with report_progress_to(lambda done, total, title: send({"progress": [done, total, title]})):
                send({"answer": getattr(learner, what)(**order)})
        except Exception as error:
            send({"error": f"{type(error).__name__}: {error}"[:500]})


def _listen(put: Callable[[Answer], None]) -> None:
    for line in sys.stdin:
        put(json.loads(line))
    os._exit(0)  # the server has ended; unfinished training is repeated by the next one
