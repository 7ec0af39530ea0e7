"""Labels: convert any form of y to an indicator matrix and label names, and back."""

from simlabel.labels._advice import advise_on_labels, odd_name
from simlabel.labels._changes import Labelled, merged, renamed, retired, split_off
from simlabel.labels._forms import FRAMES, SETS, Indicator, check_indicator_dense
from simlabel.labels._hierarchy import Hierarchy, as_hierarchy
from simlabel.labels._space import LabelSpace, moved, refuse_unknown
from simlabel.labels._unknown import (
    Known,
    Partial,
    UnknownLabels,
    constant_labels,
    joined_unknown,
    label_counts,
)

__all__ = [
    "advise_on_labels",
    "check_indicator_dense",
    "FRAMES",
    "as_hierarchy",
    "Hierarchy",
    "Indicator",
    "constant_labels",
    "joined_unknown",
    "label_counts",
    "Known",
    "Labelled",
    "LabelSpace",
    "merged",
    "moved",
    "odd_name",
    "Partial",
    "refuse_unknown",
    "renamed",
    "retired",
    "SETS",
    "split_off",
    "UnknownLabels",
]
