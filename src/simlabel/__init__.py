"""Similarity-based multi-label learning."""

from simlabel.engines import similarity_sums
from simlabel.estimators import AutoSMLClassifier, SMLClassifier, Tagger, load

__version__ = "0.1.0"

__all__ = ["SMLClassifier", "AutoSMLClassifier", "Tagger", "similarity_sums", "load"]
