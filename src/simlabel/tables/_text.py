"""Terms of cells (words, characters, categories, items, parts of addresses) and their vocabularies."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from simlabel._utils.threads import cached_property
from simlabel._utils.validation import (
    AnyArray,
    FloatArray,
    IntArray,
    check_number,
    check_numbers,
    object_array,
)
from simlabel.tables._cells import Cell
from simlabel.tables._lists import split

_WORD = re.compile(r"\w+")
# scripts without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_RUNS = re.compile(rf"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_IS_UNSPACED = re.compile(rf"[{_UNSPACED}]")
_INNER = re.compile(r"\w(?:.*\w)?")  # a token without the punctuation around it
_APOSTROPHE = re.compile(r"\w['\u2019\u02bc`]\w")
_LETTER = re.compile("[a-z]")
_ADDRESS = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)?(?:www\.)?", re.IGNORECASE)


@dataclass(frozen=True)
class TermCounts:
    """How often each term occurs in each row: counts (n_rows, n_terms), and the terms."""

    counts: sp.csr_array
    terms: list[str]


def counted(items: Sequence[Iterable[str]]) -> TermCounts:
    """Count the terms of each row.

    Examples
    --------
    >>> one = counted([["a", "b", "a"], []])
    >>> one.counts.toarray().tolist(), one.terms
    ([[2.0, 1.0], [0.0, 0.0]], ['a', 'b'])
    """
    row, column, terms = _numbered(items)
    return TermCounts(_counts(row, column, (len(items), len(terms))), terms)


def _numbered(items: Sequence[Iterable[str]]) -> tuple[IntArray, IntArray, list[str]]:
    """Return the row and the number of every item, and the different items."""
    numbers: dict[str, int] = {}
    sequences = [[numbers.setdefault(item, len(numbers)) for item in row] for row in items]
    row = np.repeat(np.arange(len(items)), [len(each) for each in sequences])
    return row, np.fromiter(chain.from_iterable(sequences), dtype=np.int64), list(numbers)


def _counts(row: IntArray, column: IntArray, shape: tuple[int, int]) -> sp.csr_array:
    """Return how often each pair of row and column occurs."""
    codes, counts = np.unique(row * shape[1] + column, return_counts=True)
    ends = np.searchsorted(codes, np.arange(shape[0] + 1) * shape[1])
    return sp.csr_array((counts.astype(np.float64), codes % max(1, shape[1]), ends), shape=shape)


def plain(text: str) -> str:
    """Normalize a text for comparison: Unicode NFKC, case-folded."""
    return unicodedata.normalize("NFKC", text).casefold()


def has_unspaced(text: str) -> bool:
    """Return whether a text has characters of a script without spaces between words."""
    return _IS_UNSPACED.search(text) is not None


def whole_text(c: Cell) -> str:
    """Return a cell as one text."""
    return " ".join(c) if isinstance(c, tuple) else "" if c is None else str(c)


def categories(cells: Sequence[Cell], separator: str) -> tuple[TermCounts, ...]:
    """Count each cell as one category."""
    texts = [f"{c:g}" if isinstance(c, float) else whole_text(c) for c in cells]
    return (counted([() if c is None else (plain(t).strip(),) for c, t in zip(cells, texts, strict=True)]),)


def items(cells: Sequence[Cell], separator: str) -> tuple[TermCounts, ...]:
    """Count the items of lists, or of texts with a separator."""
    return (counted([[plain(item) for item in split(c, separator)] for c in cells]),)


def addresses(cells: Sequence[Cell], separator: str) -> tuple[TermCounts, ...]:
    """Count the host, up to three leading parts of the path, and the words of web addresses."""
    return (counted([[term for one in split(c, "") for term in _address(one)] for c in cells]),)


def _address(text: str) -> list[str]:
    steps = [step for step in _ADDRESS.sub("", plain(text.strip())).split("/") if step]
    leading = ["/".join(steps[: k + 1]) for k in range(min(3, len(steps)))]
    return leading + [f"*{word}" for step in steps for word in _WORD.findall(step)]


def texts(cells: Sequence[Cell], separator: str) -> tuple[TermCounts, ...]:
    """Count words and pairs of adjacent words; and n-grams of characters within tokens.

    What a token consists of is found once for all texts.
    """
    documents = [plain(whole_text(c)).split() for c in cells]
    if len(documents) == 1:  # direct counting is faster for a single prediction
        words_of_one = [word for token in documents[0] for word in _words(token)]
        pairs = [f"{a} {b}" for a, b in pairwise(words_of_one)]
        return counted([words_of_one + pairs]), counted([[g for t in documents[0] for g in _grams(t)]])
    row, token, tokens = _numbered(documents)
    inside = counted([_grams(token) for token in tokens])
    in_rows = _counts(row, token, (len(cells), len(tokens)))
    grams = TermCounts(sp.csr_array(in_rows @ inside.counts), inside.terms)
    # the words of all texts, one after another, and pairs of them that do not cross texts
    numbers: dict[str, int] = {}
    words = [[numbers.setdefault(w, len(numbers)) for w in _words(token)] for token in tokens]
    row = np.repeat(row, np.array([len(each) for each in words], dtype=np.int64)[token])
    word = np.fromiter((k for t in token.tolist() for k in words[t]), dtype=np.int64)
    first = np.flatnonzero(row[1:] == row[:-1])
    codes, pair = np.unique(word[first] * len(numbers) + word[first + 1], return_inverse=True)
    names = list(numbers)
    terms = names + [f"{names[a]} {names[b]}" for a, b in (divmod(c, len(names)) for c in codes.tolist())]
    row, column = np.concatenate([row, row[first]]), np.concatenate([word, len(names) + pair])
    return TermCounts(_counts(row, column, (len(cells), len(terms))), terms), grams


def _words(token: str) -> list[str]:
    return [word for word in _WORD.findall(token) if not has_unspaced(word)]


def _grams(token: str) -> list[str]:
    """Return n-grams of 3 to 5 characters, including a space on each side; of 1 to 3 in unspaced scripts."""
    return [gram for run in _runs(token) for gram in _run_grams(run)]


def _runs(token: str) -> list[str]:
    return _RUNS.findall(token) if has_unspaced(token) else [token]


def _run_grams(run: str) -> list[str]:
    text, sizes = (run, (1, 2, 3)) if _IS_UNSPACED.match(run) else (f" {run} ", (3, 4, 5))
    found: list[str] = []
    for size in sizes:
        if len(text) <= size:
            found.append(text)
            break
        found += [text[i : i + size] for i in range(len(text) - size + 1)]
    return found


#: kind of column -> how its cells are split into terms
ANALYZES: dict[str, Callable[[Sequence[Cell], str], tuple[TermCounts, ...]]] = {
    "text": texts,
    "category": categories,
    "yes/no": categories,
    "multi": items,
    "url": addresses,
}


def words_in_text(c: Cell) -> Iterator[tuple[str, str]]:
    """Yield every word and pair of adjacent words of a text, with the form in which to show it.

    A single letter after an apostrophe is shown as the whole token.

    Examples
    --------
    >>> list(words_in_text("The devil's"))[2:]
    [('s', "devil's"), ('the devil', 'the devil'), ('devil s', "devil's")]
    """
    found: list[tuple[int, str, str]] = []
    for i, token in enumerate(plain(whole_text(c)).split()):
        inner, split_off = _INNER.search(token), _APOSTROPHE.search(token)
        for word in _words(token):
            alone = split_off and inner is not None and _LETTER.fullmatch(word)
            found.append((i, word, inner[0] if inner is not None and alone else word))
    yield from ((word, shown) for _, word, shown in found)
    for (i, a, first), (j, b, second) in pairwise(found):
        shown = f"{first} {second}" if i != j or (a, b) == (first, second) else max(first, second, key=len)
        yield f"{a} {b}", shown


def grams_in_words(c: Cell) -> Iterator[tuple[str, str]]:
    """Yield every n-gram of characters of a text, with the word that contains it.

    In scripts without spaces between words, an n-gram is shown as itself.

    Examples
    --------
    >>> list(grams_in_words("So."))
    [(' so', 'so'), ('so.', 'so'), ('o. ', 'so'), (' so.', 'so'), ('so. ', 'so'), (' so. ', 'so')]
    """
    for token in plain(whole_text(c)).split():
        for run in _runs(token):
            inner = _INNER.search(run)
            word = None if _IS_UNSPACED.match(run) else inner[0] if inner else run
            yield from ((gram, gram if word is None else word) for gram in _run_grams(run))


def original_spelling(c: Cell, separator: str) -> dict[str, str]:
    """Map the normalized form of a cell, its items and its words to their original spelling.

    Examples
    --------
    >>> original_spelling("Die Straße", "")
    {'die strasse': 'Die Straße', 'die': 'Die', 'strasse': 'Straße'}
    """
    found: dict[str, str] = {}
    whole = whole_text(c).strip()
    tokens = whole.split()
    inner = [match[0] for token in tokens if (match := _INNER.search(token))]
    words = [word for token in tokens for word in _WORD.findall(token)]
    for written in (whole, *split(c, separator), *words, *inner, *tokens):
        found.setdefault(plain(written), written)
    return found


@dataclass(frozen=True)
class Vocabulary:
    """The terms of a column; immutable: a change returns another vocabulary.

    Weights are held from `fit` until `retune`; only the counts follow the labeled rows. So a row that is
    added or removed changes no other row's features.

    Attributes
    ----------
    terms : array of str, (n_terms,)
    counts : array of int, (n_terms,)
        Number of labeled rows that have each term.
    weights : array, (n_terms,)
        Inverse document frequencies at `fit`: log((1 + n_rows) / (1 + count)) + 1.
    slots : array of int, (n_terms,)
        Column of the encoded rows of each term.
    n_rows : int
        Number of rows at `fit`.
    """

    file_key: ClassVar[str] = "tables.Vocabulary"

    terms: AnyArray
    counts: IntArray
    weights: FloatArray
    slots: IntArray
    n_rows: int

    def check(self) -> None:
        """Raise ValueError if the attributes are inconsistent."""
        if not isinstance(self.terms, np.ndarray) or self.terms.ndim != 1:
            raise ValueError("Vocabulary: terms must be a list.")
        if not all(isinstance(t, str) for t in self.terms.tolist()) or len(self.index) < len(self.terms):
            raise ValueError("Vocabulary: terms must be texts without duplicates.")
        check_number("Vocabulary", "n_rows", self.n_rows, at_least=0, integer=True)
        n = (len(self.terms),)
        check_numbers("Vocabulary", "counts", self.counts, n, kinds="i", at_least=1)
        check_numbers("Vocabulary", "weights", self.weights, n, above=0)
        check_numbers("Vocabulary", "slots", self.slots, n, kinds="i", at_least=0)
        if len(np.unique(self.slots)) < len(self.slots):
            raise ValueError("Vocabulary: two terms have the same column.")

    @classmethod
    def learn(cls, counted: TermCounts, first_slot: int) -> Vocabulary:
        """Return the vocabulary of the rows that a model is fitted on."""
        n, found = counted.counts.shape[0], _row_counts(counted)
        weights = np.log((1.0 + n) / (1.0 + found)) + 1.0
        return cls(object_array(counted.terms), found, weights, first_slot + np.arange(len(found)), n)

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each term."""
        return {term: i for i, term in enumerate(self.terms.tolist())}

    def positions(self, terms: list[str]) -> IntArray:
        """Return the position of each of these terms; -1 for an unknown one."""
        get = self.index.get
        return np.array([get(term, -1) for term in terms], dtype=np.int64)

    def taught(self, counted: TermCounts, first_slot: int) -> Vocabulary:
        """Add rows; a new term gets the weight of a term that occurs in one row."""
        at, more = self.positions(counted.terms), _row_counts(counted)
        counts = self.counts.copy()
        counts[at[at >= 0]] += more[at >= 0]
        new = np.flatnonzero((at < 0) & (more > 0))
        if not len(new):
            return replace(self, counts=counts)
        once = np.log((1.0 + self.n_rows) / 2.0) + 1.0 if self.n_rows > 1 else 1.0
        return Vocabulary(
            np.concatenate([self.terms, object_array([counted.terms[i] for i in new.tolist()])]),
            np.concatenate([counts, more[new]]),
            np.concatenate([self.weights, np.full(len(new), once)]),
            np.concatenate([self.slots, first_slot + np.arange(len(new))]),
            self.n_rows,
        )

    def forgotten(self, counted: TermCounts) -> Vocabulary:
        """Remove rows, and the terms that only they had."""
        at, fewer = self.positions(counted.terms), _row_counts(counted)
        counts = self.counts.copy()
        counts[at[at >= 0]] -= fewer[at >= 0]
        left = counts > 0
        return Vocabulary(self.terms[left], counts[left], self.weights[left], self.slots[left], self.n_rows)

    def encoded(self, counted: TermCounts, width: int) -> sp.csr_array:
        """Return (1 + log(count)) * weight of known terms, rows of unit length, (n_rows, width)."""
        at, counts = self.positions(counted.terms), counted.counts
        known = at[counts.indices] >= 0
        indptr = np.concatenate([[0], np.cumsum(known)])[counts.indptr]
        at = at[counts.indices[known]]
        values = (1.0 + np.log(counts.data[known])) * self.weights[at]
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(indptr))
        values /= np.sqrt(np.bincount(rows, values**2, minlength=counts.shape[0]))[rows]
        return sp.csr_array((values, self.slots[at], indptr), shape=(counts.shape[0], width))


def _row_counts(counted: TermCounts) -> IntArray:
    """Return the number of rows that have each term."""
    return np.bincount(counted.counts.indices, minlength=len(counted.terms)).astype(np.int64)
