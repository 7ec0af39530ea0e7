"""Engines: the reduction over blocks of similarities, behind one door."""

from typing import TYPE_CHECKING

from simlabel.engines._base import Engine
from simlabel.engines._choice import ENGINES, Auto, resolve_engine
from simlabel.engines._collapsed import Collapsed, CollapsedSums
from simlabel.engines._exact import Exact, reduce_similarities
from simlabel.engines._neighbours import ANN
from simlabel.engines._plan import Plan
from simlabel.engines._progress import Progress, SlowSimilarityWarning
from simlabel.engines._reducers import Exclude, Keep, Reducer, SumReducer
from simlabel.engines._row_reducers import reducer_for
from simlabel.engines._rows import Prepared, blocks, n_rows, pieces, prepare
from simlabel.engines._sampled import Sampled
from simlabel.engines._shards import Shard, aligned, close, cut_jobs, make_shard, shard_rows
from simlabel.engines._sums import is_objects, similarity_sums
from simlabel.engines._tiles import Job
from simlabel.support.renamed import renamed

__all__ = [
    "ANN",
    "ENGINES",
    "Auto",
    "Collapsed",
    "CollapsedSums",
    "Engine",
    "Exact",
    "Exclude",
    "Job",
    "Keep",
    "Plan",
    "Prepared",
    "Progress",
    "Reducer",
    "Sampled",
    "Shard",
    "SlowSimilarityWarning",
    "SumReducer",
    "aligned",
    "blocks",
    "close",
    "cut_jobs",
    "is_objects",
    "make_shard",
    "n_rows",
    "pieces",
    "prepare",
    "reduce_similarities",
    "reducer_for",
    "resolve_engine",
    "shard_rows",
    "similarity_sums",
]

if not TYPE_CHECKING:  # with it every name would be one of the module
    __getattr__ = renamed(__name__, {"Sum": "SumReducer"})
