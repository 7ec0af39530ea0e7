"""Public names that were others before: what a user wrote goes on working, and says what to write now."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable


def renamed(module: str, names: dict[str, str]) -> Callable[[str], object]:
    """A module's ``__getattr__`` that gives former names, with a FutureWarning.

    Parameters
    ----------
    module : str
        The module's ``__name__``.
    names : dict of str to str
        Former name -> name in the same module now.

    Examples
    --------
    >>> find = renamed("simlabel.similarities", {"Gaussian": "RBF"})
    >>> with warnings.catch_warnings(action="ignore"):
    ...     find("Gaussian").__name__
    'RBF'
    """

    def find(name: str) -> object:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        now = names[name]
        warnings.warn(
            f"{module}.{name} is called {now} now, and the former name will not be understood for ever.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(sys.modules[module], now)

    return find
