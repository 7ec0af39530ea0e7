"""Any form of y <-> an indicator matrix and names, and what is unknown of it."""

from simlabel.labels._advice import advise_on_labels
from simlabel.labels._forms import FRAMES, SETS, check_indicator_dense
from simlabel.labels._space import Indicator, LabelSpace, moved, refuse_unknown
from simlabel.labels._unknown import Known, Partial, UnknownLabels, joined_unknown

__all__ = [
    "advise_on_labels",
    "check_indicator_dense",
    "FRAMES",
    "Indicator",
    "joined_unknown",
    "Known",
    "LabelSpace",
    "moved",
    "Partial",
    "refuse_unknown",
    "SETS",
    "UnknownLabels",
]
