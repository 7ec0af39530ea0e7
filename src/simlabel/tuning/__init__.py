"""Tuning: from "auto" to a value, by scores on the training rows."""

from simlabel._registry import Registry
from simlabel.tuning._result import TuningResult
from simlabel.tuning._search import Candidate, Problem, Search
from simlabel.tuning._validation import Validation

TUNERS: Registry[Search] = Registry("tuning", Search, [Validation])

__all__ = ["TUNERS", "Validation", "Search", "Candidate", "Problem", "TuningResult"]
