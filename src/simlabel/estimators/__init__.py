"""Classifiers with the interface of scikit-learn.

`SMLClassifier` is the method of the paper with every stage by hand. `AutoSMLClassifier` chooses the stages,
and `Tagger` reads raw tables; both fit an `SMLClassifier` and publish its model. All three share the methods
of `FittedClassifier` (predictions, file), `UpdateMixin` (fit, incremental learning) and `InspectionMixin`
(explanations, diagnostics).
"""

from simlabel.estimators._auto import AutoSMLClassifier, default_configurations
from simlabel.estimators._load import load
from simlabel.estimators._search import Configuration
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._tagger import Tagger

__all__ = [
    "AutoSMLClassifier",
    "Configuration",
    "default_configurations",
    "load",
    "SMLClassifier",
    "Tagger",
]
