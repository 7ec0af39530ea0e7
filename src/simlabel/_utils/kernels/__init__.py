"""Compiled loops on plain arrays: no classes, no checks, no threads.

The loops release the interpreter lock (``nogil``), so one thread per block of queries uses every core.
No signature is declared, so read-only arrays are accepted.
"""

from simlabel._utils.kernels._accumulate import (
    WORD,
    add_by_label,
    add_by_reference,
    add_present,
    sort_by_label,
    transpose,
)
from simlabel._utils.kernels._compile import inlined, kernel
from simlabel._utils.kernels._lanes import panel_width
from simlabel._utils.kernels._lapack import cholesky_in_place, invert_lower_in_place
from simlabel._utils.kernels._panels import (
    chi_square_distances,
    chi_square_sums,
    in_panels,
    l1_distances,
    laplacian_sums,
    power_sums,
    rbf_sums,
    set_sums,
    sums_of_minima,
    tile_rows,
    weighted_set_sums,
)
from simlabel._utils.kernels._ranking import (
    count_larger_residuals,
    count_weaker_shares,
    merge_top_k,
    ranking_criteria,
    top_labels,
    worst_ridge,
    worst_shares,
)
from simlabel._utils.kernels._registers import (
    add_absolute_differences,
    add_chi_squares,
    add_minima,
    add_products,
    negative_exponential,
    rbf_from_products,
)
from simlabel._utils.kernels._sparse import (
    HARMONIC,
    PRODUCT,
    SMALLER,
    add_rows,
    common_terms,
    sparse_times_dense,
)

__all__ = [
    "HARMONIC",
    "PRODUCT",
    "SMALLER",
    "WORD",
    "add_absolute_differences",
    "add_by_label",
    "add_by_reference",
    "add_chi_squares",
    "add_minima",
    "add_present",
    "add_products",
    "add_rows",
    "chi_square_distances",
    "chi_square_sums",
    "cholesky_in_place",
    "common_terms",
    "count_larger_residuals",
    "count_weaker_shares",
    "in_panels",
    "inlined",
    "invert_lower_in_place",
    "merge_top_k",
    "kernel",
    "l1_distances",
    "laplacian_sums",
    "negative_exponential",
    "panel_width",
    "power_sums",
    "ranking_criteria",
    "rbf_from_products",
    "rbf_sums",
    "set_sums",
    "sort_by_label",
    "sparse_times_dense",
    "sums_of_minima",
    "tile_rows",
    "top_labels",
    "transpose",
    "weighted_set_sums",
    "worst_ridge",
    "worst_shares",
]
