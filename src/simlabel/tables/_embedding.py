"""An embedding in place of words: a function of texts, or a model2vec folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.validation import FloatArray, check_number
from simlabel.tables._cells import Cell
from simlabel.tables._kinds import Column


class Embedding(BaseEstimator):
    """How the texts of a column become vectors, which are brought to length 1.

    Parameters
    ----------
    source : callable or str
        ``source(texts) -> array, (n_texts, n_dimensions)``; to be saved with a model it is registered by
        name (`simlabel.model.persistence.register`). Or the folder of a model2vec model on disk, which the extra
        ``embeddings`` reads; nothing is downloaded. A saved model holds the path, not the folder.

    Examples
    --------
    >>> def lengths(texts):
    ...     return [[len(text), text.count(" ")] for text in texts]
    >>> Embedding(lengths).vectors(["a", "a b"])
    array([[1.        , 0.        ],
           [0.9486833 , 0.31622777]])
    """

    file_key = "tables.Embedding"

    def __init__(self, source: Callable[[list[str]], Any] | str) -> None:
        self.source = source

    def check(self) -> None:
        """Raise TypeError where the source is neither a function nor a path."""
        if not callable(self.source) and not isinstance(self.source, str | os.PathLike):
            raise TypeError(f"Embedding: source must be a function or a folder, got {self.source!r}.")

    def vectors(self, texts: list[str]) -> FloatArray:
        """One row of length 1 for each text; zeros for an empty one."""
        embed = self.source if callable(self.source) else _model2vec(os.fspath(self.source))
        given = embed(texts)
        try:
            found = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            found = np.zeros(0)  # no numbers, or not as many in each row
        if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
            raise ValueError(
                f"Embedding: {self.source!r} gave {given!r:.60} for {len(texts)} texts; expected one row of "
                f"finite numbers for each text."
            )
        found[[not text for text in texts]] = 0.0
        lengths = np.sqrt(np.einsum("ij,ij->i", found, found))
        return found / np.where(lengths > 0, lengths, 1.0)[:, None]


@lru_cache(maxsize=4)
def _model2vec(folder: str) -> Callable[[list[str]], Any]:
    if not Path(folder).is_dir():
        raise ValueError(
            f"Embedding: there is no folder {folder!r}; give that of a model2vec model on this machine."
        )
    try:
        from model2vec import StaticModel  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        raise ImportError(
            "an embedding from a folder needs model2vec: pip install 'simlabel[embeddings]'."
        ) from None
    return StaticModel.from_pretrained(folder).encode  # type: ignore[no-any-return,unused-ignore]


@dataclass(frozen=True)
class EmbeddedColumn:
    """A column of texts as vectors of length 1."""

    file_key: ClassVar[str] = "tables.EmbeddedColumn"

    column: Column
    embedding: Embedding
    width: int
    slot: int

    def check(self) -> None:
        """Raise ValueError where a part is of another kind."""
        if not isinstance(self.column, Column) or not isinstance(self.embedding, Embedding):
            raise ValueError("EmbeddedColumn: a column and its embedding go together.")
        check_number("EmbeddedColumn", "width", self.width, at_least=1, integer=True)
        check_number("EmbeddedColumn", "slot", self.slot, at_least=0, integer=True)

    @classmethod
    def learn(cls, column: Column, embedding: Embedding, cells: Sequence[Cell], first_slot: int) -> Self:
        """Find out how many numbers a text becomes."""
        return cls(column, embedding, int(embedding.vectors(_texts(cells[:1])).shape[1]), first_slot)

    @property
    def slots(self) -> Iterator[np.ndarray]:
        """Columns of the encoded rows that are in use."""
        return iter([np.arange(self.slot, self.slot + self.width)])

    def encoded(self, cells: Sequence[Cell], width: int) -> sp.csr_array:
        """A block of length 1 for each row that has a text, (n_rows, width)."""
        block = sp.csr_array(self.embedding.vectors(_texts(cells)))
        if block.shape[1] != self.width:
            raise ValueError(
                f"the embedding of {self.column.name!r} gives {block.shape[1]} numbers now, and gave "
                f"{self.width} at fit: it is not the same one."
            )
        return sp.csr_array((block.data, block.indices + self.slot, block.indptr), shape=(len(cells), width))

    def readable(self, c: Cell) -> Iterator[tuple[int, str, float]]:
        """Its columns stand for no single word."""
        return ((self.slot + k, "the text as a whole", 1.0) for k in range(self.width))

    def taught(self, cells: Sequence[Cell], first_slot: int) -> Self:
        """The same."""
        return self

    def forgotten(self, cells: Sequence[Cell]) -> Self:
        """The same."""
        return self

    def names(self) -> Iterator[tuple[int, str]]:
        """Each of its columns of the encoded rows."""
        return ((self.slot + k, f"dimension {k}") for k in range(self.width))


def _texts(cells: Sequence[Cell]) -> list[str]:
    return [" ".join(c) if isinstance(c, tuple) else "" if c is None else str(c) for c in cells]
