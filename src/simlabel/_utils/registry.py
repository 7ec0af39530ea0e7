"""Resolve names, objects and callables to stages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

Stage = TypeVar("Stage")


class Registry(Generic[Stage]):
    """The stages of one kind, by the names that their classes declare.

    Parameters
    ----------
    kind : str
        Name of the parameter, for errors.
    base : type
        Base class of the stages.
    classes : iterable of type
        Classes with a ``name`` that need no arguments.
    from_callable : callable, optional
        Makes a stage from a function; by default functions are refused.

    Examples
    --------
    >>> from simlabel.similarities import SIMILARITIES
    >>> SIMILARITIES.resolve("rbf")
    RBF()
    """

    def __init__(
        self,
        kind: str,
        base: type[Stage],
        classes: Iterable[type[Stage]],
        from_callable: Callable[[Any], Stage] | None = None,
    ) -> None:
        self.kind = kind
        self.base = base
        self.classes: dict[str, type[Stage]] = {getattr(cls, "name"): cls for cls in classes}  # noqa: B009
        self._from_callable = from_callable

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stages."""
        return tuple(self.classes)

    @property
    def choice(self) -> str:
        """The quoted names, separated by commas, for errors."""
        return ", ".join(map(repr, self.names))

    def resolve(self, spec: Any) -> Stage:
        """Return the stage for a name, an object or a callable."""
        if isinstance(spec, self.base):
            return spec
        if isinstance(spec, str):
            if spec in self.classes:
                return self.classes[spec]()
            close = difflib.get_close_matches(spec.lower(), self.names, n=1, cutoff=0.5)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"Unknown {self.kind} {spec!r}.{hint} {self._expected()}")
        if isinstance(spec, type) and issubclass(spec, self.base):
            raise TypeError(f"{self.kind}={spec.__name__} is a class; write {self.kind}={spec.__name__}().")
        if callable(spec) and self._from_callable is not None:
            return self._from_callable(spec)
        raise TypeError(f"{self.kind}={spec!r} is not understood. {self._expected()}")

    def _expected(self) -> str:
        function = ", or a callable" if self._from_callable is not None else ""
        return f"Expected one of {self.choice}, a {self.base.__name__} object{function}."
