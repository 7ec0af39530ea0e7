"""What a fitted model says besides labels: what decided, what is wrong, what is new, what to label."""

from simlabel.inspection._copies import advise_on_copies, advise_on_shared_rows, row_keys
from simlabel.inspection._decisions import compare_with_rate, legend, turning_point
from simlabel.inspection._duplicates import contradicting_duplicates
from simlabel.inspection._explanation import Explanation, explain, titles_of
from simlabel.inspection._features import rbf_contributions, shared_words
from simlabel.inspection._left_out import left_out_evidence
from simlabel.inspection._novelty import novelty
from simlabel.inspection._quality import LeftOutQuality, left_out_quality
from simlabel.inspection._sentences import Told, headline, told
from simlabel.inspection._suggestion import suggest, uncertainty
from simlabel.inspection._suspicious import suspicious_labels
from simlabel.inspection._terms import Terms
from simlabel.inspection._values import data_values

__all__ = [
    "advise_on_copies",
    "advise_on_shared_rows",
    "contradicting_duplicates",
    "data_values",
    "compare_with_rate",
    "explain",
    "Explanation",
    "headline",
    "legend",
    "left_out_evidence",
    "left_out_quality",
    "LeftOutQuality",
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
