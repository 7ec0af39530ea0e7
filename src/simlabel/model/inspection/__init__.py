"""Explanations and diagnostics of a fitted model: why, label errors, copies, novelty, what to label next."""

from simlabel.model.inspection._data_values import data_values
from simlabel.model.inspection._decisions import compare_with_rate, legend, turning_point
from simlabel.model.inspection._duplicates import (
    advise_on_copies,
    advise_on_shared_rows,
    contradicting_duplicates,
    row_keys,
)
from simlabel.model.inspection._explanation import Explanation, explain, titles_of
from simlabel.model.inspection._features import rbf_contributions, shared_words
from simlabel.model.inspection._label_errors import (
    GivenLabels,
    LeftOutQuality,
    combine_views,
    left_out_evidence,
    left_out_quality,
    suspicious_labels,
)
from simlabel.model.inspection._new_rows import novelty, suggest, uncertainty
from simlabel.model.inspection._sentences import Told, headline, told
from simlabel.model.inspection._terms import Neighbors, Terms

__all__ = [
    "advise_on_copies",
    "advise_on_shared_rows",
    "combine_views",
    "compare_with_rate",
    "contradicting_duplicates",
    "data_values",
    "explain",
    "Explanation",
    "GivenLabels",
    "headline",
    "left_out_evidence",
    "left_out_quality",
    "LeftOutQuality",
    "legend",
    "Neighbors",
    "novelty",
    "rbf_contributions",
    "row_keys",
    "shared_words",
    "suggest",
    "suspicious_labels",
    "Terms",
    "titles_of",
    "Told",
    "told",
    "turning_point",
    "uncertainty",
]
