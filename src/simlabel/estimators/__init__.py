"""The classifiers as scikit-learn knows them: wiring, no arithmetic."""

from simlabel.estimators._auto import AutoSMLClassifier
from simlabel.estimators._load import load
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._tagger import Tagger

__all__ = [
    "AutoSMLClassifier",
    "load",
    "SMLClassifier",
    "Tagger",
]
