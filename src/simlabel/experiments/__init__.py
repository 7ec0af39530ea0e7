"""Experiments: splits, comparisons with statistical tests, and the paper's tables.

`compare` runs algorithms on data sets, `cross_validate` one estimator on one data set, and `reproduce` the
paper's tables. The splits are in `_splits`, one fold in `_fold`, stored folds in `_store`.
"""

from simlabel.experiments._algorithms import (
    ALGORITHMS,
    Algorithm,
    AlgorithmNotInstalled,
    find_algorithm,
    list_algorithms,
)
from simlabel.experiments._comparison import (
    Comparison,
    CrossValidation,
    Failure,
    Pair,
    Ranking,
    critical_difference,
    holm,
    rank_algorithms,
)
from simlabel.experiments._fold import (
    FoldResult,
    criteria_for,
    dense_labels,
    run_fold,
    select_rows,
    summarize,
)
from simlabel.experiments._reproduction import (
    FULL,
    PUBLISHED,
    QUICK,
    Claim,
    PaperValue,
    Reproduction,
    check_claims,
    reproduce,
)
from simlabel.experiments._run import compare, cross_validate
from simlabel.experiments._splits import (
    FixedSplit,
    KFolds,
    Protocol,
    RandomSplits,
    Split,
    Splitter,
    StratifiedFolds,
    as_protocol,
    stratified_parts,
    train_and_test,
)
from simlabel.experiments._store import algorithm_key, data_key, write_atomically

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
    "AlgorithmNotInstalled",
    "find_algorithm",
    "list_algorithms",
    "rank_algorithms",
    "critical_difference",
    "holm",
    "Ranking",
    "Pair",
    "reproduce",
    "Reproduction",
    "FULL",
    "QUICK",
    "check_claims",
    "Claim",
    "criteria_for",
    "run_fold",
    "summarize",
    "stratified_parts",
    "train_and_test",
    "select_rows",
    "dense_labels",
    "algorithm_key",
    "data_key",
    "write_atomically",
    "PUBLISHED",
    "PaperValue",
]
