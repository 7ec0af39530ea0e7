"""Label sets with a guarantee: what is promised holds on new rows that are like the labelled ones."""

from simlabel.guarantees._base import Guarantee
from simlabel.guarantees._grounds import Fresh, Grounds
from simlabel.guarantees._label_coverage import LabelCoverage
from simlabel.guarantees._measured import Measured
from simlabel.guarantees._precision import Precision
from simlabel.guarantees._promise import PickedRowsWarning, Promise
from simlabel.guarantees._thresholds import Recall, SetCoverage

#: by what they promise, as on the command line
GUARANTEES: dict[str, type[Guarantee]] = {
    one.name: one for one in (Recall, Precision, LabelCoverage, SetCoverage)
}

__all__ = [
    "GUARANTEES",
    "Recall",
    "Precision",
    "LabelCoverage",
    "SetCoverage",
    "Fresh",
    "Grounds",
    "Guarantee",
    "Measured",
    "PickedRowsWarning",
    "Promise",
]
