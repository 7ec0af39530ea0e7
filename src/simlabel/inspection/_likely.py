"""What "likely" means, and how it goes together with the shares and counts beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simlabel.label_rules import PerLabel

if TYPE_CHECKING:
    from simlabel.inspection._explanation import Explanation

LIKELY = 0.5
HARDLY_MORE = 1.1  # times as many as among all rows do not speak for it
_APART = 0.15  # by which a share and a probability differ so that a reader asks why
_HALVINGS = 40


def legend(why: Explanation) -> list[str]:
    """What the figures of the sentences mean, in one line each."""
    model, learned = why._model, why.evidence.is_learned
    if model.labels.kind == "single":
        checked = (
            "" if model.calibration is None else ", as sure as was right for labelled rows, each left out"
        )
        likely = f"which part of all scores is the label's{checked}"
    elif model.calibration is not None:
        likely = "how often a label was right where labelled rows, each left out, scored about as much for it"
    else:
        likely = (
            f"the score {'as a share of the whole' if learned else 'itself'}, not checked on labelled rows"
        )
    score = "which part of the resemblance rows with the label make up, closer rows counting more"
    if learned:
        score = (
            "what all labelled rows, weighed together, say for and against a label, not only the most similar"
        )
    if learned and why.evidence.has_words:
        score = (
            "what all words of a row add up to, as learned from all labelled rows, not only the most similar"
        )
    by_threshold = model.labels.kind != "single" and isinstance(model.rule, PerLabel)
    ranked = "by how far they score above their own threshold" if by_threshold else "by score"
    return [f"likely: {likely}", f"score: {score}; labels are ranked {ranked}, not by how likely they are"]


def follows(why: Explanation, query: int, k: int, share: float) -> str:
    """What to add where a label's probability does not seem to follow from what is said beside it.

    Parameters
    ----------
    share : float
        Of the most similar rows, or of the resemblance to all rows, that have the label.
    """
    likely, usual = float(why.probabilities[query, k]), float(why.evidence.frequency(k))
    if why.evidence.is_learned:
        return _weighed(why, query, k, likely, usual, share)
    if why._model.calibration is None:
        return ""
    if likely >= LIKELY and round(likely, 2) < round(share, 2) and likely <= HARDLY_MORE * usual < share:
        return (
            f", which tells little of a frequent label: of labelled rows with as much, {likely:.0%} have it"
        )
    if abs(likely - share) < _APART or (likely >= LIKELY) != (likely > share):
        return ""  # about the same, or between what all rows say and these: as a reader expects
    turn = turning_point(why, k)
    if turn is None:
        return ""
    if turn == np.inf:
        return ", which is not enough: no share made it more likely than not"
    if likely >= LIKELY:
        return f", which is enough: from {turn:.1%} on it is more likely than not" if share >= turn else ""
    return (
        f", which is not enough: only from {turn:.1%} on is it more likely than not" if share < turn else ""
    )


def _weighed(why: Explanation, query: int, k: int, likely: float, usual: float, share: float) -> str:
    """Where the most similar rows say one thing of a label, and its probability another."""
    above, below = share > HARDLY_MORE * usual, round(share, 2) <= round(usual, 2)
    less, more = round(likely, 2) < round(usual, 2), likely > HARDLY_MORE * usual
    score = float(why.terms.totals[query, k])
    if (above and less and score < 0) or (below and more and score > 0):
        who = "all its words together" if why.evidence.has_words else "all rows weighed together"
        return f", but {who} make it {'more' if more else 'less'} likely than its frequency does"
    if why._model.calibration is None:
        return ""
    if (above and less) or (likely < LIKELY <= share and share - likely >= _APART):
        return f", but of labelled rows that scored about as much only {likely:.0%} have it"
    # where there are words, they are what decided, and that is said before
    if not why.evidence.has_words and (
        (below and more) or (share < LIKELY <= likely and likely - share >= _APART)
    ):
        return f", but of labelled rows that scored about as much {likely:.0%} have it"
    return ""


def turning_point(why: Explanation, k: int) -> float | None:
    """The share of the resemblance from which a label is more likely than not.

    Infinite where none is. None where any is, or where probabilities do not follow from this share alone.
    """
    model, calibration = why._model, why._model.calibration
    if calibration is None or calibration.single_ or calibration.sum_scale_ is not None:
        return None
    scorer = model.scorer
    if model.labels.hierarchy is not None or scorer.solved.scale is not None or scorer.known is not None:
        return None
    if scorer.stages.recorded is not None:
        return None
    curve = calibration.curves_[k]
    low, high = np.finfo(np.float64).eps, 1.0 - np.finfo(np.float64).eps
    if curve(np.array([low]))[0] >= LIKELY:
        return None
    if curve(np.array([high]))[0] < LIKELY:
        return np.inf
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if curve(np.array([middle]))[0] >= LIKELY else (middle, high)
    return float(high)
