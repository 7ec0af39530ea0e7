"""The one exception of this room."""

from __future__ import annotations

from os import PathLike, fspath


class DatasetError(ValueError):
    """A data set that is not there, or a file that is not what its format says.

    Parameters
    ----------
    message : str
        What was expected, and what was found.
    path : str or path, optional
        The file.
    line : int, optional
        The line in it, counted from 1.

    Examples
    --------
    >>> raise DatasetError("expected a number for 'age', found 'old'", path="people.arff", line=12)
    Traceback (most recent call last):
        ...
    simlabel.datasets._errors.DatasetError: people.arff, line 12: expected a number for 'age', found 'old'
    """

    def __init__(
        self, message: str, path: str | PathLike[str] | None = None, line: int | None = None
    ) -> None:
        self.message = message
        self.path = None if path is None else fspath(path)
        self.line = line
        where = [] if self.path is None else [self.path]
        where += [] if line is None else [f"line {line}"]
        super().__init__(f"{', '.join(where)}: {message}" if where else message)

    def __reduce__(self) -> tuple[type[DatasetError], tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.path, self.line)


def quote(text: str, limit: int = 60) -> str:
    """Quote a piece of a file for an error, cut where it is long."""
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}..."
