"""stdout and stderr as the verbs need them: open, able to carry any text, and of a sound width."""

from __future__ import annotations

import io
import os
import sys


def prepare_streams() -> None:
    r"""Make up for a closed stream, for an encoding without some characters, and for a width of 0.

    A closed stdout (``>&-``) fails with an error when something is written to it; what goes to a closed
    stderr is dropped. A character that the encoding does not have is shown as an escape (``\xe4``).
    """
    # the numbers must be taken: the next file that is opened would get them, and what is printed with them
    if sys.stdout is None:
        sys.stdout = _opened(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _opened(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "1")
    if not columns.isdigit() or int(columns) == 0:  # rich would print lines of no width
        del os.environ["COLUMNS"]


def _opened(number: int, flags: int) -> io.TextIOWrapper:
    """The null device as this stream; a write fails where it is opened for reading."""
    handle = os.open(os.devnull, flags)
    if handle != number:
        os.dup2(handle, number)
        os.close(handle)
    return open(number, "w", encoding="utf-8", closefd=False)


def drop_output() -> None:
    """Send what is still in the buffers of stdout nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
