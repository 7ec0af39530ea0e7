"""What a fitted model says besides labels: what decided, what is wrong, what is new, what to label."""

from simlabel.inspection._copies import advise_on_copies, advise_on_shared_rows, row_keys
from simlabel.inspection._duplicates import contradicting_duplicates
from simlabel.inspection._evidence import titles_of
from simlabel.inspection._explanation import Explanation
from simlabel.inspection._left_out import left_out_evidence
from simlabel.inspection._novelty import novelty
from simlabel.inspection._quality import LeftOutQuality, left_out_quality
from simlabel.inspection._shared import shared_words
from simlabel.inspection._suggestion import suggest, uncertainty
from simlabel.inspection._suspicious import suspicious_labels
from simlabel.inspection._terms import Terms, largest_terms
from simlabel.inspection._told import told
from simlabel.inspection._values import data_values

__all__ = [
    "advise_on_copies",
    "advise_on_shared_rows",
    "contradicting_duplicates",
    "data_values",
    "Explanation",
    "largest_terms",
    "left_out_evidence",
    "left_out_quality",
    "LeftOutQuality",
    "novelty",
    "row_keys",
    "shared_words",
    "suggest",
    "suspicious_labels",
    "Terms",
    "titles_of",
    "told",
    "uncertainty",
]
