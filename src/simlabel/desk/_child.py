"""The learner's process as the server sees it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from simlabel.desk._schema import Places

Progress = Callable[[int, int | None, str], None]


class LearnerError(Exception):
    """What the learner could not do, in its words; `gone` where its process ended."""

    def __init__(self, words: str, gone: bool = False) -> None:
        super().__init__(words)
        self.gone = gone


class Child:
    """A process that answers one order at a time."""

    def __init__(self, places: Places) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "simlabel.desk._learner", str(places.store), str(places.models)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a warning may quote what people wrote
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C is for the server, which ends this one
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders, self._answers = self._process.stdin, self._process.stdout
        self._lock = threading.Lock()

    def ask(self, what: str, progress: Progress = lambda *_: None, **order: Any) -> dict[str, Any]:
        """Have something done, and wait for the answer."""
        with self._lock, contextlib.suppress(OSError, ValueError):  # pipes that are closed
            self._orders.write(json.dumps({"do": what, **order}) + "\n")
            self._orders.flush()
            for line in self._answers:
                said = json.loads(line)
                if "answer" in said:
                    answer: dict[str, Any] = said["answer"]
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
            with contextlib.suppress(OSError):
                pipe.close()
