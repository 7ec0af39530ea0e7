"""Tuning: from "auto" to a value, by scores on the training rows."""

from simlabel._utils.registry import Registry
from simlabel.tuning._advice import advise_on_curve
from simlabel.tuning._columns import MOST_CANDIDATES, STRAIGHT_SHARE, ColumnSearch, ColumnWeights
from simlabel.tuning._criterion import Judge, Judgement, check_criterion, criterion_of, learned_scores
from simlabel.tuning._loo import LeaveOneOut
from simlabel.tuning._masked import best_of
from simlabel.tuning._problem import Candidate, on_rows, resolved, two_sided
from simlabel.tuning._result import TuningResult, search_results
from simlabel.tuning._ridge import RidgeSearch, Walk
from simlabel.tuning._search import Search, rows_for_patterns
from simlabel.tuning._validation import Validation

TUNERS: Registry[Search] = Registry("tuning", Search, [Validation, LeaveOneOut])

__all__ = [
    "TUNERS",
    "advise_on_curve",
    "Validation",
    "LeaveOneOut",
    "Search",
    "Candidate",
    "on_rows",
    "resolved",
    "rows_for_patterns",
    "ColumnSearch",
    "ColumnWeights",
    "MOST_CANDIDATES",
    "STRAIGHT_SHARE",
    "TuningResult",
    "search_results",
    "check_criterion",
    "two_sided",
    "RidgeSearch",
    "Walk",
    "Judge",
    "Judgement",
    "criterion_of",
    "learned_scores",
    "best_of",
]
