"""The paper's claims, each judged by a table of figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simlabel.experiments._published import Figure
from simlabel.metrics import CRITERIA

Table = Mapping[str, Mapping[str, Figure]]  # algorithm -> criterion -> figure
_DIGITS = 3  # the paper's tables have three


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and what becomes of it.

    Attributes
    ----------
    text : str
        What the paper says.
    holds : bool or None
        None where it cannot be judged, since no rival was run.
    because : str
        The figures that decide.
    """

    text: str
    holds: bool | None
    because: str

    @property
    def verdict(self) -> str:
        """In words."""
        return {True: "holds", False: "does not hold", None: "cannot be judged"}[self.holds]


def judge(name: str, table: Table) -> list[Claim]:
    """The claims about a data set, judged by the figures of SML and of whatever rivals the table has.

    Examples
    --------
    >>> sml = dict.fromkeys(CRITERIA, Figure(0.2, 0.01)) | {"average_precision": Figure(0.8, 0.01)}
    >>> rival = dict.fromkeys(CRITERIA, Figure(0.3, 0.02)) | {"average_precision": Figure(0.7, 0.02)}
    >>> [claim.verdict for claim in judge("yeast", {"SML": sml, "ML-kNN": rival})]
    ['holds', 'holds', 'holds']
    """
    rivals = [rival for rival in table if rival != "SML"]
    claims = []
    for text, test in _CLAIMS[name]:
        if "SML" not in table or not rivals:
            claims.append(Claim(text, None, "SML and at least one rival are needed"))
        else:
            claims.append(Claim(text, *test(table, rivals)))
    return claims


_Test = Callable[[Table, Sequence[str]], tuple[bool | None, str]]


def _best_on(criteria: Sequence[str]) -> _Test:
    def test(table: Table, rivals: Sequence[str]) -> tuple[bool, str]:
        lost = []
        for criterion in criteria:
            own = round(table["SML"][criterion].mean, _DIGITS)
            for rival in rivals:
                other = round(table[rival][criterion].mean, _DIGITS)
                better = own > other if CRITERIA[criterion].higher_is_better else own < other
                if not better and not math.isnan(other):
                    lost.append(f"{_title(criterion)} of {rival} is {other:.3f}, of SML {own:.3f}")
        won = f"SML has the best mean on {len(criteria)} of {len(criteria)} criteria against {_and(rivals)}"
        return not lost, "; ".join(lost) or won

    return test


def _smaller_spread(criteria: Sequence[str], *, every: bool) -> _Test:
    def test(table: Table, rivals: Sequence[str]) -> tuple[bool, str]:
        cases = [
            (criterion, rival)
            for criterion in criteria
            for rival in rivals
            if not math.isnan(table[rival][criterion].std)
        ]
        won = [(c, rival) for c, rival in cases if table["SML"][c].std < table[rival][c].std]
        against = [f"{_title(c)} against {rival}" for c, rival in cases if (c, rival) not in won]
        because = f"SML's standard deviation is the smaller one in {len(won)} of {len(cases)} cases"
        because += f"; not in {', '.join(against)}" if against else ""
        return (len(won) == len(cases) if every else len(won) > len(cases) / 2), because

    return test


def _behind_on_coverage(table: Table, rivals: Sequence[str]) -> tuple[bool | None, str]:
    present = [rival for rival in ("ML-kNN", "BoosTexter") if rival in rivals]
    if not present:
        return None, "neither ML-kNN nor BoosTexter was run"
    own = round(table["SML"]["coverage"].mean, _DIGITS)
    others = {rival: round(table[rival]["coverage"].mean, _DIGITS) for rival in present}
    listed = ", ".join(f"{value:.3f} of {rival}" for rival, value in others.items())
    return all(value < own for value in others.values()), f"coverage {own:.3f} of SML, {listed}"


def _title(criterion: str) -> str:
    return CRITERIA[criterion].title.lower()


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_ALL = tuple(CRITERIA)
_CLAIMS: dict[str, list[tuple[str, _Test]]] = {
    "yeast": [
        ("SML is better than all others on all five criteria", _best_on(_ALL)),
        (
            "the variance of SML is smaller than that of the others in most cases",
            _smaller_spread(_ALL, every=False),
        ),
        (
            "it is smaller than that of all others for coverage, average precision and ranking loss",
            _smaller_spread(("coverage", "average_precision", "ranking_loss"), every=True),
        ),
    ],
    "image": [
        (
            "SML is better than all others on all criteria but coverage",
            _best_on([criterion for criterion in _ALL if criterion != "coverage"]),
        ),
        ("ML-kNN and BoosTexter have slightly lower coverage than SML", _behind_on_coverage),
    ],
}
