"""Values that are kept without a lock: a child forked while a thread held it would wait for ever."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar

Value = TypeVar("Value")


class cached_property(functools.cached_property[Value]):  # it stands in for Python's
    """Python's, as it is from 3.12 on: 3.11 holds one lock for all instances while it works out a value.

    Two threads may both work out a value that nothing has asked for before; one of the two is kept.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        super().__init__(function)
        self.lock = contextlib.nullcontext()  # what 3.11 enters; later versions do not look at it
