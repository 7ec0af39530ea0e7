"""Warnings of this library, and the function that issues them."""

from __future__ import annotations

import sys
import warnings


class SimlabelWarning(UserWarning):
    """Base class of the warnings of this library; each message says what to do.

    Examples
    --------
    >>> import warnings
    >>> warnings.simplefilter("ignore", SimlabelWarning)
    """


class DataWarning(SimlabelWarning):
    """Suspicious rows or labels in the input."""


class TuningWarning(SimlabelWarning):
    """Unreliable results of a parameter search."""


class PredictionWarning(SimlabelWarning):
    """Predictions that are the same for all rows."""


def warn_user(message: str, category: type[SimlabelWarning]) -> None:
    """Issue a warning that names the line of the first caller outside this library.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_user("label 'sea' is in all rows: leave it out.", DataWarning)
    >>> caught[0].category.__name__
    'DataWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "simlabel":
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
