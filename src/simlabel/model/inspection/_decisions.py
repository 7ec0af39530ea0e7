"""Why the label rule predicts a label or not, and how probabilities relate to the numbers shown with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simlabel._utils.text import percent
from simlabel.rules import (
    CutoffRule,
    FixedSize,
    LabelRule,
    OperatingPointRule,
    PerLabel,
    ScoreBlock,
    SetSize,
    Threshold,
)

if TYPE_CHECKING:
    from simlabel.model.inspection._explanation import Explanation

LIKELY = 0.5
MAX_TYPICAL_LIFT = 1.1  # times the base rate: a rate up to that is no evidence for a label
_APART = 0.15  # a difference between a share and a probability at which a reader asks why
_N_HALVINGS = 40  # of an interval of shares
_CRITERIA = {
    "f1_micro": "micro F1",
    "f1_macro": "macro F1",
    "f1_instance": "F1 of each row",
    "subset_accuracy": "sets that are wholly right",
    "hamming_loss": "few wrong labels",
}


def uses_set_size(why: Explanation) -> bool:
    """Return whether the number of labels follows from the similarities."""
    model = why.model
    return isinstance(model.rule, SetSize) and model.labels.kind != "single" and bool(len(model.rule.sizes_))


def takes_the_highest(why: Explanation) -> bool:
    """Return whether the number of labels is decided first, and then the highest scores are taken."""
    return uses_set_size(why) or isinstance(why.model.rule, FixedSize)


def is_likely(why: Explanation, query: int, k: int) -> bool:
    """Return whether a label is at least as likely as not."""
    return bool(why.probabilities[query, k] >= LIKELY)


def why_given(why: Explanation, query: int, k: int) -> str:
    """Say why an unlikely label is predicted, or one that only the minimum number lets in; "" otherwise."""
    model, rule, scores = why.model, why.model.rule, why.score_block(query)
    if model.labels.kind == "single":
        reason = "because every row gets 1 label and no other scores higher"
    elif scores.constant is not None and scores.constant[k] > 0:
        reason = "because every training row has it"
    elif takes_the_highest(why):
        reason = _among_the_highest(why, query, k)
    elif model.labels.hierarchy is not None and k not in rule.predict(scores).indices:
        reason = "because a label below it is"
    elif (at := _threshold(rule, scores, k)) is None:
        reason = "although it is less likely than not, by the rule that was set"
    elif scores.labels[0, k] <= at and rule.minimum:
        return _only_for_the_minimum(why, query, k, _probability_at(why, scores, k, at))
    else:
        least = percent(_probability_at(why, scores, k, at))
        reason = (
            f"although it is less likely than not, since here this label is given from {least} on "
            f"({_origin(rule, k)})"
        )
    return "" if is_likely(why, query, k) else f", given {reason}"


def why_not_given(why: Explanation, query: int, k: int) -> str:
    """Say why a label is not predicted: its score, and what the label rule requires."""
    model, rule, chosen, scores = why.model, why.model.rule, why.chosen[query], why.score_block(query)
    if scores.constant is not None and scores.constant[k] < 0:
        return ", not given, since no training row has it"
    if model.labels.kind == "single":
        return f", not given: every row gets 1 label, and {why.labels[chosen[0]]} scores higher"
    score, at = f"its score is {scores.labels[0, k]:.3g}", _threshold(rule, scores, k)
    if takes_the_highest(why) or at is None:
        lowest = min((float(scores.labels[0, j]) for j in chosen), default=np.inf)
        count = "no label" if not len(chosen) else f"{len(chosen)} whose scores are {lowest:.3g} or more"
        return f", not given: {score}, and the row gets {count}"
    least = percent(_probability_at(why, scores, k, at))
    return f", not given: {score}; this label is given above {at:.3g}, {least} likely ({_origin(rule, k)})"


def fills_set_size(why: Explanation, query: int, k: int) -> bool:
    """Return whether an unlikely label is predicted for being the most frequent one."""
    frequent = bool(why.base_rate[k] == why.base_rate.max())
    return frequent and takes_the_highest(why) and not is_likely(why, query, k)


def _among_the_highest(why: Explanation, query: int, k: int) -> str:
    """Say that a label is among the highest scores, which alone decides, however likely others are."""
    chosen, likely = why.chosen[query], why.probabilities[query]
    n = len(chosen)
    only = f"only because the row is to get {'1 label' if n == 1 else f'{n} labels'} and"
    others = np.setdiff1d(np.arange(len(likely)), chosen)
    left = others[np.argmax(likely[others])] if len(others) else k
    if likely[left] < LIKELY and fills_set_size(why, query, k):
        return f"{only} nothing {'else ' if (likely[chosen] >= LIKELY).any() else ''}fits well"
    first, unlike = "no other scores higher", "not even"
    if n > 1:
        first, unlike = f"this is one of the {n} that score highest", "unlike"
    if likely[left] < LIKELY:
        return f"{only} {first}"
    return f"{only} {first}, {unlike} {why.labels[left]}, which is {percent(likely[left])} likely"


def _only_for_the_minimum(why: Explanation, query: int, k: int, least: float) -> str:
    """Say that a label is below its threshold, and predicted for the minimum number of labels."""
    rule = why.model.rule
    aim = "no prediction is empty" if rule.minimum == 1 else f"every row gets at least {rule.minimum} labels"
    usually = f"from {percent(least)} on"
    if percent(least) == percent(why.probabilities[query, k]):
        usually = "from a higher score on"
    return f", given only so that {aim}; else this label is given {usually} ({_origin(rule, k)})"


def _threshold(rule: LabelRule, scores: ScoreBlock, k: int) -> float | None:
    """Return the score above which a rule predicts a label; None for a rule without thresholds."""
    if isinstance(rule, PerLabel):
        return float(rule.thresholds_[k])
    if isinstance(rule, CutoffRule | OperatingPointRule):
        return rule.value_
    if isinstance(rule, Threshold):
        return float(scores.labels[0] @ rule.coef_ + rule.intercept_)
    return None


def _probability_at(why: Explanation, scores: ScoreBlock, k: int, at: float) -> float:
    """Return the probability of a label for a query that scores just its threshold."""
    labels, ranking = scores.labels.copy(), scores.ranking.copy()
    labels[0, k] = ranking[0, k] = at
    return float(why.model.to_probabilities(replace(scores, labels=labels, ranking=ranking))[0, k])


def _origin(rule: LabelRule, k: int) -> str:
    """Say where a threshold comes from."""
    if isinstance(rule, OperatingPointRule):
        return f"a rule that aims at a {rule.measure} of {rule.aim:.0%}"
    if isinstance(rule, Threshold):
        return "a threshold that was learned from all scores of a row"
    given = rule.value != "auto" if isinstance(rule, CutoffRule) else False
    if isinstance(rule, PerLabel) and rule.thresholds is not None:
        given = not isinstance(rule.thresholds, Mapping) or k in rule.thresholds
    if given or not isinstance(rule, PerLabel | CutoffRule):
        return "a threshold that was set"
    return f"a rule tuned for {_CRITERIA[rule.criterion]}"


def legend(why: Explanation) -> str:
    """Say what a percentage means, by the example of the first that is shown; "" if none is."""
    first = next(((query, k) for query in range(len(why)) for k in why.described[query]), None)
    if first is None:
        return ""
    likely = percent(why.probabilities[first])
    if why.model.calibration is not None:
        return f"{likely}: of past cases that looked like this, {likely} had the tag"
    if why.model.labels.kind == "single":
        score = "the tag's share of the scores of all tags"
    elif why.is_learned:
        score = "the tag's score as a share of the whole"
    else:
        score = "the share of the similarity that rows with the tag make up"
    return f"{likely}: {score}; not checked against past cases"


def compare_with_rate(why: Explanation, query: int, k: int, share: float) -> str:
    """Say why the probability of a label differs from the rate that is shown with it; "" if it does not.

    Parameters
    ----------
    share : float
        Of the most similar rows, or of the similarity to all rows, that have the label.
    """
    likely, base_rate = float(why.probabilities[query, k]), float(why.frequencies[k])
    if why.is_learned:
        return _compare_with_count(why, query, k, likely, base_rate, share)
    if why.model.calibration is None:
        return ""
    if (
        likely >= LIKELY
        and round(likely, 2) < round(share, 2)
        and likely <= MAX_TYPICAL_LIFT * base_rate < share
    ):
        have = percent(likely)
        return f", which tells little of a frequent label: of labeled rows with as much, {have} have it"
    if abs(likely - share) < _APART or (likely >= LIKELY) != (likely > share):
        return ""  # about the same, or between the base rate and this share: as a reader expects
    turn = turning_point(why, k)
    if turn is None:
        return ""
    if turn == np.inf:
        return ", which is not enough: no share made it more likely than not"
    if likely >= LIKELY and share >= turn:
        return f", which is enough: from {turn:.1%} on it is more likely than not"
    if likely < LIKELY and share < turn:
        return f", which is not enough: only from {turn:.1%} on is it more likely than not"
    return ""


def _compare_with_count(
    why: Explanation, query: int, k: int, likely: float, base_rate: float, share: float
) -> str:
    """Say where the most similar rows suggest one thing about a label, and its probability another."""
    above, below = share > MAX_TYPICAL_LIFT * base_rate, round(share, 2) <= round(base_rate, 2)
    less, more = round(likely, 2) < round(base_rate, 2), likely > MAX_TYPICAL_LIFT * base_rate
    score = float(why.terms.totals[query, k])
    if (above and less and score < 0) or (below and more and score > 0):
        who = "all its words together" if why.has_words else "all rows weighed together"
        return f", but {who} make it {'more' if more else 'less'} likely than its frequency does"
    if why.model.calibration is None:
        return ""
    apart = abs(share - likely) >= _APART and (likely >= LIKELY) != (share >= LIKELY)
    if (above and less) or (apart and likely < share):
        return f", but of labeled rows that scored about as much only {percent(likely)} have it"
    # words, if there are any, are what decided, and the sentence names them already
    if not why.has_words and ((below and more) or (apart and share < likely)):
        return f", but of labeled rows that scored about as much {percent(likely)} have it"
    return ""


def turning_point(why: Explanation, k: int) -> float | None:
    """Return the smallest share of the similarity at which a label is more likely than not.

    Infinite if no share is enough. None if any is, or if probabilities depend on more than this share.
    """
    model, scorer, calibration = why.model, why.model.scorer, why.model.calibration
    if calibration is None or calibration.single_ or calibration.sum_scale_ is not None:
        return None
    if model.labels.hierarchy is not None or scorer.stages.label_frequency is not None:
        return None
    if scorer.solved.scale is not None or scorer.known is not None:
        return None
    low, high = np.finfo(np.float64).eps, 1.0 - np.finfo(np.float64).eps
    at_low, at_high = calibration.curves_[k](np.array([low, high]))
    if at_low >= LIKELY:
        return None
    if at_high < LIKELY:
        return np.inf
    for _ in range(_N_HALVINGS):
        middle = (low + high) / 2
        enough = calibration.curves_[k](np.array([middle]))[0] >= LIKELY
        low, high = (low, middle) if enough else (middle, high)
    return float(high)
