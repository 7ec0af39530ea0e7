"""Which way a sum is taken, in which blocks, on how many threads, and what it costs."""

from simlabel.sums.planning._cost import collapsed_cost, nonzero_cost, pairs_cost
from simlabel.sums.planning._plan import make_plan
from simlabel.sums.planning._ways import (
    Visit,
    can_be_symmetric,
    is_worth_symmetric,
    plan_reduction,
    why_not_sparse,
)

__all__ = [
    "can_be_symmetric",
    "collapsed_cost",
    "is_worth_symmetric",
    "make_plan",
    "nonzero_cost",
    "pairs_cost",
    "plan_reduction",
    "why_not_sparse",
    "Visit",
]
