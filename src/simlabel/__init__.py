"""Similarity-based multi-label learning."""

from simlabel._auto import AutoSMLClassifier
from simlabel._classifier import SMLClassifier
from simlabel._load import load
from simlabel.engines import similarity_sums

__version__ = "0.1.0"

__all__ = ["SMLClassifier", "AutoSMLClassifier", "similarity_sums", "load"]
