"""Which rules can be fitted where labels that apply may not be recorded."""

from __future__ import annotations

from simlabel.rules._auto import AutoRule
from simlabel.rules._base import LabelRule
from simlabel.rules._per_label import PerLabel
from simlabel.rules._rules import CustomRule, CutoffRule, FixedSize, SetSize

#: criteria that follow from how many rows each label is right in, so that these numbers can be put right
BY_LABEL = ("f1_micro", "f1_macro", "hamming_loss")


def for_presence_only(rule: LabelRule) -> LabelRule:
    """The rule, if what is not recorded does not mislead it; thresholds per label in place of "auto"."""
    if isinstance(rule, SetSize | FixedSize | CustomRule) or rule.needs == "nothing":
        return rule
    if isinstance(rule, AutoRule):
        return for_presence_only(PerLabel(rule.criterion, minimum=rule.minimum, maximum=rule.maximum))
    if isinstance(rule, PerLabel | CutoffRule) and rule.criterion in BY_LABEL:
        return rule
    raise ValueError(
        f"{rule!r} learns from whole label sets, and with absent='unknown' these may lack labels. Use "
        f"'set_size', 'fixed_size', or 'cutoff' or 'per_label' with a criterion of {', '.join(BY_LABEL)}."
    )
