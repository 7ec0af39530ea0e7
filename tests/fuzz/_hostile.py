"""Arguments such as estimators are handed: mostly sound, some in odd containers, some plain wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

Rng = np.random.Generator
NUMBERS: list[Any] = [0, 1, 2, 3, -1, 0.5, 2.5, 1e300, 1e-300, float("nan"), float("inf"), 10**30, True]
NUMBERS += ["auto", "nothing", None, np.float32(3), np.int64(2), [1], 1j]


def pick(rng: Rng, choices: Any) -> Any:
    """One of them; numpy's choice would turn them into an array."""
    return choices[int(rng.integers(len(choices)))]


def stage(rng: Rng, registry: Any, odd: float) -> Any:
    """A name that a registry knows, or an object of one of its classes, perhaps with odd parameters."""
    name = pick(rng, registry.names)
    if rng.random() >= odd:
        return name
    return pick(
        rng, [made(rng, registry.classes[name]), pick(rng, NUMBERS), registry.classes[name], "nothing"]
    )


def made(rng: Rng, cls: type) -> Any:
    """An object, one of whose parameters is odd."""
    names = [name for name in inspect.signature(cls).parameters if name not in ("on_block", "verbose")]
    if not names:
        return cls()
    given = {name: pick(rng, NUMBERS) for name in names[:1] if rng.random() < 0.5}
    given[pick(rng, names)] = pick(rng, NUMBERS)
    try:
        return cls(**given)
    except TypeError:  # a class with parameters that have no defaults
        return cls(*[pick(rng, NUMBERS) for _ in names])


def matrix(rng: Rng, n: int, d: int, odd: float) -> Any:
    """Features, (n, d) where all is well."""
    X = rng.random((n, d))
    if rng.random() < 0.3:
        X *= rng.random((n, d)) < 0.4
    if rng.random() < odd:
        X = pick(rng, VALUES)(rng, X)
    if rng.random() < 0.5 + odd:
        X = pick(rng, CONTAINERS if rng.random() < odd else SOUND)(rng, X)
    return X


def _spoilt(value: float) -> Callable[[Rng, Any], Any]:
    def spoil(rng: Rng, X: Any) -> Any:
        X = X.copy()
        X[rng.random(X.shape) < pick(rng, [0.05, 0.5, 1.1])] = value
        return X

    return spoil


VALUES: list[Callable[[Rng, Any], Any]] = [
    *map(_spoilt, [np.nan, np.inf, -np.inf, 1e300, -1e200, 1e154, 5e-324, 1e-200, 0.0, -0.0, -1.0, 2.0**53]),
    lambda rng, X: np.repeat(X[:1], len(X), axis=0),
    lambda rng, X: np.zeros_like(X),
    lambda rng, X: X * 10.0 ** rng.integers(-200, 200, size=X.shape[1]),
    lambda rng, X: X[:0],
    lambda rng, X: X[:, :0],
    lambda rng, X: X[:1],
    lambda rng, X: X[:, :-1],
    lambda rng, X: np.hstack([X, X]),
    lambda rng, X: np.vstack([X, X[:1]]),
]


def _read_only(rng: Rng, X: Any) -> Any:
    X = X.copy()
    X.flags.writeable = False
    return X


def _wide_indices(rng: Rng, X: Any) -> Any:
    X = sp.csr_array(X)
    return sp.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)


def _doubled(rng: Rng, X: Any) -> Any:
    """Each entry twice, in falling order: a sound CSR that is not canonical."""
    X = sp.coo_array(X)
    rows, columns = X.coords
    order = np.lexsort((-columns, rows))
    data = np.repeat(X.data[order], 2)
    indptr = 2 * np.searchsorted(rows[order], np.arange(X.shape[0] + 1))
    return sp.csr_array((data, np.repeat(columns[order], 2), indptr), shape=X.shape)


def broken_csr(rng: Rng, X: Any) -> Any:
    """A CSR whose parts contradict each other, as no constructor would let it pass."""
    X = sp.csr_array(X)
    if not X.nnz or X.shape[0] < 2:
        return X
    indices, indptr = X.indices.copy(), X.indptr.copy()
    kind = rng.integers(5)
    if kind < 3:
        indices[rng.integers(X.nnz)] = [-1, X.shape[1], 2**31 - 1][kind]
    else:
        indptr[pick(rng, [0, 1, -2, -1])] = [-1, X.nnz + 7][kind - 3]
    X.indices, X.indptr = indices, indptr
    return X


def _frame(rng: Rng, X: Any) -> Any:
    names = pick(rng, [list("abcdefghijkl"), list(range(12)), ["a"] * 12, [("a", k) for k in range(12)]])
    return pd.DataFrame(X, columns=names[: X.shape[1]] if X.ndim == 2 and X.shape[1] <= 12 else None)


def _polars(rng: Rng, X: Any) -> Any:
    import polars as pl

    return pl.DataFrame({f"c{k}": X[:, k] for k in range(X.shape[1])})


def _cast(kind: str) -> Callable[[Rng, Any], Any]:
    def cast(rng: Rng, X: Any) -> Any:
        with np.errstate(all="ignore"):
            return X.astype(kind)

    return cast


SOUND: list[Callable[[Rng, Any], Any]] = [
    _cast("f4"),
    lambda rng, X: np.asfortranarray(X),
    lambda rng, X: X.tolist(),
    lambda rng, X: pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]),
    _polars,
    lambda rng, X: sp.csr_array(X),
    lambda rng, X: sp.csr_matrix(X).astype(np.float32),
    lambda rng, X: sp.csc_array(X),
    lambda rng, X: sp.coo_array(X),
    _wide_indices,
    _doubled,
    _read_only,
    lambda rng, X: np.repeat(X, 2, axis=0)[::2],
    lambda rng, X: X[::-1],
    *map(_cast, [">f8", "f2", "g", "i1", "u8", "?"]),
]
CONTAINERS: list[Callable[[Rng, Any], Any]] = [
    *SOUND,
    broken_csr,
    broken_csr,
    _frame,
    *map(_cast, ["O", "U", "c16", "S"]),
    lambda rng, X: (1000 * X).astype("i8").astype("M8[s]"),
    lambda rng, X: np.ma.masked_greater(X, 0.5),
    lambda rng, X: pd.DataFrame(X).astype("Float64").mask(X > 0.7),
    lambda rng, X: pd.DataFrame(X).astype(object).where(X > 0.2, "x"),
    lambda rng, X: pd.DataFrame(X).astype(str).astype("category"),
    lambda rng, X: sp.dia_array(X),
    lambda rng, X: sp.csr_array(X).astype(bool),
    lambda rng, X: sp.csr_array(X).astype(np.complex128),
    lambda rng, X: X[:, 0] if X.shape[1] else X,
    lambda rng, X: X[None],
    lambda rng, X: [list(row)[: i + 1] for i, row in enumerate(X)],
    lambda rng, X: [{"a": 1.0} for _ in X],
    lambda rng, X: [str(row) for row in X],
    lambda rng, X: [None] * len(X),
    lambda rng, X: (row for row in X),
    lambda rng, X: X.astype([("a", "f8")]),
    lambda rng, X: np.float64(1.0),
    lambda rng, X: None,
    lambda rng, X: "rows",
    lambda rng, X: {"a": X},
    lambda rng, X: b"rows",
    lambda rng, X: object(),
]


def labels(rng: Rng, n: int, odd: float) -> Any:
    """Label sets in one of the forms, n rows where all is well."""
    Y = (rng.random((n, int(rng.integers(2, 5)))) < 0.5).astype(np.int8)
    Y[: min(n, 2)] = 1 - Y[-2:][: min(n, 2)] if n >= 4 else Y[: min(n, 2)]
    if rng.random() < odd:
        return pick(rng, ODD_LABELS)(rng, Y)
    return pick(rng, SOUND_LABELS)(rng, Y)


def _sets(names: Any, kind: Callable[[Any], Any] = set) -> Callable[[Rng, Any], Any]:
    return lambda rng, Y: [kind(names[k] for k in np.flatnonzero(row)) for row in Y]


TEXTS = ["sea", "trees", "[red]", "", "e"]
SOUND_LABELS: list[Callable[[Rng, Any], Any]] = [
    lambda rng, Y: Y,
    lambda rng, Y: Y.astype(pick(rng, ["f8", "?", ">i4", "f4", "i8"])),
    lambda rng, Y: Y.tolist(),
    lambda rng, Y: sp.csr_array(Y),
    lambda rng, Y: sp.csc_matrix(Y),
    lambda rng, Y: pd.DataFrame(Y, columns=TEXTS[: Y.shape[1]]),
    _sets(TEXTS),
    _sets(TEXTS, frozenset),
    _sets(TEXTS, list),
    _sets([3, 1, 2**70, -5, 7]),
    _sets([("a", 1), ("b", 2), (), ("c",), ("d",)]),
    lambda rng, Y: Y[:, 0],
    lambda rng, Y: [TEXTS[k] for k in Y.sum(axis=1)],
    lambda rng, Y: pd.Series(Y.sum(axis=1)),
    lambda rng, Y: pd.Categorical([TEXTS[k] for k in Y.sum(axis=1)]),
    lambda rng, Y: np.array(["x", "y"])[Y[:, 0]],
]
ODD_LABELS: list[Callable[[Rng, Any], Any]] = [
    *map(
        _sets,
        ["abc\x00d", ["a", None, 3, ("x",), b"y"], [float("nan"), 1.0, 2.0, 3.0, 4.0], [1, True, 1.0, 0, 2]],
    ),
    _sets([float("nan"), "a", None, float("inf"), 2]),
    _sets([[1], [2], [3], [4], [5]], list),
    _sets([np.datetime64("2020-01-01"), pd.NaT, pd.NA, np.float32(1), np.str_("a")]),
    lambda rng, Y: 2 * Y,
    lambda rng, Y: np.where(Y, np.nan, 0.0),
    lambda rng, Y: np.where(Y, np.inf, 0.0),
    lambda rng, Y: -Y,
    lambda rng, Y: 0 * Y,
    lambda rng, Y: Y[:, :1],
    lambda rng, Y: Y[:, :0],
    lambda rng, Y: Y[:0],
    lambda rng, Y: Y[:-1],
    lambda rng, Y: Y[None],
    lambda rng, Y: Y.astype("U1"),
    lambda rng, Y: Y.astype(object),
    lambda rng, Y: Y.astype(complex),
    lambda rng, Y: Y.astype("M8[D]"),
    lambda rng, Y: np.ma.masked_equal(Y, 1),
    lambda rng, Y: np.where(Y[:, 0], np.nan, 1.0),
    lambda rng, Y: Y[:, 0] + 0.5,
    lambda rng, Y: pd.Series(Y[:, 0]).astype("Int64").mask(Y[:, 0] > 0),
    lambda rng, Y: np.array([None, "a", 3, 2.5], dtype=object)[Y.sum(axis=1) % 4],
    lambda rng, Y: Y[:, 0].astype("M8[D]"),
    lambda rng, Y: [set()] * len(Y),
    lambda rng, Y: [set(), *[{"a"}] * (len(Y) - 1)],
    lambda rng, Y: ["a"] * len(Y),
    lambda rng, Y: [{"a": 1}] * len(Y),
    lambda rng, Y: [None] * len(Y),
    lambda rng, Y: [[1], [1, 0], [0]][: len(Y)],
    lambda rng, Y: pd.DataFrame(Y, columns=["a"] * Y.shape[1]),
    lambda rng, Y: pd.DataFrame(Y).astype("Int8").mask(Y > 0),
    broken_csr,
    _doubled,
    lambda rng, Y: sp.csr_array(Y).astype(float) * np.nan,
    lambda rng, Y: ({"a"} for _ in Y),
    lambda rng, Y: None,
    lambda rng, Y: "labels",
    lambda rng, Y: 3,
    lambda rng, Y: {"a": Y},
    lambda rng, Y: object(),
]


def weights(rng: Rng, n: int, odd: float) -> Any:
    """Sample weights, or none."""
    if rng.random() >= odd:
        return pick(rng, [None, None, np.ones(n), rng.random(n), rng.integers(0, 3, n), [1] * n])
    values = [0, np.nan, np.inf, -1, 1e308, 5e-324, 1e-300, "x", None, 1j, 10**400, [1], True]
    return pick(
        rng, [np.ones(n + 1), np.ones((n, 2)), 2.0, "x", {}, pick(rng, values), *[[v] * n for v in values]]
    )


def ids(rng: Rng, n: int, odd: float) -> Any:
    """What the rows are called, or nothing."""
    first = int(rng.integers(0, 50))
    if rng.random() >= odd:
        return pick(
            rng, [None, None, [f"r{k}" for k in range(first, first + n)], np.arange(first, first + n)]
        )
    some = [0, -1, 2**63 - 1, 2**63, 2**64, -(2**63), 2.5, np.nan, None, "0", "", True, (1, 2), [1], b"x"]
    some += [np.int8(3), pd.NaT, np.datetime64(0, "s"), 1e300, float("inf"), object(), {}, np.str_("x")]
    mixed = [pick(rng, some) for _ in range(n)]
    wrong = [list(range(n + 1)), [7] * n, "a" * n, 5, np.eye(n), pd.Index(range(n)), iter(range(n)), {}]
    return pick(rng, [mixed, mixed, [*range(n - 1), pick(rng, some)], *wrong])
