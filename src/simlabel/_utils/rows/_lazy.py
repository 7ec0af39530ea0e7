"""Rows that stay on a disk or on other machines, and functions applied to their blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows._containers import Index, Stack, blocks, n_rows, pieces
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows, check_finite

_Result = TypeVar("_Result")


class Sliced(Protocol):
    """A companion of rows, with one entry for each: an array, a sparse matrix, a range."""

    def __getitem__(self, index: slice, /) -> Any: ...


class Source(Protocol):
    """An object from which rows are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __getitem__(self, index: Index, /) -> Rows: ...


class RowTransformer(Protocol):
    """A transformer of each row by itself."""

    def transform(self, X: Rows, /) -> Rows: ...


class LazyRows:
    """Rows that are read on demand, and transformed when they are read; an abstract class."""

    #: whether they are on other machines, to which functions are sent
    remote: bool = False
    #: whether the blocks are CSR matrices
    sparse: bool = False
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __getitem__(self, index: Index) -> Rows:
        """Read rows for a slice or positions; ``[:, columns]`` returns lazy rows."""
        raise NotImplementedError

    def part(self, rows: slice) -> LazyRows:
        """Return some of the rows without reading them."""
        raise NotImplementedError

    def mapped(self, step: Callable[[Rows], Rows]) -> LazyRows:
        """Return the rows transformed by a function that maps every row by itself."""
        raise NotImplementedError

    def cuts(self) -> Iterator[slice]:
        """Yield the blocks in which the rows are stored, or best read."""
        raise NotImplementedError

    def map_async(self, each: Callable[..., _Result], *companions: Sliced) -> Callable[[], list[_Result]]:
        """Start to apply a function to every block and its companions; call the result for the results."""
        raise NotImplementedError

    def folded(
        self, each: Callable[..., _Result], merge: Callable[[_Result, _Result], _Result], *companions: Sliced
    ) -> _Result:
        """Apply a function to every block and its companions, and merge the results."""
        raise NotImplementedError

    def joined_pieces(self, pieces: Sequence[LazyRows]) -> Sequence[LazyRows]:
        """Join the pieces, of which this is the first, that can be processed as one."""
        return pieces

    def taken(self, rows: IntArray) -> Rows:
        """Return the rows at some positions, copied, or left on their machine."""
        return self[rows]

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> AnyArray:
        return np.asarray(self[:], dtype=dtype)


class DiskRows(LazyRows):
    """Rows in files.

    Parameters
    ----------
    source : object
        Has a shape and a dtype, and returns rows for a slice or for positions.
    rows : range, optional
        Which of them; all by default.
    steps : tuple of callables
        The functions applied to rows that are read, in order.

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
        """The dtype after all steps."""
        return np.dtype(self._first.dtype if self.steps else self.source.dtype)

    def __getitem__(self, index: Index) -> Rows:
        if isinstance(index, tuple):
            whole, columns = index
            if whole != slice(None):
                raise TypeError("Columns of rows on a disk can only be selected for all rows: X[:, columns].")
            return self.mapped(Columns(columns))
        if isinstance(index, slice) and self.rows[index] == self.rows[:1]:
            return self._first  # often read for its type and width
        return self._read(index)

    def _read(self, index: Index) -> Rows:
        if isinstance(index, slice):
            at = self.rows[index]
            rows = self.source[slice(at.start, at.stop)]
        else:
            rows = self.source[np.asarray(index) + self.rows.start]
        if not self.steps:
            return np.array(rows)  # a copy, so that pages of a mapped file are read now
        for step in self.steps:
            rows = step(np.asarray(rows))
        return rows

    def part(self, rows: slice) -> Self:
        """Return some of the rows without reading them."""
        return type(self)(self.source, self.rows[rows], self.steps)

    def mapped(self, step: Callable[[Rows], Rows]) -> Self:
        """Return the same rows with one more step."""
        return type(self)(self.source, self.rows, (*self.steps, step))

    def cuts(self) -> Iterator[slice]:
        """Yield blocks of rows."""
        width = self.shape[1] * self.dtype.itemsize
        size = max(1, min(limits().piece_rows, 2 * limits().read_bytes // max(1, width)))
        return blocks(len(self), size)

    def map_async(self, each: Callable[..., _Result], *companions: Sliced) -> Callable[[], list[_Result]]:
        """Return a function that processes one block after the other."""
        return lambda: list(self._applied(each, companions))

    def folded(
        self, each: Callable[..., _Result], merge: Callable[[_Result, _Result], _Result], *companions: Sliced
    ) -> _Result:
        """Process one block after the other, and merge each result at once."""
        return reduce(merge, self._applied(each, companions))

    def _applied(self, each: Callable[..., _Result], companions: Sequence[Sliced]) -> Iterator[_Result]:
        return (each(self[part], *(other[part] for other in companions)) for part in self.cuts())


class Columns:
    """A function that selects columns of a block of rows."""

    def __init__(self, columns: Any) -> None:
        self.columns = columns

    def __call__(self, X: Rows) -> Rows:
        return X[:, self.columns]


def is_collection(X: Any) -> bool:
    """Return whether X is a Dask array or data frame."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "shape")


def is_lazy(X: Rows) -> bool:
    """Return whether rows are read on demand: the rows themselves, or a piece of a stack."""
    if isinstance(X, Stack):
        return any(isinstance(piece, LazyRows) for piece in X.pieces)
    return isinstance(X, LazyRows)


def is_remote(X: Rows) -> bool:
    """Return whether rows are on other machines: the rows themselves, or a piece of a stack."""
    return is_lazy(X) and any(getattr(piece, "remote", False) for piece in pieces(X))


def by_parts(X: Rows, each: Callable[..., _Result], *companions: Sliced) -> list[_Result]:
    """Apply a function to blocks of the rows and of their companions, on the machine of the rows.

    Rows in memory are one block.
    """
    started = [
        piece.map_async(each, *others)
        if isinstance(piece, LazyRows)
        else partial(_apply, each, piece, others)
        for piece, others in _with_companions(X, companions)
    ]
    return [result for results in started for result in results()]


def _apply(each: Callable[..., _Result], piece: Rows, others: Sequence[Any]) -> list[_Result]:
    return [each(piece, *others)]


def fold(
    X: Rows, each: Callable[..., _Result], merge: Callable[[_Result, _Result], _Result], *companions: Sliced
) -> _Result:
    """Apply a function to blocks of the rows and of their companions, on their machine, and merge.

    Examples
    --------
    >>> fold(np.ones((4, 2)), lambda X, w: w @ X, np.add, np.arange(4.0))
    array([6., 6.])
    """
    return reduce(
        merge,
        (
            piece.folded(each, merge, *others) if isinstance(piece, LazyRows) else each(piece, *others)
            for piece, others in _with_companions(X, companions)
        ),
    )


def _with_companions(X: Rows, companions: Sequence[Sliced]) -> Iterator[tuple[Rows, list[Any]]]:
    """Yield pieces of rows with the same part of the companions."""
    parts, at = pieces(X), 0
    if all(isinstance(piece, LazyRows) for piece in parts):
        parts = parts[0].joined_pieces(parts)
    for piece in parts:
        n = n_rows(piece)
        yield piece, [other[at : at + n] for other in companions]
        at += n


def check_lazy(X: LazyRows) -> LazyRows:
    """Check that lazy rows are finite numbers, on their machine; integers become float64."""
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s): X has no rows; at least one is required.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.mapped(_as_float64)
    fold(X, _check_block, lambda one, other: None, range(len(X)))
    return X


def _as_float64(X: Rows) -> Rows:
    return X.astype(np.float64)


def _check_block(X: Rows, numbers: range) -> None:
    check_finite(X, "X", numbers.start)


def transformed(normalizer: RowTransformer, X: Rows) -> Rows:
    """Normalize rows, lazy ones when read, and check that they stay finite: similarities would be NaN."""
    if isinstance(X, LazyRows):
        return X.mapped(partial(transformed, normalizer))
    with np.errstate(over="ignore", invalid="ignore"):
        output = normalizer.transform(X)
    if not np.isfinite(output.data if sp.issparse(output) else output).all():
        raise ValueError(
            f"normalizer {normalizer!r} produces NaN or infinity for some rows: X has features that are too "
            f"large or too far apart for it. Clip or rescale them first."
        )
    return output


class Moments(NamedTuple):
    """The weight, means, and sums of squared deviations from the mean, of the columns of some rows."""

    weight: float
    mean: FloatArray
    squares: FloatArray


def _moments(X: Rows, sample_weight: FloatArray) -> Moments:
    """Return the moments of a block; rows are centered before squaring, since offsets would cancel digits."""
    weight = float(sample_weight.sum())
    if sp.issparse(X):
        mean = np.asarray(X.T @ sample_weight).ravel() / weight
        second = np.asarray(X.multiply(X).T @ sample_weight).ravel()
        return Moments(weight, mean, np.maximum(second - weight * mean**2, 0.0))
    mean = (sample_weight @ X) / weight
    return Moments(weight, mean, sample_weight @ (X - mean) ** 2)


def _merged_moments(one: Moments, other: Moments) -> Moments:
    weight = one.weight + other.weight
    apart = other.mean - one.mean
    mean = one.mean + apart * (other.weight / weight)
    squares = one.squares + other.squares + apart**2 * (one.weight * other.weight / weight)
    return Moments(weight, mean, squares)


def lazy_moments(X: Rows, sample_weight: FloatArray | None) -> Moments:
    """Return the moments of the columns, merged over blocks.

    Examples
    --------
    >>> lazy_moments(np.array([[1.0], [3.0]]), None)
    Moments(weight=2.0, mean=array([2.]), squares=array([2.]))
    """
    weights = np.broadcast_to(1.0, X.shape[0]) if sample_weight is None else sample_weight
    return fold(X, _moments, _merged_moments, weights)
