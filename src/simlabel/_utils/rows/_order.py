"""An order of rows that depends on their content only, random draws in that order, and groups of rows.

Rows are sorted by a hash of their content, and random numbers are drawn for places in that order, so that
results do not depend on the order of the rows. Equal rows have neighboring places; which of them is drawn
makes no difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows._containers import blocks
from simlabel._utils.rows._lazy import by_parts
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows

Keys = npt.NDArray[np.uint64]
Groups = AnyArray | None  # names of groups: int64 or any objects

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def content_order(
    X: Rows,
    Y: sp.csr_array | None = None,
    weights: FloatArray | None = None,
    groups: Groups = None,
    *,
    rounded: bool = False,
    pairwise: bool = False,
) -> IntArray:
    """Return the positions of the rows, sorted by what the rows hold.

    Rows with equal features are sorted by their labels, then by their weights, then by the content of their
    groups. Rows that are equal in all of these keep their order.

    Parameters
    ----------
    X : rows, (n_rows, n_features)
        Features as they were given, not transformed by anything that depends on other rows. Rows on a disk
        or on other machines are read once.
    Y : csr_array, (n_rows, n_labels), optional
        Label sets.
    weights : array, (n_rows,), optional
        Sample weights.
    groups : array, (n_rows,), optional
        Name of the group of each row; None for a group of its own.
    rounded : bool
        Whether features are rounded to single precision first.
    pairwise : bool
        Whether the columns of X are its rows, as in a precomputed similarity: the order of the columns then
        does not matter either.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 0.0]])
    >>> moved = X[[2, 0, 1]]
    >>> np.array_equal(X[content_order(X)], moved[content_order(moved)])
    True
    """
    keys: list[AnyArray] = []
    if pairwise:
        keys.append(_pairwise_keys(X[:]))
    else:
        keys.append(np.concatenate(by_parts(X, _rounded_keys if rounded else row_keys)))
    if Y is not None:
        keys.append(row_keys(Y))
    if weights is not None:
        keys.append(weights)
    if groups is not None:
        keys.append(_group_keys(keys, encode_groups(groups)))
    return np.lexsort(keys[::-1])


def row_keys(X: Rows, columns: Keys | None = None) -> Keys:
    """Return a hash of each row, the same on every platform and for dense and sparse rows.

    Parameters
    ----------
    X : rows, (n_rows, n_columns)
    columns : array of uint64, (n_columns,), optional
        Distinct keys of the columns; by default from their positions.

    Examples
    --------
    >>> X = np.array([[0.0, 1.5], [-0.0, 1.5]])
    >>> one, other = row_keys(X)
    >>> bool(one == other), np.array_equal(row_keys(sp.csr_array(X)), [one, other])
    (True, True)
    """
    if sp.issparse(X):
        at = _mixed(X.indices.astype(np.uint64)) if columns is None else columns[X.indices]
        terms = _terms(X.data, at)
        sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return _mixed(sums[X.indptr[1:]] - sums[X.indptr[:-1]])
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiub":
        return np.array([_object_key(row) for row in X], dtype=np.uint64)
    columns = _mixed(np.arange(X.shape[1], dtype=np.uint64)) if columns is None else columns
    size = max(1, limits().block_entries // max(1, X.shape[1]))
    parts = [_terms(X[part], columns).sum(axis=1, dtype=np.uint64) for part in blocks(len(X), size)]
    return _mixed(np.concatenate([np.zeros(0, dtype=np.uint64), *parts]))


def _pairwise_keys(S: Rows) -> Keys:
    """Return a hash of each row of similarities, from its values and the hashes of the other rows."""
    alike = row_keys(S, np.zeros(S.shape[1], dtype=np.uint64))
    return row_keys(S, alike)


def _rounded_keys(X: Rows) -> Keys:
    return row_keys(X.astype(np.float32))


def content_units(order: IntArray, groups: IntArray | None) -> IntArray:
    """Return a number for each row, or for its group, that depends on the content of rows only.

    Examples
    --------
    >>> content_units(np.array([2, 0, 1]), None).tolist()
    [1, 2, 0]
    >>> content_units(np.array([2, 0, 1]), np.array([0, 1, 1])).tolist()
    [1, 0, 0]
    """
    units = np.empty_like(order)
    if groups is None:
        units[order] = np.arange(len(order))
        return units
    _, first, which = np.unique(groups[order], return_index=True, return_inverse=True)
    units[order] = np.argsort(np.argsort(first))[which]
    return units


def assign_folds(units: IntArray, n_folds: int, seed: int) -> IntArray:
    """Return the number of the fold of each row, from 0; there are at most as many folds as units.

    Parameters
    ----------
    units : array of int, (n_rows,)
        See `content_units`: rows of one unit are in one fold.

    Examples
    --------
    >>> sorted(assign_folds(np.array([3, 1, 2]), 2, 0).tolist())
    [0, 0, 1]
    """
    found, which = np.unique(units, return_inverse=True)
    return np.random.default_rng(seed).permutation(len(found))[which] % n_folds


def sample_rows(order: IntArray, size: int, seed: Any) -> IntArray:
    """Return the positions of `size` rows drawn without replacement, sorted.

    Parameters
    ----------
    order : array of int, (n_rows,)
        See `content_order`.
    seed : int or list of int

    Examples
    --------
    >>> sample_rows(np.arange(5), 5, 0).tolist()
    [0, 1, 2, 3, 4]
    """
    return np.sort(order[np.random.default_rng(seed).choice(len(order), size, replace=False)])


def n_copies(weights: FloatArray) -> int:
    """Return the number of rows if each is repeated by its weight; at least the number of weights."""
    return max(len(weights), round(float(weights.sum())))


def sample_copies(order: IntArray, weights: FloatArray, size: int, seed: int) -> IntArray:
    """Draw copies of rows without replacement, and return the position of the row of each, sorted.

    A row with an integer weight gives the same draw as that row repeated.

    Examples
    --------
    >>> once, twice = (sample_copies(np.arange(len(w)), w, 3, 0) for w in (np.ones(6), np.full(3, 2.0)))
    >>> (once // 2).tolist() == twice.tolist()
    True
    """
    total, rng = n_copies(weights), np.random.default_rng(seed)
    ends = np.cumsum(weights[order]) * (total / float(weights.sum()))
    copies = np.sort(rng.choice(total, size, replace=False)) + rng.random(size)
    return np.sort(order[np.minimum(np.searchsorted(ends, copies, side="right"), len(order) - 1)])


def evenly_spaced_rows(order: IntArray, most: int) -> IntArray:
    """Return the positions of at most `most` rows, evenly spaced in the order, sorted."""
    n = len(order)
    return np.sort(order[np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))])


def _terms(values: AnyArray, columns: Keys) -> Keys:
    """Return the contribution of each value to the hash of its row: 0 for 0.0 and -0.0."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.uint64)
    return np.where(values == 0, np.uint64(0), _mixed(bits ^ columns))


def _mixed(keys: Keys) -> Keys:
    """Return the output of splitmix64 for each state."""
    z = keys + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _MIXERS[0]
    z = (z ^ (z >> np.uint64(27))) * _MIXERS[1]
    return z ^ (z >> np.uint64(31))


def _group_keys(keys: list[AnyArray], codes: IntArray) -> Keys:
    """Return for each row a hash of the rows of its group, independent of their order."""
    rows = np.zeros(len(codes), dtype=np.uint64)
    for key in keys:
        rows = _mixed(rows ^ _bits(key))
    sums = np.zeros(codes.max(initial=-1) + 1, dtype=np.uint64)
    np.add.at(sums, codes, rows)
    return _mixed(sums)[codes]


def _bits(key: AnyArray) -> Keys:
    return key if key.dtype == np.uint64 else np.asarray(key, dtype=np.float64).view(np.uint64)


def _object_key(row: Any) -> int:
    return int.from_bytes(hashlib.blake2b(_content(row), digest_size=8).digest(), "little")


def _content(value: Any) -> bytes:
    """Return bytes that represent a value; for an object of another class, the name of its class."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    if isinstance(value, int | float | complex):
        return repr(value + 0).encode()  # no zero has a sign
    if value is None or isinstance(value, str | bytes):
        return repr(value).encode()
    if isinstance(value, list | tuple):
        return b"(%s)" % b",".join(map(_content, value))
    if isinstance(value, set | frozenset | dict):
        items = value.items() if isinstance(value, dict) else value
        return b"{%s}" % b",".join(sorted(map(_content, items)))
    return type(value).__qualname__.encode()


def encode_groups(names: AnyArray) -> IntArray:
    """Return a number for each name of a group; each None is a group of its own.

    Examples
    --------
    >>> encode_groups(np.array(["b", None, "a", "b", None], dtype=object))
    array([0, 2, 1, 0, 3])
    """
    if names.dtype != object:
        return np.unique(names, return_inverse=True)[1].astype(np.int64)
    known: dict[Any, int] = {}
    codes = np.array([-1 if name is None else known.setdefault(name, len(known)) for name in names.tolist()])
    alone = codes < 0
    codes[alone] = len(known) + np.arange(np.count_nonzero(alone))
    return codes.astype(np.int64)


def equal_groups(codes: IntArray) -> Iterator[IntArray]:
    """Yield the rows of all groups of one size, (n_groups, size), for each size.

    Examples
    --------
    >>> [rows.tolist() for rows in equal_groups(np.array([0, 2, 1, 0]))]
    [[[2], [1]], [[0, 3]]]
    """
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes).tolist():
        yield order[starts[sizes == size, None] + np.arange(size)]


def group_sums(codes: IntArray, weights: FloatArray, targets: Rows) -> Rows:
    """Return the weighted sum of the rows of each group, (n_groups, width), dense or sparse like the rows."""
    return sp.csr_array((weights, (codes, np.arange(len(codes))))) @ targets
