"""Words and characters of texts: the encoder of tables beside scikit-learn's TfidfVectorizer.

Texts are made of a vocabulary in which words are as unequally frequent as in languages (Zipf's law). Both
count words and pairs of words, and three to five characters within words, take logarithms of counts, weigh
terms by how rare they are, and bring rows to length 1.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _shared.report import Part
from _shared.timing import Scale, alternate, peak_mib
from sklearn.feature_extraction.text import TfidfVectorizer

from simlabel.tables import Cells, TableEncoder

ROWS, WORDS, VOCABULARY = 20_000, 20, 30_000


def made(n: int) -> list[str]:
    """Texts of 20 words each, on average."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(rng.choice(letters, rng.integers(2, 12))) for _ in range(VOCABULARY)]
    lengths = rng.poisson(WORDS, n) + 1
    drawn = np.minimum(rng.zipf(1.3, lengths.sum()) - 1, VOCABULARY - 1)
    return [" ".join(words[k] for k in part) for part in np.split(drawn, np.cumsum(lengths)[:-1])]


def by_encoder(texts: list[str]) -> None:
    cells = Cells(("text",), [(text,) for text in texts])
    TableEncoder({"text": "text"}).fit(cells).encode(cells.rows)


def by_vectorizers(texts: list[str]) -> None:
    TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+").fit_transform(texts)
    TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True).fit_transform(texts)


def run(scale: Scale) -> Part:
    n = scale.rows(ROWS)
    texts = made(n)
    runs = {
        "TfidfVectorizer, twice": partial(by_vectorizers, texts),
        "TableEncoder": partial(by_encoder, texts),
    }
    times = alternate(runs, scale.rounds(5))
    setup = f"from speed.encoding import by_encoder, by_vectorizers, made\ntexts = made({n})"
    memory = [peak_mib(setup, f"{name}(texts)") for name in ("by_vectorizers", "by_encoder")]
    first, ours = times.values()
    part = Part("Encoding texts", ("what", "seconds", "/ TfidfVectorizer", "MiB at most"), f"{n:,} texts.")
    for (name, s), mib in zip(times.items(), memory, strict=True):
        part.row(name, f"{s:.2f}", f"{s / first:.2f}", f"{mib:.0f}")
    part.figure("encoding texts", f"{ours / first:.2f} x", "TfidfVectorizer", "at most 1")
    return part
