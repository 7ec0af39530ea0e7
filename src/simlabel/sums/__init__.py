"""Engines: the reduction over blocks of similarities.

An engine gets a `ReduceCall`: queries, prepared references, and jobs (similarity, weighting, reducer).
`_planning` chooses the way and the blocks, `_running` runs the plan, `_shards` does so for references that
are not in memory, and `_reducers` say what happens to blocks of similarities.
"""

from simlabel.sums._base import DEFAULT_MEMORY_MIB, Engine, Job, PairProgress, Plan, ReduceCall
from simlabel.sums._chunks import Chunk, Ids, next_free_id
from simlabel.sums._collapsed import (
    ENGINES,
    Auto,
    Collapsed,
    CollapsedSums,
    MergedSums,
    resolve_engine,
    sparse_product,
)
from simlabel.sums._pairs import AllPairs, Exact, Sampled
from simlabel.sums._planning import can_be_symmetric, make_plan, plan_reduction, symmetric_pays
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._reducers import (
    Exclude,
    Join,
    MatrixReducer,
    Reducer,
    SumReducer,
    TopKReducer,
    reducer_for,
)
from simlabel.sums._references import References
from simlabel.sums._running import SlowSimilarityWarning, rounds, run_tasks
from simlabel.sums._samplers import (
    SAMPLERS,
    Balanced,
    Distribution,
    Sampler,
    UniformSampler,
    draw,
    resolve_sampler,
)
from simlabel.sums._shards import Shard, aligned, finish_joined, jobs_for, make_shard, shard_rows
from simlabel.sums._sums import similarity_sums
from simlabel.sums._weightings import (
    WEIGHTINGS,
    CustomWeighting,
    Cutoff,
    Power,
    TopK,
    Weighting,
)

__all__ = [
    "Power",
    "TopK",
    "Cutoff",
    "Balanced",
    "Distribution",
    "Sampler",
    "UniformSampler",
    "DEFAULT_MEMORY_MIB",
    "ENGINES",
    "AllPairs",
    "Auto",
    "Collapsed",
    "CollapsedSums",
    "Engine",
    "Exact",
    "Exclude",
    "Job",
    "Join",
    "MatrixReducer",
    "TopKReducer",
    "MergedSums",
    "Plan",
    "Prepared",
    "PairProgress",
    "ReduceCall",
    "Reducer",
    "Sampled",
    "Shard",
    "SlowSimilarityWarning",
    "SumReducer",
    "aligned",
    "can_be_symmetric",
    "finish_joined",
    "jobs_for",
    "symmetric_pays",
    "make_plan",
    "make_shard",
    "plan_reduction",
    "prepare",
    "reducer_for",
    "resolve_engine",
    "rounds",
    "run_tasks",
    "shard_rows",
    "similarity_sums",
    "sparse_product",
    "Chunk",
    "Ids",
    "next_free_id",
    "References",
    "SAMPLERS",
    "draw",
    "resolve_sampler",
    "CustomWeighting",
    "WEIGHTINGS",
    "Weighting",
]
