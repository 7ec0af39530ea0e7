"""The exception of the package, and the checks before a file is read."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path

from simlabel._utils.files import not_regular, too_large


class DatasetError(ValueError):
    """Raised if a data set does not exist, or a file does not follow its format.

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


def check_memory(size: int, path: Path, max_gib: float | None, line: int | None = None) -> None:
    """Raise an error if a file needs more memory than it is allowed."""
    message = too_large(size, path, max_gib)
    if message is not None:
        raise DatasetError(message, path, line)


def check_columns(n_features: int, n_labels: int, path: Path, max_gib: float | None, line: int = 1) -> None:
    """Check the numbers of columns that a file claims: vectors of features, and names of labels."""
    check_memory(8 * n_features + 64 * n_labels, path, max_gib, line)


def check_regular(path: str | PathLike[str]) -> None:
    """Raise an error if the path is missing, or is a pipe, a device or a folder."""
    message = not_regular(path)
    if message is not None:
        raise DatasetError(message, path)


def quote(text: str, limit: int = 60) -> str:
    """Quote a piece of a file for an error message, and cut it if it is long."""
    return repr(text) if len(text) <= limit else f"{text[:limit]!r}..."
