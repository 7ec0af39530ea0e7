"""What speaks for a label beside the terms of its sum: instances that have it, and words of the query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.rows import Stack, dense_rows, take_rows
from simlabel._utils.validation import FloatArray, Rows, object_array
from simlabel.model._model import Model
from simlabel.model.inspection._bent import rbf_by_column
from simlabel.rules import ScoreBlock
from simlabel.sums import prepare
from simlabel.tables import NUMBERS, Cell

if TYPE_CHECKING:
    import pandas as pd

_ENOUGH = 50  # rows that say how common a word is
_COMMON = 0.15  # of the rows: the words that hold a language together
_LONGEST = 60  # of a title that is shown


def most_telling(frame: pd.DataFrame) -> pd.DataFrame:
    """The largest contributions first, whatever their sign."""
    order = frame["contribution"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


@dataclass(frozen=True)
class Evidence:
    """A fitted model and some queries.

    Attributes
    ----------
    model : Model
    given, queries : rows
        As they came, and normalized.
    title_column : str or None
        Of a table, the column by which rows are shown.
    """

    model: Model
    given: Rows
    queries: Rows
    title_column: str | None

    @property
    def is_learned(self) -> bool:
        """Whether influence is learned, so that similarities do not add up to scores."""
        return self.model.scorer.stages.influence.learned

    def scores(self, query: int) -> ScoreBlock:
        """What the label rule and the calibration see of a query."""
        return self.model.scorer.score(self.queries[query : query + 1])

    def titles(self, positions: npt.NDArray[np.integer]) -> list[str] | None:
        """By what some references are shown beside their ids; None where they are not rows of a table."""
        return titles_of(self.model, self.title_column, self.model.scorer.references.raw, positions)

    def query_title(self, query: int) -> str | None:
        """By what a query is shown; None where it is not a row of a table."""
        found = titles_of(self.model, self.title_column, self.given, np.array([query]))
        return None if found is None else found[0]

    def nearest(self, query: int, column: int, n: int) -> pd.DataFrame:
        """The references that have a label or, after the labels, a set size, the most similar first.

        Columns of the frame are ``id``, of a table ``title``, and ``similarity``.
        """
        S = self._similarities(query)
        have = np.flatnonzero(self._having(column))
        return self._frame(have[np.argsort(-S[have], kind="stable")[:n]], S)

    def most_similar(self, query: int, column: int, n: int) -> pd.DataFrame:
        """The references that a query is most similar to; ``has`` says which have a label or a set size."""
        S = self._similarities(query)
        first = np.argsort(-S, kind="stable")[:n]
        first = first[S[first] > 0]
        return self._frame(first, S).assign(has=self._having(column)[first])

    def _frame(self, positions: npt.NDArray[np.integer], S: FloatArray) -> pd.DataFrame:
        import pandas as pd

        ids, titles = self.model.scorer.references.ids[positions].tolist(), self.titles(positions)
        shown = {} if titles is None else {"title": titles}
        return pd.DataFrame({"id": object_array(ids), **shown, "similarity": S[positions]})

    def among_nearest(self, query: int, column: int, n: int) -> tuple[int, int]:
        """How many of the `n` most similar references have a label or a set size, and how many these are.

        Those that the query is not similar to at all do not count.
        """
        has = self.most_similar(query, column, n)["has"]
        return int(has.sum()), len(has)

    def frequency(self, column: int) -> float:
        """The share of the references, by their weights, that have a label or a set size."""
        weights = self.model.scorer.references.weights
        return float(weights[self._having(column)].sum() / weights.sum())

    def _having(self, column: int) -> npt.NDArray[np.bool_]:
        """Which references have a label or, after the labels, a set size."""
        references = self.model.scorer.references
        size = column - references.n_labels
        if size < 0:
            return np.asarray(references.settled_Y[:, [column]].toarray().ravel(), dtype=bool)
        have = np.asarray(np.diff(references.settled_Y.indptr) == references.sizes[size])
        return have if references.unknown is None else have & (np.diff(references.unknown.indptr) == 0)

    def _similarities(self, query: int) -> FloatArray:
        """To all references, (n_references,); kept for the labels of one query."""
        if query not in self._kept:
            scorer = self.model.scorer
            references, stages = scorer.references, scorer.stages
            whole = scorer.solved.used is None
            summed = scorer.prepared if whole else prepare(references.X, [stages.similarity])
            self._kept.clear()
            self._kept[query] = stages.similarities(self.queries[query : query + 1], summed)[0]
        return self._kept[query]

    @cached_property
    def _kept(self) -> dict[int, FloatArray]:
        return {}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of each column of the table."""
        encoder = self.model.encoder
        named = {} if encoder is None else {column.name: column.kind for column in encoder.columns_}
        return {NUMBERS: "number"} | named

    def direction(self, query: int, column: str) -> str:
        """Where a number or date of a query lies among those of the labeled rows; "" for other cells."""
        encoder = self.model.encoder
        return "" if encoder is None else encoder.direction(column, self.given[query])

    def is_common(self, column: str, term: str) -> bool:
        """Whether a word is in so many of the labelled rows that naming it tells a reader little."""
        encoder = self.model.encoder
        if encoder is None or self.model.scorer.references.n_rows < _ENOUGH:
            return False
        return encoder.row_share(column, term) > _COMMON

    @property
    def has_words(self) -> bool:
        """Whether a score is a sum over the words of a query."""
        encoder = self.model.encoder
        return (
            encoder is not None
            and self.model.compares_by_words
            and bool(self.queries.shape[1] == encoder.width_)
        )

    def words(self, query: int, columns: Sequence[int]) -> list[pd.DataFrame]:
        """For each of some labels what the words contribute: ``column``, ``term``, ``contribution``."""
        import pandas as pd

        encoder = self.model.encoder
        if encoder is None or not self.has_words:
            raise ValueError(
                f"words: a score is a sum over words where a table is compared by inner products, as Tagger "
                f"does it, or SMLClassifier('linear', encoder='table'); not with "
                f"{self.model.scorer.stages.similarity!r}{'' if encoder is not None else ' and no encoder'}."
            )
        row = sp.csr_array(self.queries[query : query + 1])
        terms: dict[tuple[str, str], int] = {}
        places, slots, shares = [], [], []
        for column, (slot, term, share) in encoder.readable(self.given[query]):
            places.append(terms.setdefault((column, term), len(terms)))
            slots.append(slot)
            shares.append(share)
        parts = sp.csr_array((shares, (places, slots)), shape=(len(terms), encoder.width_))
        by_feature = row.data[:, None] * self._weights(row.indices, columns)
        general = self._add_bent(row, columns, by_feature)
        by_term = np.vstack([parts[:, row.indices] @ by_feature, general])
        if self.model.scorer.known is not None:  # what makes the sums comparable where not all is known
            by_term = by_term * self.model.scorer.known_factors(row)[:, list(columns)]
        names = pd.DataFrame([*terms, (NUMBERS, "in general")], columns=["column", "term"])
        frames = [names.assign(contribution=by_term[:, k]) for k in range(len(columns))]
        return [most_telling(frame[frame["contribution"] != 0]) for frame in frames]

    def _add_bent(self, row: sp.csr_array, columns: Sequence[int], by_feature: FloatArray) -> FloatArray:
        """Add what an RBF of the numbers brings to their features, and return what is of none of them."""
        leaf, encoder = self.model.number_rbf, self.model.encoder
        if leaf is None or encoder is None:
            return np.zeros(len(columns))
        read = encoder.number_slots
        q, X = leaf.view(row).toarray()[0], leaf.view(sp.csr_array(self._summed)).toarray()
        found, general = rbf_by_column(q, X, self._influence(columns), leaf.similarity.gamma)
        at = np.full(row.shape[1], -1)
        at[row.indices] = np.arange(len(row.indices))
        there = at[read] >= 0  # a feature that is 0 brings nothing
        by_feature[at[read[there]]] += leaf.factor * found[there]
        return leaf.factor * general

    def _weights(self, features: npt.NDArray[np.integer], columns: Sequence[int]) -> FloatArray:
        """What a feature of 1 would add to some labels, (n_features, n_labels)."""
        return np.asarray(self._summed[:, features].T @ self._influence(columns))

    def _influence(self, columns: Sequence[int]) -> FloatArray:
        V = self.model.scorer.V
        V = V.whole() if isinstance(V, Stack) else V
        return np.asarray(dense_rows(V[:, list(columns)]))

    @cached_property
    def _summed(self) -> sp.csc_array:
        scorer = self.model.scorer
        X, used = scorer.references.X, scorer.solved.used
        return sp.csc_array(X[:] if used is None else take_rows(X, used))


def titles_of(
    model: Model, column: str | None, rows: Rows, positions: npt.NDArray[np.integer]
) -> list[str] | None:
    """The cells of one column in some rows of a table, cut short; None where there is no such column."""
    if model.encoder is None or column is None:
        return None
    place = model.encoder.names_.index(column)
    return [_title(row[place]) for row in take_rows(rows, positions)]


def _title(c: Cell) -> str:
    text = " ".join(c) if isinstance(c, tuple) else "(no title)" if c is None else str(c)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"
