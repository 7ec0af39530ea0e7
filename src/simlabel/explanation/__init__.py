"""Explanations: the terms of the sum, not yet added up."""

from simlabel.explanation._explanation import Explanation
from simlabel.explanation._terms import Terms, largest_terms

__all__ = ["Explanation", "Terms", "largest_terms"]
