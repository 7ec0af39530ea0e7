"""The algorithms that the paper compares with, each as in its own paper, and two label transformations."""

from simlabel.baselines._base import ConstantFallback, LabelPowerset
from simlabel.baselines._boosting import ADTBoostMH, BoosTexter
from simlabel.baselines._mlknn import MLkNN
from simlabel.baselines._ranksvm import RankSVM

__all__ = ["MLkNN", "BoosTexter", "ADTBoostMH", "RankSVM", "LabelPowerset", "ConstantFallback"]
