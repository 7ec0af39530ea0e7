"""Why a label is given that is less likely than not: what the label rule says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simlabel._utils.text import percent
from simlabel.model.inspection._likely import LIKELY
from simlabel.rules import (
    AimedRule,
    CutoffRule,
    FixedSize,
    LabelRule,
    PerLabel,
    ScoreBlock,
    SetSize,
    Threshold,
)

if TYPE_CHECKING:
    from simlabel.model.inspection._explanation import Explanation

_CRITERIA = {
    "f1_micro": "micro F1",
    "f1_macro": "macro F1",
    "f1_instance": "F1 of each row",
    "subset_accuracy": "sets that are wholly right",
    "hamming_loss": "few wrong labels",
}


def counts_labels(why: Explanation) -> bool:
    """Whether similarity decides how many labels there are."""
    model = why._model
    return isinstance(model.rule, SetSize) and model.labels.kind != "single" and bool(len(model.rule.sizes_))


def although(why: Explanation, query: int, k: int) -> str:
    """Why a label is given that is not likely, or that its rule alone would not give; else nothing."""
    model, rule = why._model, why._model.rule
    likely = bool(why.probabilities[query, k] >= LIKELY)
    if model.labels.kind == "single":
        return "" if likely else ", given because every row gets 1 label and no other scores higher"
    scores = why.evidence.scores(query)
    if scores.constant is not None and scores.constant[k] > 0:
        return "" if likely else ", given because every training row has it"
    if counts_labels(why) or isinstance(rule, FixedSize):
        return "" if likely else _among_the_first(why, query, k)
    if model.labels.hierarchy is not None and k not in rule.predict(scores).indices:
        return "" if likely else ", given because a label below it is"
    at = _threshold(rule, scores, k)
    if at is None:
        return "" if likely else ", given although it is less likely than not, by the rule that was set"
    if scores.labels[0, k] <= at and rule.minimum:
        return _at_least(why, query, k, _likely_at(why, scores, k, at))
    if likely:
        return ""
    least = _likely_at(why, scores, k, at)
    return (
        f", given although it is less likely than not, since here this label is given from {percent(least)} "
        f"on ({_by(rule, k)})"
    )


def not_given(why: Explanation, query: int, k: int) -> str:
    """Why a label is not predicted: its score, and what the label rule asks for."""
    model, rule, chosen = why._model, why._model.rule, why.chosen[query]
    scores = why.evidence.scores(query)
    if scores.constant is not None and scores.constant[k] < 0:
        return ", not given, since no training row has it"
    score = f"its score is {scores.labels[0, k]:.3g}"
    if model.labels.kind == "single":
        return f", not given: every row gets 1 label, and {why.labels[chosen[0]]} scores higher"
    at = _threshold(rule, scores, k)
    if counts_labels(why) or isinstance(rule, FixedSize) or at is None:
        lowest = min((float(scores.labels[0, j]) for j in chosen), default=np.inf)
        count = "no label" if not len(chosen) else f"{len(chosen)} whose scores are {lowest:.3g} or more"
        return f", not given: {score}, and the row gets {count}"
    least = percent(_likely_at(why, scores, k, at))
    return f", not given: {score}; this label is given above {at:.3g}, {least} likely ({_by(rule, k)})"


def fills_a_place(why: Explanation, query: int, k: int) -> bool:
    """Whether a rule that counts gives the most frequent label, though it is not likely."""
    ranked = counts_labels(why) or isinstance(why._model.rule, FixedSize)
    return ranked and bool(why.probabilities[query, k] < LIKELY and why.usual[k] == why.usual.max())


def _among_the_first(why: Explanation, query: int, k: int) -> str:
    """A rule that counts takes the highest scores whatever they are, and however likely others are."""
    chosen, likely = why.chosen[query], why.probabilities[query]
    n = len(chosen)
    only = f", given only because the row is to get {'1 label' if n == 1 else f'{n} labels'} and"
    left = max((j for j in range(len(likely)) if j not in chosen), key=likely.__getitem__, default=k)
    if likely[left] < LIKELY and fills_a_place(why, query, k):
        return f"{only} nothing {'else ' if (likely[chosen] >= LIKELY).any() else ''}fits well"
    first, unlike = "no other scores higher", "not even"
    if n > 1:
        first, unlike = f"this is one of the {n} that score highest", "unlike"
    but = (
        ""
        if likely[left] < LIKELY
        else f", {unlike} {why.labels[left]}, which is {percent(likely[left])} likely"
    )
    return f"{only} {first}{but}"


def _at_least(why: Explanation, query: int, k: int, least: float) -> str:
    """A label below its threshold, which only the least number of labels lets in."""
    rule = why._model.rule
    aim = "no prediction is empty" if rule.minimum == 1 else f"every row gets at least {rule.minimum} labels"
    usually = f"from {percent(least)} on"
    if percent(least) == percent(why.probabilities[query, k]):
        usually = "from a higher score on"
    return f", given only so that {aim}; else this label is given {usually} ({_by(rule, k)})"


def _threshold(rule: LabelRule, scores: ScoreBlock, k: int) -> float | None:
    """The score above which a rule gives a label to a query; None where it has none."""
    if isinstance(rule, PerLabel):
        return float(rule.thresholds_[k])
    if isinstance(rule, CutoffRule | AimedRule):
        return rule.value_
    if isinstance(rule, Threshold):
        return float(scores.labels[0] @ rule.coef_ + rule.intercept_)
    return None


def _likely_at(why: Explanation, scores: ScoreBlock, k: int, at: float) -> float:
    """How likely a label would be of a query that scored just its threshold."""
    labels, ranking = scores.labels.copy(), scores.ranking.copy()
    labels[0, k] = ranking[0, k] = at
    return float(why._model.to_probabilities(replace(scores, labels=labels, ranking=ranking))[0, k])


def _by(rule: LabelRule, k: int) -> str:
    """Where a threshold comes from."""
    if isinstance(rule, AimedRule):
        return f"a rule that aims at a {rule.measure} of {rule.aim:.0%}"
    if isinstance(rule, Threshold):
        return "a threshold that was learned from all scores of a row"
    given = rule.value != "auto" if isinstance(rule, CutoffRule) else False
    if isinstance(rule, PerLabel) and rule.thresholds is not None:
        given = not isinstance(rule.thresholds, Mapping) or k in rule.thresholds
    if given or not isinstance(rule, PerLabel | CutoffRule):
        return "a threshold that was set"
    return f"a rule tuned for {_CRITERIA[rule.criterion]}"
