"""Warnings that save an afternoon: one line each, with the way out."""

from __future__ import annotations

import sys
import warnings


class SimlabelWarning(UserWarning):
    """Whatever this library warns of; each message says what to do about it.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", SimlabelWarning)
    """


class DataWarning(SimlabelWarning):
    """Rows or labels, as they were given, that are likely not what was meant."""


class TuningWarning(SimlabelWarning):
    """A search whose choice means little."""


class PredictionWarning(SimlabelWarning):
    """Answers that do not depend on what was asked."""


def advise(message: str, category: type[SimlabelWarning]) -> None:
    """Warn, with the line of the caller outside of this library.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     advise("label 'sea' is in all rows: leave it out.", DataWarning)
    >>> told[0].category.__name__
    'DataWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def _is_ours(module: object) -> bool:
    return str(module).partition(".")[0] == "simlabel"
