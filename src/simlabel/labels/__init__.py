"""Any form of y <-> an indicator matrix and names."""

from simlabel.labels._advice import advise_on_labels
from simlabel.labels._forms import FRAMES, SETS, check_indicator_dense
from simlabel.labels._space import Indicator, LabelSpace, moved

__all__ = [
    "advise_on_labels",
    "check_indicator_dense",
    "FRAMES",
    "Indicator",
    "LabelSpace",
    "moved",
    "SETS",
]
