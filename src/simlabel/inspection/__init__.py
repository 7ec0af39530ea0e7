"""What a fitted model says besides labels: what decided, what is wrong, what is new, what to label."""

from simlabel.inspection._duplicates import contradicting_duplicates
from simlabel.inspection._explanation import Explanation
from simlabel.inspection._novelty import novelty
from simlabel.inspection._suggestion import suggest, uncertainty
from simlabel.inspection._suspicious import suspicious_labels
from simlabel.inspection._terms import Terms, largest_terms
from simlabel.inspection._values import data_values

__all__ = [
    "contradicting_duplicates",
    "data_values",
    "Explanation",
    "largest_terms",
    "novelty",
    "suggest",
    "suspicious_labels",
    "Terms",
    "uncertainty",
]
