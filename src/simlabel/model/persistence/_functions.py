"""Python functions and classes, known by name: a file holds the name alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_FUNCTIONS: dict[str, Callable[..., Any]] = {}


def register(name: str, fn: Callable[..., Any]) -> None:
    """Give a function, or a class of similarities, a name by which models that use it are saved and loaded.

    A model file never holds code. Register the same under the same name before `load`; a name
    that is given anew stands for the new function. Of an object of the class the file holds its
    parameters, and what its `fitted_state` names.

    Parameters
    ----------
    name : str
        What the file says.
    fn : callable
        A similarity, a weighting or a label rule as a function; or a subclass of `Similarity`.

    Examples
    --------
    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> register("shared letters", shared_letters)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register: name must be a non-empty string, got {name!r}.")
    if not callable(fn):
        raise TypeError(f"register: fn must be callable, got {fn!r}.")
    _FUNCTIONS[name] = fn


def name_of(fn: Callable[..., Any]) -> str | None:
    """The name of a registered function, or None."""
    return next((name for name, known in _FUNCTIONS.items() if known is fn), None)


def function(name: str) -> Callable[..., Any] | None:
    """The function of that name, or None."""
    return _FUNCTIONS.get(name)
