"""Why a label is suggested for an item: labelled items that speak for it, and the words they share."""

from __future__ import annotations

import re
from typing import Any

from simlabel.desk._predicting import Published
from simlabel.desk._teaching import as_rows

_ITEMS, _WORDS, _SHARED = 5, 8, 6
_WORD = re.compile(r"\w{3,}")


def why(published: Published, content: dict[str, Any], label: int) -> dict[str, Any] | None:
    """Items and words for and against a label; None where the model does not know it."""
    model, name = published.model, str(label)
    known = model.classes_.tolist()
    if name not in known:
        return None
    told = model.explain(as_rows([content], published.columns), top=_ITEMS)
    column = known.index(name)
    words = told.words(0, name).head(_WORDS) if told.evidence.has_words else None
    return {
        "probability": round(float(told.probabilities[0, column]), 4),
        "usual": round(float(told.usual[column]), 4),
        "items": [
            {"item": int(item), "contribution": round(float(value), 6)}
            for item, value in told.contributors(0, column)
        ],
        "words": []
        if words is None
        else [
            {"column": column, "term": term, "contribution": round(value, 6)}
            for column, term, value in words[["column", "term", "contribution"]].to_numpy().tolist()
        ],
    }


def shared_words(one: dict[str, Any], other: dict[str, Any], telling: list[str]) -> list[str]:
    """Words that two contents have in common, those that speak for the label first.

    Examples
    --------
    >>> shared_words({"plot": "a shark at the beach"}, {"plot": "the white shark"}, ["shark"])
    ['shark', 'the']
    """
    common = _words(one) & _words(other)
    first = [word for term in telling for word in _WORD.findall(term.lower()) if word in common]
    rest = sorted(common - set(first), key=lambda word: (-len(word), word))
    return list(dict.fromkeys(first + rest))[:_SHARED]


def _words(content: dict[str, Any]) -> set[str]:
    texts = [" ".join(value) if isinstance(value, list) else value for value in content.values()]
    return {word for text in texts if isinstance(text, str) for word in _WORD.findall(text.lower())}
