"""The reduction itself: over all pairs, each pair once, non-zero products, or shard by shard."""

from simlabel.sums.running._pairs import PairsRun
from simlabel.sums.running._progress import SlowSimilarityWarning
from simlabel.sums.running._shards import Shard, aligned, close, cut_jobs, make_shard, shard_rows
from simlabel.sums.running._sparse import SparseRun
from simlabel.sums.running._streamed import reduce_streamed
from simlabel.sums.running._symmetric import SymmetricRun
from simlabel.sums.running._tasks import run_tasks
from simlabel.sums.running._tiles import empty_outputs

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
