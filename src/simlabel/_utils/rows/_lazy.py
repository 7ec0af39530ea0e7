"""Rows that stay where they are, on a disk or on other machines, and are read slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.limits import limits
from simlabel._utils.rows._containers import Index, Sliced, Source, blocks
from simlabel._utils.validation import Rows

Result = TypeVar("Result")


class Normalizes(Protocol):
    """What maps every row by itself."""

    def transform(self, X: Rows, /) -> Rows: ...


class LazyRows:
    """Rows that are read when they are needed; what is done to them first is done when they are read."""

    #: whether they are on other machines, where work is sent to them
    remote: bool = False
    #: whether what is read is a CSR matrix
    sparse: bool = False
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: Index) -> Rows:
        """Rows, read, for a slice or positions; rows still to be read for ``[:, columns]``."""
        raise TypeError(f"{type(self).__name__} does not say how it is read.")

    def part(self, rows: slice) -> LazyRows:
        """Some of the rows, not read."""
        raise TypeError(f"{type(self).__name__} cannot be cut.")

    def mapped(self, step: Callable[[Rows], Rows]) -> LazyRows:
        """The rows as a function gives them, which maps every row by itself."""
        raise TypeError(f"{type(self).__name__} cannot be mapped.")

    def cuts(self) -> Iterator[slice]:
        """The parts in which the rows lie, or are best read."""
        raise TypeError(f"{type(self).__name__} does not say how it is cut.")

    def asked(self, each: Callable[..., Result], *companions: Sliced) -> Callable[[], list[Result]]:
        """Begin to apply a function to every part, and that of the companions; call for the results."""
        raise TypeError(f"{type(self).__name__} cannot be asked.")

    def folded(
        self, each: Callable[..., Result], merge: Callable[[Result, Result], Result], *companions: Sliced
    ) -> Result:
        """Apply a function to every part, and that of the companions, and merge what it gives."""
        raise TypeError(f"{type(self).__name__} cannot be folded.")

    def together(self, pieces: Sequence[LazyRows]) -> Sequence[LazyRows]:
        """Pieces of which this is the first, joined as far as they can be asked as one."""
        return pieces

    def taken(self, rows: npt.NDArray[np.int64]) -> Rows:
        """Rows by their positions, for good: a copy, or left where they are."""
        return self[rows]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype=dtype)


class DiskRows(LazyRows):
    """Rows in files.

    Parameters
    ----------
    source : object
        Has a shape and a dtype, and gives rows for a slice or for positions.
    rows : range, optional
        Which of them; all by default.
    steps : tuple of callables
        What is done to rows that are read, in order.

    Examples
    --------
    >>> rows = DiskRows(np.arange(10.0).reshape(5, 2)).part(slice(1, 4)).mapped(lambda X: 2 * X)
    >>> rows.shape, rows[1:].tolist()
    ((3, 2), [[8.0, 10.0], [12.0, 14.0]])
    """

    def __init__(
        self, source: Source, rows: range | None = None, steps: tuple[Callable[[Rows], Rows], ...] = ()
    ) -> None:
        self.source, self.steps = source, steps
        self.rows = range(source.shape[0]) if rows is None else rows

    @cached_property
    def _first(self) -> Rows:
        return self._read(slice(0, min(1, len(self.rows))))

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """(n_rows, n_columns) after all steps."""
        width = self._first.shape[1] if self.steps else self.source.shape[1]
        return len(self.rows), int(width)

    @property
    def dtype(self) -> np.dtype[Any]:  # type: ignore[override]
        """After all steps."""
        return np.dtype(self._first.dtype if self.steps else self.source.dtype)

    def __getitem__(self, index: Index) -> Rows:
        if isinstance(index, tuple):
            whole, columns = index
            if whole != slice(None):
                raise TypeError("Of rows on a disk, columns are chosen for all rows: X[:, columns].")
            return self.mapped(Columns(columns))
        if isinstance(index, slice) and self.rows[index] == self.rows[:1]:
            return self._first  # asked again and again, for what rows look like
        return self._read(index)

    def _read(self, index: Index) -> Rows:
        if isinstance(index, slice):
            at = self.rows[index]
            rows = self.source[slice(at.start, at.stop)]
        else:
            rows = self.source[np.asarray(index) + self.rows.start]
        if not self.steps:
            return np.array(rows)  # a copy: pages of a mapped file are read here and now
        for step in self.steps:
            rows = step(np.asarray(rows))
        return rows

    def part(self, rows: slice) -> Self:
        """Some of the rows, not read."""
        return type(self)(self.source, self.rows[rows], self.steps)

    def mapped(self, step: Callable[[Rows], Rows]) -> Self:
        """The same with one more step when rows are read."""
        return type(self)(self.source, self.rows, (*self.steps, step))

    def cuts(self) -> Iterator[slice]:
        """Blocks of rows."""
        width = self.shape[1] * self.dtype.itemsize
        size = max(1, min(limits().piece_rows, 2 * limits().read_bytes // max(1, width)))
        return blocks(len(self), size)

    def asked(self, each: Callable[..., Result], *companions: Sliced) -> Callable[[], list[Result]]:
        """Block after block, when called."""
        return lambda: list(self._applied(each, companions))

    def folded(
        self, each: Callable[..., Result], merge: Callable[[Result, Result], Result], *companions: Sliced
    ) -> Result:
        """Block after block, merged at once."""
        return reduce(merge, self._applied(each, companions))

    def _applied(self, each: Callable[..., Result], companions: Sequence[Sliced]) -> Iterator[Result]:
        return (each(self[part], *(other[part] for other in companions)) for part in self.cuts())


class Columns:
    """Some columns of a block of rows."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __call__(self, X: Rows) -> Rows:
        return X[:, self.columns]


def is_collection(X: Any) -> bool:
    """Whether X is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "shape")


def is_lazy(X: Rows) -> bool:
    """Whether rows are read when needed: the rows themselves, or a piece of a stack."""
    return isinstance(X, LazyRows) or any(isinstance(piece, LazyRows) for piece in getattr(X, "pieces", ()))


def is_remote(X: Rows) -> bool:
    """Whether rows are on other machines: the rows themselves, or a piece of a stack."""
    return any(getattr(piece, "remote", False) for piece in getattr(X, "pieces", (X,)))


def transformed(normalizer: Normalizes, X: Rows) -> Rows:
    """Normalized rows, all finite; rows that are read when needed are normalized and checked then."""
    step = _Finite(normalizer)
    return X.mapped(step) if isinstance(X, LazyRows) else step(X)


class _Finite:
    """A normalizer that refuses rows which it cannot represent: its similarities would be NaN."""

    def __init__(self, normalizer: Normalizes) -> None:
        self.normalizer = normalizer

    def __call__(self, X: Rows) -> Rows:
        with np.errstate(over="ignore", invalid="ignore"):
            output = self.normalizer.transform(X)
        if not np.isfinite(output.data if sp.issparse(output) else output).all():
            raise ValueError(
                f"normalizer {self.normalizer!r} makes NaN or infinity of some rows: X has features that are "
                f"too large or too far apart for it. Clip or rescale them first."
            )
        return output
