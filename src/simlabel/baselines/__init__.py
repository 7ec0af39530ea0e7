"""The algorithms that the paper compares with, each as its source paper has it."""

from simlabel.baselines._adtboost import ADTBoostMH
from simlabel.baselines._boostexter import BoosTexter
from simlabel.baselines._mlknn import MLkNN
from simlabel.baselines._powerset import LabelPowerset, OrConstant
from simlabel.baselines._ranksvm import RankSVM

__all__ = ["MLkNN", "BoosTexter", "ADTBoostMH", "RankSVM", "LabelPowerset", "OrConstant"]
