"""The search of a boosting round: which condition parts the weights of present and absent labels best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.kernels import inlined, kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

# A later condition must be better by more than rounding could make it, so that of equal ones the first wins.
LOWER = 1 - 1e-9


@inlined
def _side(present: Floats, absent: Floats) -> float:
    """One side's share of Z: the sum over labels of sqrt(W+ W-)."""
    cost = 0.0
    for label in range(len(present)):
        cost += np.sqrt(present[label] * absent[label])
    return cost


@inlined
def _grow(present: Floats, absent: Floats, P: Floats, N: Floats, row: int) -> float:
    """Add a row to a side and return its new share, in one loop: half the loads and stores."""
    cost = 0.0
    for label in range(len(present)):
        present[label] += P[row, label]
        absent[label] += N[row, label]
        cost += np.sqrt(present[label] * absent[label])
    return cost


@kernel
def scan_thresholds(
    values: Floats, order: Ints, P: Floats, N: Floats, inside: Mask, z: Floats, threshold: Floats
) -> None:
    """Find the threshold of each column with the lowest Z on the rows `inside`.

    Parameters
    ----------
    values, order : arrays, (n_columns, n_rows)
        The columns, and the rows of each in ascending order.
    P, N : arrays, (n_rows, n_labels)
        Weights of the labels that a row has, and of those that it has not.
    inside : array of bool, (n_rows,)
        Rows that count.
    z, threshold : arrays, (n_columns,)
        Filled with the lowest Z and the middle between the two values it lies between; infinity where
        the column does not part the rows.
    """
    n_columns, n_rows = values.shape
    present, absent = np.empty(P.shape[1]), np.empty(P.shape[1])
    rows, above = np.empty(n_rows, np.int64), np.empty(n_rows)
    for j in range(n_columns):
        n_inside = 0
        for r in range(n_rows):
            rows[n_inside] = order[j, r]
            n_inside += inside[order[j, r]]
        # Summed from both ends: a side taken as total minus the other would not be 0 where it is empty.
        present[:], absent[:] = 0.0, 0.0
        for r in range(n_inside - 1, 0, -1):
            above[r] = _grow(present, absent, P, N, rows[r])
        present[:], absent[:] = 0.0, 0.0
        z[j], threshold[j] = np.inf, np.inf
        for r in range(1, n_inside):
            cost = 2 * (_grow(present, absent, P, N, rows[r - 1]) + above[r])
            low, high = values[j, rows[r - 1]], values[j, rows[r]]
            if low < high and cost < z[j] * LOWER:
                z[j] = cost
                middle = low / 2 + high / 2
                threshold[j] = middle if low < middle <= high else high


@kernel
def scan_words(
    indptr: Ints,
    indices: Ints,
    P: Floats,
    N: Floats,
    total_P: Floats,
    total_N: Floats,
    n_inside: int,
    inside: Mask,
    z: Floats,
) -> None:
    """Find Z of each column's presence, on the rows `inside`.

    Parameters
    ----------
    indptr, indices : arrays
        Rows in which each column is present, as in CSC.
    P, N, inside
        As in `scan_thresholds`.
    total_P, total_N : arrays, (n_labels,)
        Sums of P and N over the rows inside.
    n_inside : int
        Number of rows inside.
    z : array, (n_columns,)
        Filled; infinity where a column is present in all rows or in none.
    """
    present, absent = np.empty(P.shape[1]), np.empty(P.shape[1])
    for j in range(len(z)):
        present[:], absent[:] = 0.0, 0.0
        n_present = 0
        for entry in range(indptr[j], indptr[j + 1]):
            if inside[indices[entry]]:
                n_present += 1
                for label in range(len(present)):
                    present[label] += P[indices[entry], label]
                    absent[label] += N[indices[entry], label]
        z[j] = np.inf
        if 0 < n_present < n_inside:
            cost = _side(present, absent)
            for label in range(len(present)):
                present[label] = max(0.0, total_P[label] - present[label])
                absent[label] = max(0.0, total_N[label] - absent[label])
            z[j] = 2 * (cost + _side(present, absent))


@kernel
def first_lowest(z: Floats) -> int:
    """Position of the lowest Z; of equal ones the first; -1 where none is finite."""
    best, position = np.inf, -1
    for j in range(len(z)):
        if z[j] < best * LOWER:
            best, position = z[j], j
    return position
