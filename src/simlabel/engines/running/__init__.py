"""The reduction itself: over all pairs, each pair once, non-zero products, or shard by shard."""

from simlabel.engines.running._pairs import PairsRun
from simlabel.engines.running._progress import SlowSimilarityWarning
from simlabel.engines.running._shards import Shard, aligned, close, cut_jobs, make_shard, shard_rows
from simlabel.engines.running._sparse import SparseRun
from simlabel.engines.running._streamed import reduce_streamed
from simlabel.engines.running._symmetric import SymmetricRun
from simlabel.engines.running._tasks import run_tasks
from simlabel.engines.running._tiles import empty_outputs

__all__ = [
    "PairsRun",
    "Shard",
    "SlowSimilarityWarning",
    "SparseRun",
    "SymmetricRun",
    "aligned",
    "close",
    "cut_jobs",
    "empty_outputs",
    "make_shard",
    "reduce_streamed",
    "run_tasks",
    "shard_rows",
]
