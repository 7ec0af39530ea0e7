"""The one place that checks what users hand in, and words the errors."""

from simlabel._utils.validation._companions import (
    check_groups,
    check_ids,
    check_known,
    check_same_length,
    check_sample_weight,
    check_unused,
    is_missing,
    is_one_id,
    object_array,
)
from simlabel._utils.validation._matrices import (
    FloatArray,
    IntArray,
    Rows,
    check_features,
    check_finite,
    check_matrix,
    check_nonnegative,
    check_sparse,
    collected,
)
from simlabel._utils.validation._parameters import check_flag, check_number, check_numbers

__all__ = [
    "FloatArray",
    "IntArray",
    "Rows",
    "check_features",
    "check_finite",
    "check_flag",
    "check_groups",
    "check_ids",
    "is_one_id",
    "check_known",
    "check_matrix",
    "check_nonnegative",
    "check_number",
    "check_numbers",
    "check_same_length",
    "check_sample_weight",
    "check_sparse",
    "check_unused",
    "collected",
    "is_missing",
    "object_array",
]
