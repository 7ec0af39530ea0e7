"""Cells -> counts of terms: words and characters of texts, categories, items of lists, parts of addresses."""

from __future__ import annotations

import ast
import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.tables._cells import Cell

Positions = npt.NDArray[np.int64]

#: in place of a separator: the cell is a list, in brackets or braces
LISTS = "[]"
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_NO_COMMA = re.compile(r"""\[\s*(?:'[^',]*'|"[^",]*")(?:\s+(?:'[^',]*'|"[^",]*"))+\s*\]""")
_WORD = re.compile(r"\w+")
# scripts that put no spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_INNER = re.compile(r"\w(?:.*\w)?")  # a piece without the signs around it
_ANY = re.compile(".*")
_APOSTROPHE = re.compile(r"\w['\u2019\u02bc`]\w")
_LETTER = re.compile("[a-z]")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_FEW = 32  # texts up to which each is read by itself: what they share is not worth being looked for
_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?", re.IGNORECASE)


@dataclass(frozen=True)
class Counted:
    """How often each of some terms occurs in each row: counts (n_rows, n_terms), and the terms."""

    counts: sp.csr_array
    terms: list[str]


def counted(items: Sequence[Iterable[str]]) -> Counted:
    """Count the terms of each row.

    Examples
    --------
    >>> one = counted([["a", "b", "a"], []])
    >>> one.counts.toarray().tolist(), one.terms
    ([[2.0, 1.0], [0.0, 0.0]], ['a', 'b'])
    """
    number: dict[str, int] = {}
    columns: list[int] = []
    often: list[int] = []
    ends = [0]
    for row in items:
        found = Counter(row)
        columns.extend([number.setdefault(term, len(number)) for term in found])
        often.extend(found.values())
        ends.append(len(columns))
    parts = np.array(often, dtype=np.float64), np.array(columns, dtype=np.int64), np.array(ends)
    return Counted(sp.csr_array(parts, shape=(len(items), len(number))), list(number))


def _summed(columns: Positions, ends: Positions, width: int) -> sp.csr_array:
    # a copy: adding up sorts in place
    counts = sp.csr_array((np.ones(len(columns)), columns, ends), shape=(len(ends) - 1, width), copy=True)
    counts.sum_duplicates()
    return counts


def plain(text: str) -> str:
    """A text in the one spelling in which it is compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def has_unspaced(text: str) -> bool:
    """Whether there are signs of a script without spaces between words."""
    return _IS_UNSPACED.search(text) is not None


def categories(cells: Sequence[Cell], separator: str) -> tuple[Counted, ...]:
    """The cell itself."""
    return (counted([() if c is None else (_spelled(c),) for c in cells]),)


def items(cells: Sequence[Cell], separator: str) -> tuple[Counted, ...]:
    """The items of a list, or of a text with a separator between them."""
    return (counted([[plain(item) for item in split(c, separator)] for c in cells]),)


def addresses(cells: Sequence[Cell], separator: str) -> tuple[Counted, ...]:
    """Of an address the host, the host with each further step of the path, and the words of both."""
    return (counted([_address(c) for c in cells]),)


def _address(c: Cell) -> list[str]:
    found: list[str] = []
    for one in c if isinstance(c, tuple) else (() if c is None else (str(c),)):
        steps = [step for step in _ADDRESS.sub("", plain(one.strip())).split("/") if step]
        found += ["/".join(steps[: k + 1]) for k in range(min(3, len(steps)))]
        found += [f"*{word}" for step in steps for word in _WORD.findall(step)]
    return found


def _spelled(c: Cell) -> str:
    return plain(
        " ".join(c) if isinstance(c, tuple) else f"{c:g}" if isinstance(c, float) else str(c)
    ).strip()


def split(c: Cell, separator: str) -> list[str]:
    """The items of a cell.

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
        found = listed(str(c))
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


def listed(text: str) -> list[str] | None:
    """Return the items of a list that a text is: JSON, Python, numpy, or ``{a,b}``; None for any other text.

    Examples
    --------
    >>> listed("['a', 'b']"), listed('{a,"b c"}'), listed("['a' 'b']"), listed("[]"), listed("a, b")
    (['a', 'b'], ['a', 'b c'], ['a', 'b'], [], None)
    """
    text = text.strip()
    if len(text) < 2 or text[0] + text[-1] not in ("[]", "{}", "()"):
        return None
    if _NO_COMMA.fullmatch(text):  # Python would join what stands side by side
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


def texts(cells: Sequence[Cell], separator: str) -> tuple[Counted, ...]:
    """Words and pairs of neighbouring words; and characters within words, three to five in a row."""
    documents = [_document(c) for c in cells]
    if len(documents) > _FEW:
        reading = _Reading(documents)
        return reading.words(), reading.characters()
    pieces = [text.split() for text in documents]
    words = [[word for piece in row for word in _words(piece)] for row in pieces]
    paired = [[*row, *(f"{a} {b}" for a, b in pairwise(row))] for row in words]
    return counted(paired), counted([[gram for piece in row for gram in _grams(piece)] for row in pieces])


def words_in_text(c: Cell) -> Iterator[tuple[str, str]]:
    """Every word of a text and every two neighboring ones, with the form to show.

    A letter that an apostrophe splits off a word says nothing by itself, so the word is shown in its place.

    Examples
    --------
    >>> list(words_in_text("The devil's"))[2:]
    [('s', "devil's"), ('the devil', 'the devil'), ('devil s', "devil's")]
    """
    found: list[tuple[int, str, str]] = []
    for i, piece in enumerate(_document(c).split()):
        inner, split_off = _INNER.search(piece), bool(_APOSTROPHE.search(piece))
        for word in _words(piece):
            alone = split_off and inner is not None and _LETTER.fullmatch(word)
            found.append((i, word, inner[0] if inner is not None and alone else word))
    yield from ((word, shown) for _, word, shown in found)
    for (i, a, first), (j, b, second) in pairwise(found):
        shown = f"{first} {second}" if i != j or (a, b) == (first, second) else max(first, second, key=len)
        yield f"{a} {b}", shown


def grams_in_words(c: Cell) -> Iterator[tuple[str, str]]:
    """Every run of characters of a text, with the word that it is a part of.

    Where there are no spaces between words it stands for itself.

    Examples
    --------
    >>> list(grams_in_words("So."))
    [(' so', 'so'), ('so.', 'so'), ('o. ', 'so'), (' so.', 'so'), ('so. ', 'so'), (' so. ', 'so')]
    """
    for piece in _document(c).split():
        for run in _runs(piece):
            word = None if _IS_UNSPACED.match(run) else _INNER.search(run) or _ANY.match(run)
            yield from ((gram, gram if word is None else word[0]) for gram in _run_grams(run))


def as_written(c: Cell, separator: str) -> dict[str, str]:
    """How each word, item or whole of a cell is written in it, by the spelling in which it is compared.

    Examples
    --------
    >>> as_written("Die Straße", "")
    {'die strasse': 'Die Straße', 'die': 'Die', 'strasse': 'Straße'}
    """
    found: dict[str, str] = {}
    whole = " ".join(c) if isinstance(c, tuple) else "" if c is None else str(c).strip()
    pieces = whole.split()
    inner = [match[0] for piece in pieces if (match := _INNER.search(piece))]
    words = [word for piece in pieces for word in _WORD.findall(piece)]
    for written in (whole, *split(c, separator), *words, *inner, *pieces):
        found.setdefault(plain(written), written)
    return found


def _document(c: Cell) -> str:
    return plain(" ".join(c) if isinstance(c, tuple) else "" if c is None else str(c))


class _Reading:
    """Texts as sequences of pieces between spaces; what a piece is made of is found once for all of them."""

    def __init__(self, documents: Sequence[str]) -> None:
        number: dict[str, int] = {}
        sequence: list[int] = []
        ends = [0]
        for text in documents:
            sequence.extend([number.setdefault(piece, len(number)) for piece in text.split()])
            ends.append(len(sequence))
        self.pieces = list(number)
        self.sequence, self.ends = np.array(sequence, dtype=np.int64), np.array(ends)

    def words(self) -> Counted:
        """Words, and pairs of words that follow each other."""
        number: dict[str, int] = {}
        inside = [[number.setdefault(w, len(number)) for w in _words(piece)] for piece in self.pieces]
        sequence, ends = self._concatenated(inside)
        names = list(number)
        singles = _summed(sequence, ends, len(names))
        follows = np.ones(max(0, len(sequence) - 1), dtype=bool)
        follows[ends[1:-1][(ends[1:-1] > 0) & (ends[1:-1] < len(sequence))] - 1] = False  # not across texts
        codes = (sequence[:-1] * len(names) + sequence[1:])[follows]
        distinct, pairs = np.unique(codes, return_inverse=True)
        starts = np.concatenate([[0], np.cumsum(follows)])[np.minimum(ends, len(follows))]
        doubles = _summed(pairs.astype(np.int64), starts, len(distinct))
        firsts, seconds = np.divmod(distinct, max(1, len(names)))
        names += [f"{names[a]} {names[b]}" for a, b in zip(firsts.tolist(), seconds.tolist(), strict=True)]
        return Counted(sp.csr_array(sp.hstack([singles, doubles], format="csr")), names)

    def characters(self) -> Counted:
        """Characters in a row, within pieces: the texts' pieces times the pieces' characters."""
        made_of = counted([_grams(piece) for piece in self.pieces])
        of_texts = _summed(self.sequence, self.ends, len(self.pieces))
        return Counted(sp.csr_array(of_texts @ made_of.counts), made_of.terms)

    def _concatenated(self, inside: list[list[int]]) -> tuple[Positions, Positions]:
        """The sequence of what is inside the pieces, and where each text ends in it."""
        lengths = np.array([len(each) for each in inside], dtype=np.int64)
        flat = np.array([n for each in inside for n in each], dtype=np.int64)
        starts = np.cumsum(lengths) - lengths
        sizes = lengths[self.sequence] if len(self.sequence) else np.zeros(0, dtype=np.int64)
        behind = np.cumsum(sizes)
        within = np.arange(int(sizes.sum())) - np.repeat(behind - sizes, sizes)
        sequence = flat[np.repeat(starts[self.sequence], sizes) + within] if len(within) else flat[:0]
        return sequence, np.concatenate([[0], behind])[self.ends]


def _words(piece: str) -> list[str]:
    return [word for word in _WORD.findall(piece) if not _IS_UNSPACED.search(word)]


def _grams(piece: str) -> list[str]:
    """Three to five characters in a row, spaces around a word included; one to three without spaces."""
    return [gram for run in _runs(piece) for gram in _run_grams(run)]


def _runs(piece: str) -> list[str]:
    return _RUNS.findall(piece) if _IS_UNSPACED.search(piece) else [piece]


def _run_grams(run: str) -> list[str]:
    return _in_a_row(run, (1, 2, 3)) if _IS_UNSPACED.match(run) else _in_a_row(f" {run} ", (3, 4, 5))


def _in_a_row(text: str, sizes: Sequence[int]) -> list[str]:
    found: list[str] = []
    for size in sizes:
        if len(text) <= size:
            found.append(text)
            break
        found += [text[i : i + size] for i in range(len(text) - size + 1)]
    return found


#: kind of column -> how its cells are taken apart
ANALYSES: dict[str, Callable[[Sequence[Cell], str], tuple[Counted, ...]]] = {
    "text": texts,
    "category": categories,
    "yes/no": categories,
    "multi": items,
    "url": addresses,
}
