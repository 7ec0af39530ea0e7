"""Experiments: protocols, comparisons, statistics, and the paper's published figures."""

from simlabel.experiments._algorithms import (
    ALGORITHMS,
    Algorithm,
    AlgorithmAbsent,
    find_algorithm,
    list_algorithms,
)
from simlabel.experiments._claims import Claim, judge
from simlabel.experiments._comparison import Comparison, CrossValidation, Failure
from simlabel.experiments._fold import FoldResult, criteria_for, run_fold, summarize
from simlabel.experiments._protocols import (
    FixedSplit,
    KFolds,
    Protocol,
    RandomSplits,
    Split,
    Splitter,
    as_protocol,
)
from simlabel.experiments._published import PUBLISHED, Figure
from simlabel.experiments._reproduction import FULL, QUICK, Reproduction, reproduce
from simlabel.experiments._run import compare, cross_validate
from simlabel.experiments._statistics import Pair, Ranking, rank_algorithms
from simlabel.experiments._store import write_atomically
from simlabel.experiments._stratified import StratifiedFolds

__all__ = [
    "compare",
    "cross_validate",
    "Comparison",
    "CrossValidation",
    "FoldResult",
    "Failure",
    "KFolds",
    "StratifiedFolds",
    "FixedSplit",
    "RandomSplits",
    "Protocol",
    "Split",
    "Splitter",
    "as_protocol",
    "ALGORITHMS",
    "Algorithm",
    "AlgorithmAbsent",
    "find_algorithm",
    "list_algorithms",
    "rank_algorithms",
    "Ranking",
    "Pair",
    "reproduce",
    "Reproduction",
    "FULL",
    "QUICK",
    "judge",
    "Claim",
    "criteria_for",
    "run_fold",
    "summarize",
    "write_atomically",
    "PUBLISHED",
    "Figure",
]
