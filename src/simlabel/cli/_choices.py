"""What options offer, written out: help is shown at once, without the rooms that declare these names.

tests/cli/test_imports.py holds each of them to its room.
"""

from __future__ import annotations

SIMILARITIES = (
    *("rbf", "laplacian", "polynomial", "linear", "quadratic", "cosine", "chi_square", "jaccard"),
    "precomputed",
)
NORMALIZERS = ("l2", "zscore", "minmax", "quantile", "relevance")
INFLUENCES = ("uniform", "label_mean", "ridge")
LABEL_RULES = ("set_size", "threshold", "fixed_size", "cutoff", "per_label", "aimed", "auto")

FORMATS = ("arff", "svmlight", "xmc", "parquet", "npz", "npy", "csv")
TABLE_FORMATS = ("parquet", "excel", "jsonl", "json", "csv")
#: how the label columns of a format are told, where the user has to tell them
LABELS_OF = {
    "arff": "names with commas between, a number (the first n; the last: -n) or a Mulan XML file, if it is "
    "not beside it",
    "parquet": "names with commas between",
    "npy": "the file of labels (npy, npz, txt, CSV, JSON lines)",
    "csv": "names with commas between",
}

CRITERIA = ("hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision")
MORE_CRITERIA = (
    *("subset_accuracy", "f1_micro", "f1_macro", "f1_instance", "precision@1", "precision@3", "precision@5"),
    *("ndcg@1", "ndcg@3", "ndcg@5", "psp@1", "psp@3", "psp@5"),
)

ALGORITHMS = (
    *("sml", "autosml", "mlknn", "boostexter", "adtboost", "ranksvm"),
    *("br", "cc", "lp", "knn", "rf", "et"),
)
