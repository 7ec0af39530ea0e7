"""A server that ends when it is told to, and says no more of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

_ENDING = [signal.SIGINT, signal.SIGTERM]


class QuietServer(uvicorn.Server):
    """Ctrl-C and SIGTERM end it in order, with code 0: uvicorn's own would raise the signal once more."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals while it runs."""
        before = {number: signal.signal(number, self.handle_exit) for number in _ENDING}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
