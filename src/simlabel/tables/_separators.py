"""What stands between several values in a text, found out from many texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from simlabel.tables._terms import LISTS, listed, split

SEPARATORS = ("|", ";", "\n", "\t", ",", " / ")
ENOUGH = 20  # cells from which on it means something that some, or no two, are alike

_WHOLE = 0.95  # of the cells that are not empty
_HASHTAGS = re.compile(r"#[^\s#,;|]+(?:\s*#[^\s#,;|]+)*")
_SHORT_ITEM = 3.0  # words on average, of a value among several
_RECUR = 0.25  # of the values among several: where fewer are in other rows, too, they are no values


def separator_of(texts: Sequence[str]) -> str | None:
    """What stands between short items that make up many of the texts; None where nothing does.

    Examples
    --------
    >>> separator_of(["Tom Hanks, Meg Ryan", "Meg Ryan", "Bill Pullman, Tom Hanks"])
    ','
    >>> separator_of(["He came, saw the whole of Gaul, and won the war.", "A day in May, and nothing to do"])
    >>> separator_of(["Hello, where is my order", "Printer broken, please help", "Slow, since Monday"])
    """
    best: tuple[float, str] | None = None
    for candidate in SEPARATORS:
        parts = [split(text, candidate) for text in texts]
        several = [each for each in parts if len(each) > 1]
        if len(several) < max(1, 0.05 * len(texts)) or not _short(parts):
            continue
        if candidate == "," and _run_on(several) and _recurring(parts) < _RECUR:
            continue
        share = len(several) / len(texts)
        if best is None or share > best[0]:
            best = share, candidate
    if best is not None:
        return best[1]
    return " " if _are_codes(texts) else None


def _short(parts: Sequence[Sequence[str]]) -> bool:
    """Whether the items are names rather than parts of sentences."""
    lengths = sorted(len(item.split()) for each in parts for item in each)
    if (
        not lengths
        or sum(lengths) / len(lengths) > _SHORT_ITEM
        or lengths[int(0.95 * (len(lengths) - 1))] > 5
    ):
        return False
    sentences = sum(
        item.endswith((".", "!", "?")) and len(item.split()) > 3 for each in parts for item in each
    )
    return sentences <= 0.02 * len(lengths)


def _run_on(several: Sequence[Sequence[str]]) -> bool:
    """Whether what follows a comma goes on in lower case, as in sentences, and not as names do."""
    return sum(any(item[:1].islower() for item in each[1:]) for each in several) > 0.5 * len(several)


def _recurring(parts: Sequence[Sequence[str]]) -> float:
    """The share of items that are in other texts, too: of values many are, of halves of sentences few."""
    different = {tuple(each) for each in parts}
    seen = Counter(item.lower() for each in different for item in set(each))
    return sum(n for n in seen.values() if n > 1) / max(1, seen.total())


def _are_codes(texts: Sequence[str]) -> bool:
    """Whether the texts are codes with spaces between, such as ``libc6 zlib1g``, and not words."""
    tokens = [token for text in texts for token in text.split()]
    several = sum(len(text.split()) > 1 for text in texts) >= 0.05 * len(texts)
    odd = sum(not token.strip(".,;:!?()'\"").isalpha() for token in tokens)
    return (
        several
        and len(tokens) >= ENOUGH
        and odd >= 0.6 * len(tokens)
        and len(set(tokens)) < 0.5 * len(tokens)
    )


def guess_separator(texts: Sequence[str]) -> str:
    """What stands between the labels of a row; empty where each text is one label.

    A separator is believed where what it separates recurs: most items of cells that hold several are
    found in other cells too, or there are few cells to look at.

    Examples
    --------
    >>> guess_separator(["sea;sunset", "sea", "trees;sea"]), guess_separator(["Sci-Fi, Drama", "Drama"])
    (';', ',')
    >>> guess_separator(["sea", "trees"])
    ''

    Lists in brackets or braces, and hashtags, are believed where they are nearly the whole column.

    >>> guess_separator(['["sea", "sunset"]', "[]"]), guess_separator(["{sea,sunset}"])
    ('[]', '[]')
    >>> guess_separator(["#sea #sunset", "#sea"])
    '#'
    """
    marked = list_form(texts)
    if marked:
        return marked
    best = (0.0, "")
    for candidate in SEPARATORS:
        rows = [set(split(text, candidate)) for text in texts]
        several = [row for row in rows if len(row) > 1]
        if not several:
            continue
        seen: dict[str, int] = {}
        for row in rows:
            for item in row:
                seen[item] = seen.get(item, 0) + 1
        inside = [item for row in several for item in row]
        recurring = sum(seen[item] > 1 for item in inside) / len(inside)
        if recurring >= 0.5 or len(texts) < ENOUGH:
            best = max(best, (len(several) * (0.5 + recurring), candidate), key=lambda pair: pair[0])
    return best[1]


def list_form(texts: Sequence[str]) -> str:
    """Return `LISTS` or "#" if nearly all texts are lists in brackets or braces, or hashtags; else "".

    Examples
    --------
    >>> list_form(['["sea"]', "[]"]), list_form(["#sea #sunset", "#sea"]), list_form(["sea; sunset"])
    ('[]', '#', '')
    """
    enough = _WHOLE * max(1, len(texts))
    if sum(listed(text) is not None for text in texts) >= enough:
        return LISTS
    return "#" if sum(bool(_HASHTAGS.fullmatch(text.strip())) for text in texts) >= enough else ""
