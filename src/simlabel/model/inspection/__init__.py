"""What a fitted model says besides labels: what decided, what is wrong, what is new, what to label."""

from simlabel.model.inspection._copies import advise_on_copies, advise_on_shared_rows, row_keys
from simlabel.model.inspection._duplicates import contradicting_duplicates
from simlabel.model.inspection._evidence import titles_of
from simlabel.model.inspection._explanation import Explanation
from simlabel.model.inspection._left_out import left_out_evidence
from simlabel.model.inspection._novelty import novelty
from simlabel.model.inspection._quality import LeftOutQuality, left_out_quality
from simlabel.model.inspection._shared import shared_words
from simlabel.model.inspection._suggestion import suggest, uncertainty
from simlabel.model.inspection._suspicious import suspicious_labels
from simlabel.model.inspection._terms import Terms, largest_terms
from simlabel.model.inspection._told import told
from simlabel.model.inspection._values import data_values

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
