"""How the command line ends when it is told to; the library itself handles no signal."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from simlabel.cli._streams import drop_output

_ENDING = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_READER_GONE = 141  # 128 + SIGPIPE, which not every system has


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP leave by the way of errors, so that temporary files go; a second one ends at once.

    What is ignored stays so, as under nohup.
    """
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: Any) -> NoReturn:
        for each in ours:
            signal.signal(each, signal.SIG_DFL)
        sys.exit(128 + number)

    for number in ours:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def leave_reader() -> NoReturn:
    """End because nobody reads what is written; what is still in buffers goes nowhere."""
    drop_output()
    sys.exit(_READER_GONE)
