"""Tuning: choose a value for what is "auto", by scores of the training rows.

`Validation` and `LeaveOneOut` are the searches of `SMLClassifier`; with learned influence both use
`RidgeSearch`. `ColumnSearch` weights the columns of a table. All return a curve, a `TuningResult`.
"""

from simlabel._utils.registry import Registry
from simlabel.tuning._columns import MAX_CANDIDATES, STRAIGHT_SHARE, ColumnSearch, ColumnWeights
from simlabel.tuning._measure import (
    best_of,
    check_criterion,
    criterion_of,
    measure_learned,
    on_rows,
    resolved,
    two_sided,
)
from simlabel.tuning._result import TuningResult, curve_problem, search_results
from simlabel.tuning._ridge import RidgeSearch, SearchSchedule
from simlabel.tuning._search import LeaveOneOut, Search, Tuned, Validation, rows_for_patterns

TUNERS: Registry[Search] = Registry("tuning", Search, [Validation, LeaveOneOut])

__all__ = [
    "best_of",
    "check_criterion",
    "ColumnSearch",
    "ColumnWeights",
    "criterion_of",
    "curve_problem",
    "LeaveOneOut",
    "measure_learned",
    "MAX_CANDIDATES",
    "on_rows",
    "resolved",
    "RidgeSearch",
    "rows_for_patterns",
    "Search",
    "search_results",
    "STRAIGHT_SHARE",
    "Tuned",
    "TUNERS",
    "TuningResult",
    "two_sided",
    "Validation",
    "SearchSchedule",
]
