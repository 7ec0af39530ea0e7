"""Explanations and diagnostics of a fitted model: why, label errors, copies, novelty, what to label next."""

from simlabel.model.inspection._data_values import data_values
from simlabel.model.inspection._decisions import compare_with_rate, legend, turning_point
from simlabel.model.inspection._duplicates import (
    contradicting_duplicates,
    rounded_row_keys,
    warn_about_duplicates,
    warn_about_leakage,
)
from simlabel.model.inspection._explanation import Explanation, explain, titles_of
from simlabel.model.inspection._features import rbf_contributions, shared_words
from simlabel.model.inspection._label_errors import (
    LooQuality,
    combine_views,
    loo_evidence,
    loo_quality,
    suspicious_labels,
)
from simlabel.model.inspection._new_rows import novelty, suggest_rows, uncertainty
from simlabel.model.inspection._terms import Neighbors, Terms
from simlabel.model.inspection._texts import ExplanationText, explanation_texts

__all__ = [
    "warn_about_duplicates",
    "warn_about_leakage",
    "combine_views",
    "compare_with_rate",
    "contradicting_duplicates",
    "data_values",
    "explain",
    "Explanation",
    "loo_evidence",
    "loo_quality",
    "LooQuality",
    "legend",
    "Neighbors",
    "novelty",
    "rbf_contributions",
    "rounded_row_keys",
    "shared_words",
    "suggest_rows",
    "suspicious_labels",
    "Terms",
    "titles_of",
    "ExplanationText",
    "explanation_texts",
    "turning_point",
    "uncertainty",
]
