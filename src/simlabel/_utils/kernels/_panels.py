"""Rows compared with panels of rows: statistics of a block, and sums of similarities in one pass.

Queries come in *panels*, (n_panels, n_features, width): transposed, two registers wide, the last one
padded with zeros. A tile is a few references by one panel; it stays in the first cache.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.kernels._accumulate import add_gathered, add_row
from simlabel._utils.kernels._compile import (
    Back,
    ExcludedEntries,
    Floats,
    InfluenceArrays,
    Kernel,
    KernelSide,
    inlined,
    ordered_kernel,
)
from simlabel._utils.kernels._lanes import ROWS, panel_width, width_of
from simlabel._utils.kernels._registers import (
    add_absolute_differences,
    add_chi_squares,
    add_minima,
    add_products,
    exponential,
    power,
    rbf,
    share,
)
from simlabel._utils.limits import limits

_PACKED = 256  # columns of a panel that are written together, and stay in the first cache


def in_panels(rows: Floats) -> Floats:
    """Return rows as panels, (n_panels, n_features, width)."""
    width, (n, n_features) = panel_width(rows.dtype), rows.shape
    panels = np.empty((-(-n // width), n_features, width), dtype=rows.dtype)
    panels[n // width :] = 0
    _pack(rows, panels)
    return panels


@ordered_kernel
def _pack(rows: Floats, panels: Floats) -> None:
    width = width_of(rows)
    for start in range(0, rows.shape[1], _PACKED):
        for i in range(rows.shape[0]):
            for k in range(start, min(start + _PACKED, rows.shape[1])):
                panels[i // width, k, i % width] = rows[i, k]


def tile_rows(n_features: int, dtype: npt.DTypeLike) -> int:
    """Return the number of references in a tile."""
    fit = limits().tile_bytes // (max(1, n_features) * np.dtype(dtype).itemsize)
    return min(limits().tile_rows, max(8 * ROWS, fit // ROWS * ROWS))


@inlined
def _statistics(X: Floats, P: Floats, step: int, out: Floats, fill: Kernel) -> None:
    """Compute out[j, i] = the statistic of reference j and query i."""
    width = width_of(X)
    last = np.empty((step, width), X.dtype)
    for start in range(0, X.shape[0], step):
        stop = min(start + step, X.shape[0])
        for p in range(P.shape[0]):
            if (p + 1) * width <= out.shape[1]:
                fill(X[start:stop], P[p], out[start:stop], p * width, False)
            else:
                fill(X[start:stop], P[p], last, 0, False)
                for i in range(stop - start):
                    for j in range(out.shape[1] - p * width):
                        out[start + i, p * width + j] = last[i, j]


@ordered_kernel
def l1_distances(X: Floats, P: Floats, step: int, out: Floats) -> None:
    """Sum absolute differences of references and queries in panels."""
    _statistics(X, P, step, out, add_absolute_differences)


@ordered_kernel
def chi_square_distances(X: Floats, P: Floats, step: int, out: Floats) -> None:
    """Sum (q - x)^2 / (q + x) for non-negative numbers, where 0 / 0 counts as 0."""
    _statistics(X, P, step, out, add_chi_squares)


@ordered_kernel
def sums_of_minima(X: Floats, P: Floats, step: int, out: Floats) -> None:
    """Sum min(q, x): the size of a weighted intersection."""
    _statistics(X, P, step, out, add_minima)


@ordered_kernel
def _clear_below(S: Floats, n: int, first: int) -> None:
    """Clear entries where lane > first + row: the mirrored entry counts the same pair."""
    for i in range(n):
        for lane in range(max(0, first + i + 1), width_of(S)):
            S[i, lane] = 0


@ordered_kernel
def _reduce_tile(
    S: Floats,
    tile: tuple[int, ...],
    V: InfluenceArrays,
    excluded: ExcludedEntries,
    own_rows: Floats,
    per_label: Floats,
    returned: Floats,
    out: Floats,
) -> None:
    """Add the similarities of a tile to the sums of its queries, and to those of its references."""
    t, start, n, p, first = tile
    own, counted = excluded
    for lane in range(width_of(S)):
        if start <= own[p, lane] < start + n:
            S[own[p, lane] - start, lane] *= counted[p, lane]
    if first < width_of(S):
        _clear_below(S, n, first)
    by_label, (firsts, labels, begins, rows, factors) = V
    if len(by_label):
        add_products(by_label[:, start : start + n], S[:n], per_label, 0, False)
        for k in range(len(per_label)):
            add_row(per_label, k, out, k)
    for m in range(firsts[t], firsts[t + 1]):
        add_gathered(S, rows, factors, begins[m], begins[m + 1], out, labels[m])
    if len(own_rows):
        if first < width_of(S):
            _clear_below(S, n, first - 1)
        for m in range(own_rows.shape[1]):
            add_products(S[:n], own_rows[p, m], returned, m * width_of(S), True)


@ordered_kernel
def _add_to(total: Floats, start: int, n: int, part: Floats) -> None:
    """Add `part` to total[start:], and clear it."""
    for i in range(n):
        for k in range(part.shape[1]):
            total[start + i, k] += part[i, k]
            part[i, k] = 0


# Arguments of a kernel that sums similarities: (x, q, step, parameters, V, excluded, back, out).
#
# x = (X, x_side): references, and their squared lengths or sizes; q = (P, q_side): queries, in panels.
# step: references of a tile. parameters: (n_candidates, ...), of similarities with the same statistic.
# V = (by_label, entries): influence as a dense matrix (n_labels, n_references), or, if that has no rows,
#   as `sort_by_label` gives it. excluded = (own, share): see `Exclude`, in panels.
# back = (own_rows, mirrored, diagonal): if the queries are references too, their rows of V, in panels
#   (n_panels, label panels, width, width), and what X receives from them, (n_candidates, n_references,
#   columns); `diagonal` if queries and references are the same rows. own_rows is empty otherwise.
# out: (n_candidates, n_panels, n_labels, width).
Sums = tuple[KernelSide, KernelSide, int, Floats, InfluenceArrays, ExcludedEntries, Back, Floats]


@inlined
def _sums(arguments: Sums, fill: Kernel, finish: Kernel) -> None:
    (X, x_side), (P, q_side), step, parameters, V, excluded, back, out = arguments
    own_rows, mirrored, diagonal = back
    width = width_of(X)
    T, S = np.empty((step, width), X.dtype), np.empty((step, width), X.dtype)
    per_label = np.empty((len(V[0]), width), X.dtype)
    returned = np.zeros((len(out), step if len(own_rows) else 0, own_rows.shape[1] * width), X.dtype)
    for start in range(0, len(X), step):
        n = min(step, len(X) - start)
        for p in range(len(P)):
            # where the diagonal enters the tile; beyond its lower corner if there is none
            first = start - p * width if diagonal else width
            if first + n <= 0:
                continue
            fill(X[start : start + n], P[p], T, 0, False)
            for c in range(len(out)):
                finish(T, n, x_side, start, q_side[p], parameters[c], S)
                tile = (start // step, start, n, p, first)
                _reduce_tile(S, tile, V, excluded, own_rows, per_label, returned[c], out[c, p])
        if len(own_rows):
            for c in range(len(out)):
                _add_to(mirrored[c], start, n, returned[c])


# One kernel for each similarity: with a function among its arguments, compiled code could not be cached.


@ordered_kernel
def rbf_sums(arguments: Sums) -> None:
    """Sum exp(-gamma * squared distance)."""
    _sums(arguments, add_products, rbf)


@ordered_kernel
def power_sums(arguments: Sums) -> None:
    """Sum (inner product + c)^d; parameters are d and c."""
    _sums(arguments, add_products, power)


@ordered_kernel
def set_sums(arguments: Sums) -> None:
    """Sum intersection over union of 0/1 rows."""
    _sums(arguments, add_products, share)


@ordered_kernel
def weighted_set_sums(arguments: Sums) -> None:
    """Sum intersection over union of weighted sets."""
    _sums(arguments, add_minima, share)


@ordered_kernel
def laplacian_sums(arguments: Sums) -> None:
    """Sum exp(-gamma * L1 distance)."""
    _sums(arguments, add_absolute_differences, exponential)


@ordered_kernel
def chi_square_sums(arguments: Sums) -> None:
    """Sum exp(-gamma * chi-square distance)."""
    _sums(arguments, add_chi_squares, exponential)
