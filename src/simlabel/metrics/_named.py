"""Every criterion by its name: the paper's five, sets, and the first k labels."""

from __future__ import annotations

from simlabel.metrics._criteria import CRITERIA
from simlabel.metrics._record import Criterion
from simlabel.metrics._set_criteria import OF_SETS
from simlabel.metrics._top_k import FAMILIES

_FAMILIES = {family.pattern.name: family for family in FAMILIES}
_KNOWN = CRITERIA | {criterion.name: criterion for criterion in OF_SETS}

#: how many labels from the top are looked at where nobody says so
USUAL_K = (1, 3, 5)

#: names beside the paper's five; any other k is understood too
MORE_CRITERIA = (
    *(criterion.name for criterion in OF_SETS),
    *(family.at(k).name for family in FAMILIES for k in USUAL_K),
)


def find_criterion(name: str) -> Criterion:
    """The criterion of a name: one of `CRITERIA`, of `MORE_CRITERIA`, or one of the latter at another k.

    Examples
    --------
    >>> find_criterion("precision@7").title
    'Precision@7'
    >>> find_criterion("f1")
    Traceback (most recent call last):
        ...
    ValueError: unknown criterion 'f1'; expected one of hamming_loss, ..., psp@5 (any k will do).
    """
    if name in _KNOWN:
        return _KNOWN[name]
    family, at, k = name.partition("@")
    if not (at and family in _FAMILIES and k.isascii() and k.isdigit() and int(k) > 0):
        known = ", ".join((*CRITERIA, *MORE_CRITERIA))
        raise ValueError(f"unknown criterion {name!r}; expected one of {known} (any k will do).")
    return _FAMILIES[family].at(int(k))
