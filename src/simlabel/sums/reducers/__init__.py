"""What happens to blocks of similarities: they are summed with influence, ranked, or kept."""

from simlabel.sums.reducers._influence import Arrays, InfluenceColumns, turned_over
from simlabel.sums.reducers._rows import reducer_for
from simlabel.sums.reducers._sums import (
    Exclude,
    Join,
    Keep,
    PartialResult,
    PartialSum,
    Reducer,
    SumReducer,
    finish_into,
)

__all__ = [
    "Arrays",
    "Exclude",
    "InfluenceColumns",
    "Join",
    "Keep",
    "PartialResult",
    "PartialSum",
    "Reducer",
    "SumReducer",
    "finish_into",
    "reducer_for",
    "turned_over",
]
