"""How a table becomes numbers, in plain loops: the specification of `simlabel.tables`."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import Counter

UNSPACED = [(0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x4DBF)]
UNSPACED += [(0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)]


def plain(text):
    return unicodedata.normalize("NFKC", text).casefold()


def is_unspaced(character):
    return any(first <= ord(character) <= last for first, last in UNSPACED)


def words(text):
    """Words and pairs of neighbors; none of a script without spaces."""
    found = [w for w in re.findall(r"\w+", plain(text)) if not any(map(is_unspaced, w))]
    return found + [f"{a} {b}" for a, b in itertools.pairwise(found)]


def characters(text):
    """Three to five in a row between spaces, these included; one to three where there are none."""
    found = []
    for piece in plain(text).split():
        for run, unspaced in runs(piece):
            padded = run if unspaced else f" {run} "
            sizes = (1, 2, 3) if unspaced else (3, 4, 5)
            for size in sizes:
                found += [padded[i : i + size] for i in range(max(1, len(padded) - size + 1))]
                if len(padded) <= size:
                    break
    return found


def runs(piece):
    """Parts of a piece in scripts with and without spaces, in turn."""
    created = []
    for character in piece:
        unspaced = is_unspaced(character)
        if created and created[-1][1] == unspaced:
            created[-1] = (created[-1][0] + character, unspaced)
        else:
            created.append((character, unspaced))
    return created


def idf(documents):
    """Weight of each term of the documents, each a list of terms."""
    rows = Counter(term for terms in documents for term in set(terms))
    return {term: math.log((1 + len(documents)) / (1 + n)) + 1 for term, n in rows.items()}


def tfidf(terms, weights):
    """Known terms of one document, of length 1."""
    counts = Counter(term for term in terms if term in weights)
    values = {term: (1 + math.log(n)) * weights[term] for term, n in counts.items()}
    length = math.sqrt(sum(value**2 for value in values.values()))
    return {term: value / length for term, value in values.items()}


def text_block(text, word_weights, character_weights):
    """Words and characters of a text, each part of the same length, together 1."""
    parts = [("word", tfidf(words(text), word_weights)), ("gram", tfidf(characters(text), character_weights))]
    there = sum(bool(part) for _, part in parts)
    return {(kind, t): value / math.sqrt(there) for kind, part in parts for t, value in part.items()}


def quantile(ordered, share):
    at = share * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def number_block(value, known):
    """A number as it lies among the known ones: standardized, hats over eighths, whether it is missing."""
    if value is None:
        return {"missing": 1 / math.sqrt(2)}
    ordered = sorted(known)
    mean = sum(known) / len(known)
    scale = math.sqrt(sum((v - mean) ** 2 for v in known) / len(known)) or 1.0
    z = max(-3.0, min(3.0, (value - quantile(ordered, 0.5)) / scale))
    knots = sorted({quantile(ordered, k / 8) for k in range(9)})
    inside = max(knots[0], min(knots[-1], value))
    block = {"size": z}
    for left, right in itertools.pairwise(knots):
        if left <= inside <= right:
            share = (inside - left) / (right - left)
            block |= {f"about {left:g}": 1 - share, f"about {right:g}": share}
            break
    return {name: each / math.sqrt(2) for name, each in block.items() if each}
