"""Any form of y <-> an indicator matrix and names."""

from simlabel.labels._forms import FRAMES, SETS, check_indicator_dense
from simlabel.labels._hierarchy import Hierarchy, as_hierarchy
from simlabel.labels._space import Indicator, LabelSpace, moved

__all__ = [
    "check_indicator_dense",
    "FRAMES",
    "as_hierarchy",
    "Hierarchy",
    "Indicator",
    "LabelSpace",
    "moved",
    "SETS",
]
