"""Engines: the reduction over blocks of similarities, behind one door.

`_contract` is what an engine is given and must provide; `planning` chooses the way and the blocks,
`running` goes it, `reducers` are what happens to blocks of similarities on the way.
"""

from simlabel.sums._all_pairs import AllPairs
from simlabel.sums._auto import ENGINES, Auto, resolve_engine
from simlabel.sums._chunks import Chunk, Ids, number_after
from simlabel.sums._collapsed import Collapsed
from simlabel.sums._contract import Engine, Job, Plan, ReduceCall
from simlabel.sums._exact import Exact
from simlabel.sums._merged import sparse_product
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._references import References
from simlabel.sums._sampled import Sampled
from simlabel.sums._samplers import (
    SAMPLERS,
    Balanced,
    Distribution,
    Sampler,
    UniformSampler,
    draw,
    resolve_sampler,
)
from simlabel.sums._sums import is_objects, similarity_sums
from simlabel.sums._weightings import (
    WEIGHTINGS,
    CustomWeighting,
    Cutoff,
    Power,
    TopK,
    Weighting,
    resolve_weighting,
)
from simlabel.sums.reducers import Exclude, Keep, SumReducer, reducer_for
from simlabel.sums.running import SlowSimilarityWarning

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
    "Balanced",
    "Distribution",
    "SAMPLERS",
    "Sampler",
    "UniformSampler",
    "draw",
    "resolve_sampler",
    "CustomWeighting",
    "Cutoff",
    "Power",
    "TopK",
    "WEIGHTINGS",
    "Weighting",
    "resolve_weighting",
    "Chunk",
    "Ids",
    "number_after",
    "References",
    "sparse_product",
]
