"""Labels: convert any form of y to an indicator matrix and label names, and back."""

from simlabel.labels._advice import suspicious_name, warn_about_labels
from simlabel.labels._changes import LabeledData, archived, merged, renamed, split_off
from simlabel.labels._forms import FRAMES, SETS, Indicator, check_indicator_dense
from simlabel.labels._hierarchy import Hierarchy, as_hierarchy
from simlabel.labels._space import LabelSpace, moved, refuse_unknown
from simlabel.labels._unknown import (
    MaskedIndicator,
    PartialLabels,
    UnknownLabels,
    concatenate_unknown,
    constant_labels,
    label_counts,
)

__all__ = [
    "warn_about_labels",
    "check_indicator_dense",
    "FRAMES",
    "as_hierarchy",
    "Hierarchy",
    "Indicator",
    "constant_labels",
    "concatenate_unknown",
    "label_counts",
    "MaskedIndicator",
    "LabeledData",
    "LabelSpace",
    "merged",
    "moved",
    "suspicious_name",
    "PartialLabels",
    "refuse_unknown",
    "renamed",
    "archived",
    "SETS",
    "split_off",
    "UnknownLabels",
]
