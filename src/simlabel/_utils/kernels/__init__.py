"""Compiled loops on plain arrays: no classes, no checks, no threads.

Callers hold the interpreter lock free while these run (``nogil``), so one thread per block of
queries is enough to use every core. No signature is declared: read-only arrays are welcome.
"""

from simlabel._utils.kernels._accumulate import add_by_label, add_by_reference, keep_largest, turn_over
from simlabel._utils.kernels._compile import inlined, kernel
from simlabel._utils.kernels._conformal import (
    count_larger_residuals,
    count_weaker_shares,
    worst_ridge,
    worst_shares,
)
from simlabel._utils.kernels._finish import negative_exponential, rbf_from_products
from simlabel._utils.kernels._gather import WORD, add_present, sort_by_label
from simlabel._utils.kernels._inverted import HARMONIC, PRODUCT, SMALLER, add_rows, common_terms
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
from simlabel._utils.kernels._ranking import ranking_criteria, top_labels
from simlabel._utils.kernels._sparse_products import sparse_times_dense

__all__ = [
    "HARMONIC",
    "PRODUCT",
    "SMALLER",
    "WORD",
    "add_by_label",
    "add_by_reference",
    "add_present",
    "add_rows",
    "keep_largest",
    "chi_square_distances",
    "chi_square_sums",
    "cholesky_in_place",
    "common_terms",
    "count_larger_residuals",
    "count_weaker_shares",
    "in_panels",
    "invert_lower_in_place",
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
    "turn_over",
    "weighted_set_sums",
    "worst_ridge",
    "worst_shares",
    "inlined",
    "kernel",
]
