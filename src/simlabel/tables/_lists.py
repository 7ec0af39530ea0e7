"""Cells that hold several values: lists in brackets, hashtags, or values with a separator between them."""

from __future__ import annotations

import ast
import csv
import json
import re
from collections import Counter
from collections.abc import Sequence

from simlabel.tables._cells import Cell

#: in place of a separator: the cell is a list in brackets or braces
LISTS = "[]"
SEPARATORS = ("|", ";", "\n", "\t", ",", " / ")
ENOUGH = 20  # cells: among fewer, values may recur or differ by chance

_WHOLE = 0.95  # share of the texts
_HASHTAGS = re.compile(r"#[^\s#,;|]+(?:\s*#[^\s#,;|]+)*")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_NO_COMMA = re.compile(r"""\[\s*(?:'[^',]*'|"[^",]*")(?:\s+(?:'[^',]*'|"[^",]*"))+\s*\]""")
_SHORT_ITEM = 3.0  # words on average, of one value
_RECUR = 0.25  # share of values that must occur in other rows, too


def split(c: Cell, separator: str) -> list[str]:
    """Return the values in a cell.

    Examples
    --------
    >>> split("sea | sun|", "|"), split(("a", "b"), ""), split(None, ","), split('["a, b", "c"]', LISTS)
    (['sea', 'sun'], ['a', 'b'], [], ['a, b', 'c'])
    """
    if c is None:
        return []
    if isinstance(c, tuple):
        return list(c)
    if separator == LISTS:
        found = as_list(str(c))
        return [str(c).strip()] if found is None else found
    parts = str(c).split(separator) if separator else [str(c)]
    return [part.strip() for part in parts if part.strip()]


def join(labels: Sequence[str], separator: str) -> str:
    """Return a cell that `split` reads as these labels.

    Examples
    --------
    >>> join(["a", "b"], ";"), join(["a", "b"], LISTS), join(["a", "b"], "#")
    ('a;b', '["a", "b"]', '#a #b')
    """
    if separator == LISTS:
        return json.dumps([*labels], ensure_ascii=False)
    return " ".join(f"#{label}" for label in labels) if separator == "#" else separator.join(labels)


def as_list(text: str) -> list[str] | None:
    """Return the items of a list written as JSON, Python, numpy or ``{a,b}``; None for any other text.

    Examples
    --------
    >>> as_list("['a', 'b']"), as_list('{a,"b c"}'), as_list("['a' 'b']"), as_list("[]"), as_list("a, b")
    (['a', 'b'], ['a', 'b c'], ['a', 'b'], [], None)
    """
    text = text.strip()
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "{}", "()"):
        return None
    if _NO_COMMA.fullmatch(text):  # as numpy prints; Python would concatenate the strings
        return [one or other for one, other in _QUOTED.findall(text)]
    for read in (json.loads, ast.literal_eval):
        try:
            found = read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
        if (isinstance(found, dict) and found) or not isinstance(found, list | tuple | set | dict):
            return None
        if any(isinstance(item, list | tuple | set | dict) for item in found):
            return None
        items = sorted(found, key=str) if isinstance(found, set) else found
        return [str(item).strip() for item in items if item is not None and str(item).strip()]
    if text[0] == "(" or any(sign in text[1:-1] for sign in "[]{}"):
        return None
    row = next(csv.reader([text[1:-1].replace("\n", " ")], skipinitialspace=True), [])
    return [item.strip().strip("'") for item in row if item.strip()]


def list_form(texts: Sequence[str]) -> str:
    """Return `LISTS` or "#" if nearly all texts are lists in brackets or braces, or hashtags; else "".

    Examples
    --------
    >>> list_form(['["sea"]', "[]"]), list_form(["#sea #sunset", "#sea"]), list_form(["sea; sunset"])
    ('[]', '#', '')
    """
    enough = _WHOLE * max(1, len(texts))
    if sum(as_list(text) is not None for text in texts) >= enough:
        return LISTS
    return "#" if sum(bool(_HASHTAGS.fullmatch(text.strip())) for text in texts) >= enough else ""


def guess_separator(texts: Sequence[str]) -> str:
    """Return the separator between the labels of a row; empty if each text is one label.

    A separator is accepted if at least half of the values in cells with several values occur in other cells,
    too, or if there are few cells. Lists in brackets or braces, and hashtags, must be nearly all cells.

    Examples
    --------
    >>> guess_separator(["sea;sunset", "sea", "trees;sea"]), guess_separator(["Sci-Fi, Drama", "Drama"])
    (';', ',')
    >>> guess_separator(["sea", "trees"])
    ''
    >>> guess_separator(['["sea", "sunset"]', "[]"]), guess_separator(["{sea,sunset}"])
    ('[]', '[]')
    >>> guess_separator(["#sea #sunset", "#sea"])
    '#'
    """
    marked = list_form(texts)
    if marked:
        return marked
    best, found = 0.0, ""
    for candidate in SEPARATORS:
        rows = [set(split(text, candidate)) for text in texts]
        several = [row for row in rows if len(row) > 1]
        inside = [item for row in several for item in row]
        counts = Counter(item for row in rows for item in row)
        recurring = sum(counts[item] > 1 for item in inside) / max(1, len(inside))
        worth = len(several) * (0.5 + recurring)
        if worth > best and (recurring >= 0.5 or len(texts) < ENOUGH):
            best, found = worth, candidate
    return found


def feature_separator(texts: Sequence[str]) -> str | None:
    """Return the separator between short values in many of the texts; None if there is none.

    Unlike labels, features may be sentences, which contain commas too.

    Examples
    --------
    >>> feature_separator(["Tom Hanks, Meg Ryan", "Meg Ryan", "Bill Pullman, Tom Hanks"])
    ','
    >>> feature_separator(["He came, saw the whole of Gaul, and won the war.", "A day, and nothing to do"])
    >>> feature_separator(["Hello, where is my order", "Printer broken, please help", "Slow, since Monday"])
    """
    most, best = 0, None
    for candidate in SEPARATORS:
        parts = [split(text, candidate) for text in texts]
        several = [each for each in parts if len(each) > 1]
        if len(several) <= most or len(several) < 0.05 * len(texts) or not _are_short(parts):
            continue
        if candidate != "," or not _are_clauses(several) or _recurring(parts) >= _RECUR:
            most, best = len(several), candidate
    return best or (" " if _are_codes(texts) else None)


def _are_short(parts: Sequence[Sequence[str]]) -> bool:
    """Return whether the values are names rather than parts of sentences."""
    items = [item for each in parts for item in each]
    lengths = sorted(len(item.split()) for item in items)
    if not items or sum(lengths) > _SHORT_ITEM * len(items) or lengths[int(0.95 * (len(items) - 1))] > 5:
        return False
    sentences = sum(item.endswith((".", "!", "?")) and len(item.split()) > 3 for item in items)
    return sentences <= 0.02 * len(items)


def _are_clauses(several: Sequence[Sequence[str]]) -> bool:
    """Return whether the text after a comma mostly starts in lower case, as clauses do and names do not."""
    return sum(any(item[:1].islower() for item in each[1:]) for each in several) > 0.5 * len(several)


def _recurring(parts: Sequence[Sequence[str]]) -> float:
    """Return the share of values that occur in other texts, too."""
    different = {tuple(each) for each in parts}
    seen = Counter(item.lower() for each in different for item in set(each))
    return sum(n for n in seen.values() if n > 1) / max(1, seen.total())


def _are_codes(texts: Sequence[str]) -> bool:
    """Return whether the texts are codes separated by spaces, such as ``libc6 zlib1g``, and not words."""
    rows = [text.split() for text in texts]
    tokens = [token for row in rows for token in row]
    if len(tokens) < ENOUGH or sum(len(row) > 1 for row in rows) < 0.05 * len(rows):
        return False
    odd = sum(not token.strip(".,;:!?()'\"").isalpha() for token in tokens)
    return odd >= 0.6 * len(tokens) and len(set(tokens)) < 0.5 * len(tokens)
