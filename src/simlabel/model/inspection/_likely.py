"""What "likely" means, and how it goes together with the shares and counts beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from simlabel._utils.text import percent

if TYPE_CHECKING:
    from simlabel.model.inspection._explanation import Explanation

LIKELY = 0.5
HARDLY_MORE = 1.1  # times as many as among all rows do not speak for it
_APART = 0.15  # by which a share and a probability differ so that a reader asks why
_HALVINGS = 40


def legend(why: Explanation) -> str:
    """What a percentage means, by the example of the first that is shown; "" where there is none."""
    shown = ((query, k) for query in range(len(why)) for k in why.explained(query))
    first = next(shown, None)
    if first is None:
        return ""
    model, likely = why._model, percent(why.probabilities[first])
    if model.calibration is not None:
        return f"{likely}: of past cases that looked like this, {likely} had the tag"
    if model.labels.kind == "single":
        score = "the tag's share of the scores of all tags"
    elif why.evidence.is_learned:
        score = "the tag's score as a share of the whole"
    else:
        score = "the share of the similarity that rows with the tag make up"
    return f"{likely}: {score}; not checked against past cases"


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
        share_of_rows = percent(likely)
        return (
            f", which tells little of a frequent label: of labeled rows with as much, {share_of_rows} have it"
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
        return f", but of labeled rows that scored about as much only {percent(likely)} have it"
    # where there are words, they are what decided, and that is said before
    if not why.evidence.has_words and (
        (below and more) or (share < LIKELY <= likely and likely - share >= _APART)
    ):
        return f", but of labeled rows that scored about as much {percent(likely)} have it"
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
