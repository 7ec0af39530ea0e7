"""What two rows of a table have in common, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_WORD = re.compile(r"\w{3,}")


def shared_words(
    one: Mapping[str, Any], other: Mapping[str, Any], telling: Sequence[str] = (), most: int = 6
) -> list[str]:
    """Words that two rows have in common, those that were found telling first, then the longest.

    Parameters
    ----------
    one, other : dict of column to cell
        Texts, lists of texts; cells of another kind have no words.
    telling : sequence of str
        Terms that speak for a label, such as `Explanation.words` finds them.
    most : int
        How many to list.

    Examples
    --------
    >>> shared_words({"plot": "a shark at the beach"}, {"plot": "the white shark"}, ["shark"])
    ['shark', 'the']
    """
    common = _words(one) & _words(other)
    first = [word for term in telling for word in _WORD.findall(term.lower()) if word in common]
    rest = sorted(common - set(first), key=lambda word: (-len(word), word))
    return list(dict.fromkeys(first + rest))[:most]


def _words(row: Mapping[str, Any]) -> set[str]:
    texts = [" ".join(cell) if isinstance(cell, list) else cell for cell in row.values()]
    return {word for text in texts if isinstance(text, str) for word in _WORD.findall(text.lower())}
