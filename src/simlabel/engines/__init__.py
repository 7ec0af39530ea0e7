"""Engines: the reduction over blocks of similarities, behind one door.

`_contract` is what an engine is given and must provide; `planning` chooses the way and the blocks,
`running` goes it, `reducers` are what happens to blocks of similarities on the way.
"""

from simlabel.engines._all_pairs import AllPairs
from simlabel.engines._auto import ENGINES, Auto, resolve_engine
from simlabel.engines._collapsed import Collapsed
from simlabel.engines._contract import Engine, Job, Plan, ReduceCall
from simlabel.engines._exact import Exact
from simlabel.engines._prepared import Prepared, prepare
from simlabel.engines._sampled import Sampled
from simlabel.engines._sums import is_objects, similarity_sums
from simlabel.engines.reducers import Exclude, Keep, SumReducer, reducer_for
from simlabel.engines.running import SlowSimilarityWarning

__all__ = [
    "ENGINES",
    "AllPairs",
    "Auto",
    "Collapsed",
    "Engine",
    "Exact",
    "Exclude",
    "Job",
    "Keep",
    "Plan",
    "Prepared",
    "ReduceCall",
    "Sampled",
    "SlowSimilarityWarning",
    "SumReducer",
    "is_objects",
    "prepare",
    "reducer_for",
    "resolve_engine",
    "similarity_sums",
]
