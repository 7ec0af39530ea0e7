"""Compiled loops on plain arrays: no classes, no checks, no threads.

Callers hold the interpreter lock free while these run (``nogil``), so one thread per block of
queries is enough to use every core. No signature is declared: read-only arrays are welcome.
"""

from simlabel._kernels._accumulate import add_by_label, add_by_reference, keep_largest, turn_over
from simlabel._kernels._coordinates import chi_square_distances, l1_distances, minimum_sums
from simlabel._kernels._finish import negative_exponential, rbf_from_products
from simlabel._kernels._inverted import add_rows, nonzero_products
from simlabel._kernels._ranking import ranking_criteria, top_labels

__all__ = [
    "add_by_label",
    "add_by_reference",
    "add_rows",
    "keep_largest",
    "chi_square_distances",
    "l1_distances",
    "minimum_sums",
    "negative_exponential",
    "nonzero_products",
    "ranking_criteria",
    "rbf_from_products",
    "top_labels",
    "turn_over",
]
