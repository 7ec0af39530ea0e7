"""Engines: the reduction over blocks of similarities, behind one door."""

from simlabel.engines._base import Engine
from simlabel.engines._choice import ENGINES, Auto, resolve_engine
from simlabel.engines._collapsed import Collapsed, CollapsedSums
from simlabel.engines._exact import Exact, reduce_similarities
from simlabel.engines._neighbours import ANN
from simlabel.engines._plan import Plan
from simlabel.engines._progress import Progress, SlowSimilarityWarning
from simlabel.engines._reducers import Exclude, Keep, Reducer, Sum, reducer_for
from simlabel.engines._rows import Prepared, blocks, n_rows, prepare
from simlabel.engines._sampled import Sampled
from simlabel.engines._sums import is_objects, similarity_sums
from simlabel.engines._tiles import Job

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
    "SlowSimilarityWarning",
    "Sum",
    "blocks",
    "is_objects",
    "n_rows",
    "prepare",
    "reduce_similarities",
    "reducer_for",
    "resolve_engine",
    "similarity_sums",
]
