"""Why a model predicts these labels: the finished record that a user reads, prints or plots."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.rows import n_rows, take_rows
from simlabel._utils.text import format_names
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows, check_number, object_array
from simlabel.model._model import Model
from simlabel.model.inspection._features import column_terms, largest_contributions, word_contributions
from simlabel.model.inspection._terms import (
    Neighbors,
    Terms,
    collect_evidence,
    having_each,
    nearest_of,
    similarities,
)
from simlabel.model.inspection._texts import ExplanationText, explanation_texts
from simlabel.rules import ScoreBlock

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from rich.console import Console, ConsoleOptions, RenderResult

_MAX_TITLE = 60  # characters


@dataclass(frozen=True)
class Explanation:
    """For every query and label, the evidence for it and against it: labeled instances, and words of a table.

    Contributions, what the others contributed (rest) and, with learned influence, the mean add up
    to the label's score. The set size is explained in the same way. Printing shows a sentence for each
    predicted label, then the instances; everything that it shows was computed by `explain`.

    Attributes
    ----------
    ids : array, (n_references,)
        Ids of the labeled instances.
    labels : array, (n_labels,)
        Label names.
    sizes : array of int, (n_sizes,)
        Set sizes seen in training.
    chosen : list of array of int
        For each query the labels that are predicted, strongest first.
    terms : Terms
        Contributions to the labels and then the sizes, (n_queries, n_labels + n_sizes, top).
    mean : array, (n_labels + n_sizes,)
        The intercept of each score; 0 except for learned influence.
    probabilities : array, (n_queries, n_labels)
        As `predict_proba` returns them.
    base_rate : array, (n_labels,)
        The base rate of each label, as the model estimates it.
    frequencies : array, (n_labels + n_sizes,)
        The share of the labeled instances, by weight, that have each label and each set size.
    similar : list of Neighbors
        For each query the labeled instances that are most similar to it.
    having : list of dict of int to Neighbors
        For each query, the most similar that have each described label, or the predicted set size.
    described : list of list of int
        For each query the labels that are described: those passed to `explain`, else the predicted ones.
    describes_predicted : bool
        Whether these are the predicted ones.
    top : int or None
        The number of instances and words to list.
    titles : list of str or None
        The title of each query; None if there is no title column.
    is_learned : bool
        Whether influence is learned, so that similarities do not add up to scores.
    has_words : bool
        Whether a score is a sum over the words of a query, so that `words` can be used.
    texts : tuple of tuple of ExplanationText
        For each query a text for each described label, and for the number of labels if it follows from
        similarities.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0]]
    >>> y = [{"sea", "sunset"}, {"sea"}, {"trees"}]
    >>> model = SMLClassifier("linear").fit(X, y, ids=["beach", "pier", "wood"])
    >>> why = model.explain([[1.0, 0.0]], top=2)
    >>> why.to_frame().query("label == 'sea' and what != 'rest'")[["id", "share"]].round(2)
          id  share
    0  beach    0.5
    1   pier    0.5
    """

    ids: AnyArray
    labels: AnyArray
    sizes: IntArray
    chosen: list[IntArray]
    terms: Terms
    mean: FloatArray
    probabilities: FloatArray
    base_rate: FloatArray
    frequencies: FloatArray
    similar: list[Neighbors]
    having: list[dict[int, Neighbors]]
    described: list[list[int]]
    describes_predicted: bool
    top: int | None
    titles: Sequence[str | None]
    is_learned: bool
    has_words: bool
    model: Model
    title_column: str | None
    _sums: FloatArray
    _given: Rows
    _queries: Rows
    _feature_names: AnyArray | None
    _words: list[dict[int, pd.DataFrame]]
    texts: tuple[tuple[ExplanationText, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def scores(self) -> FloatArray:
        """The label weights that are explained, (n_queries, n_labels)."""
        return (self.terms.totals + self.mean)[:, : len(self.labels)]

    @property
    def lift(self) -> FloatArray:
        """The probability of each label as a multiple of its base rate, (n_queries, n_labels)."""
        base_rate = np.broadcast_to(self.base_rate, self.probabilities.shape)
        return np.divide(
            self.probabilities, base_rate, out=np.full(base_rate.shape, np.nan), where=base_rate > 0
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per query, label and contributor; "rest" and "mean" complete each label's score.

        Columns: ``query``, ``what`` ("label", "rest", "mean" or "size"), ``label`` (a name; None where a
        set size is explained), ``size`` (None where a label is), ``id``, for a table ``title``,
        ``contribution``, ``share`` of the sum of absolute contributions (negative for a negative
        contribution), ``predicted``.
        """
        import pandas as pd

        rows = []
        for query, chosen in enumerate(self.chosen):
            for k, name in enumerate(self.labels.tolist()):
                rows += self._frame_rows(query, k, "label", (name, None), k in chosen)
            for column, size in enumerate(self.sizes.tolist(), len(self.labels)):
                rows += self._frame_rows(query, column, "size", (None, size), size == len(chosen))
        names = ["query", "what", "label", "size", "id", "title", "contribution", "share", "predicted"]
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        objects = {name: pd.Series(columns[name], dtype=object) for name in ("label", "size", "id", "title")}
        frame = pd.DataFrame(columns | objects)
        return frame if self.title_column is not None else frame.drop(columns="title")

    def _frame_rows(
        self, query: int, column: int, what: str, about: tuple[Any, Any], predicted: bool
    ) -> list[Any]:
        parts = [(what, *names, value) for names, value in self.listed(query, column)]
        parts.append(("rest", None, None, float(self.terms.rest[query, column])))
        if self.mean.any():
            parts.append(("mean", None, None, float(self.mean[column])))
        whole = float(self.terms.absolute[query, column]) or np.nan
        return [
            (query, kind, *about, who, title, value, np.nan if kind == "mean" else value / whole, predicted)
            for kind, who, title, value in parts
        ]

    def contributors(self, query: int, column: int) -> list[tuple[Any, float]]:
        """Return (id, contribution) of the references that are listed for one column of the terms."""
        return [(names[0], value) for names, value in self.listed(query, column)]

    def listed(self, query: int, column: int) -> list[tuple[tuple[Any, str | None], float]]:
        """Return the same as `contributors`, with the pair of id and title in place of the id."""
        positions = self.terms.positions[query, column]
        there = positions >= 0
        values = self.terms.contributions[query, column, there].tolist()
        return list(zip(self.names(positions[there]), values, strict=True))

    def names(self, positions: IntArray) -> list[tuple[Any, str | None]]:
        """Return the id and the title of some references; None for a title if there is no title column."""
        titles = titles_of(self.model, self.title_column, self.model.scorer.references.raw, positions)
        return list(zip(self.ids[positions].tolist(), titles, strict=True))

    def score_block(self, query: int) -> ScoreBlock:
        """Return the scores of a query as the label rule and the calibration take them."""
        return self.model.scorer.block(self._sums[query : query + 1])

    def direction(self, query: int, column: str) -> str:
        """Return where a number or date of a query lies in the range of the labeled rows, or ""."""
        encoder = self.model.encoder
        return "" if encoder is None else encoder.direction(column, self._given[query])

    def nearest(self, query: int, label: Any, n: int = 5) -> pd.DataFrame:
        """Return the labeled instances with a label that a query is most similar to.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        label : label name
        n : int
            The number of instances. Their similarities are computed again.

        Returns
        -------
        frame
            ``id``, for a table ``title``, and ``similarity``, the most similar first.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.8, 0.2], [0.0, 1.0]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear", normalizer=None).fit(X, y, ids=["beach", "pier", "wood"])
        >>> model.explain([[1.0, 0.0]]).nearest(0, "sea", n=1)
              id  similarity
        0  beach         1.0
        """
        import pandas as pd

        check_number("nearest", "n", n, at_least=1, integer=True)
        scorer, row, column = self.model.scorer, self._query(query), self._column(label)
        S, _ = similarities(scorer, self._queries[row : row + 1])
        found = nearest_of(having_each(scorer.references)[:, [column]].indices, S[0], n)
        names = self.names(found.positions)
        frame = pd.DataFrame(
            {
                "id": object_array([who for who, _ in names]),
                "title": [title for _, title in names],
                "similarity": found.similarities,
            }
        )
        return frame if self.title_column is not None else frame.drop(columns="title")

    def words(self, query: int, label: Any) -> pd.DataFrame:
        """Return the contributions of the words and cells of a query to a label, the largest first.

        For tables that are compared by inner products, as `Tagger` does it: a score is a sum over words.
        Character n-grams count for the words that they are part of. The contributions and the label's `mean`
        add up to its score.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        label : label name

        Returns
        -------
        frame
            ``column``, ``term``, ``contribution``.

        Examples
        --------
        >>> from simlabel import Tagger
        >>> texts = ["a shark hunts swimmers", "a shark in the sea", "love in the town", "two fall in love"]
        >>> tagger = Tagger().fit(texts, ["horror", "horror", "romance", "romance"])
        >>> tagger.explain(["a hungry shark"]).words(0, "horror")["term"].tolist()[0]
        'shark'
        """
        row, column = self._query(query), self._column(label)
        if column in self._words[row]:
            return self._words[row][column].copy()
        return word_contributions(self.model, self._given[row], self._queries[row : row + 1], [column])[0]

    def by_column(self, query: int, label: Any) -> pd.DataFrame:
        """Return the contribution of each column of a table to a label: the sums of `words`.

        Returns
        -------
        frame
            ``column``, ``contribution``, the largest first.
        """
        found = self.words(query, label).groupby("column", sort=False)["contribution"].sum()
        return largest_contributions(found.reset_index())

    def columns(self, query: int, name: Any) -> pd.DataFrame:
        """Return the columns that make a query and a labeled instance similar, the most important first.

        For similarities that are a function of a sum over columns (inner product, squared or L1
        distance). ``term`` adds up to that sum; ``typical`` is the mean of the term over all
        labeled instances: for a distance, a term far below it means that they agree unusually well.
        Of sparse rows and of tables, the columns that are empty in both are left out.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        name : id of a labeled instance
            As in `to_frame`.
        """
        return column_terms(self.model, self._queries[query : query + 1], name, self._feature_names)

    def _query(self, query: int) -> int:
        check_number("explain", "query", query, at_least=0, integer=True)
        if query >= len(self):
            raise IndexError(f"there is no query {query}: {len(self)} were explained, counted from 0.")
        return query

    def _column(self, label: Any) -> int:
        labels = self.labels.tolist()
        if label not in labels:
            raise KeyError(f"There is no label {label!r}; there are {labels!s:.300}.")
        return labels.index(label)

    def plot(self, query: int = 0, ax: Axes | None = None, *, words: bool | None = None) -> Axes:
        """Draw bars of the evidence for and against each predicted label of a query.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        ax : matplotlib axes, optional
        words : bool, optional
            Whether to show words of the query, or labeled instances; words where they are known by default.
        """
        from simlabel.model.inspection._views import plot

        return plot(self, self._query(query), ax, self.has_words if words is None else words)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from simlabel.model.inspection._views import terminal_lines

        return terminal_lines(self)

    def _repr_html_(self) -> str:
        from simlabel.model.inspection._views import html_page

        return html_page(self)

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=100, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def __repr__(self) -> str:
        return f"Explanation of {len(self)} queries and {len(self.labels)} labels; print it to read it"


def explain(
    model: Model,
    X: Rows,
    *,
    top: int | None,
    labels: Any,
    feature_names: AnyArray | None,
    title_column: str | None,
) -> Explanation:
    """Explain the predictions for checked queries, as `SMLClassifier.explain` documents it."""
    if top is not None:
        check_number("explain", "top", top, at_least=1, integer=True)
    scorer, references, Q = model.scorer, model.scorer.references, model.normalized(X)
    described = None if labels is None else _positions(labels, model.labels.classes.tolist())
    having, intercept = having_each(references), scorer.solved.intercept
    found = collect_evidence(model, Q, having, described, top)
    columns = [each.tolist() if described is None else list(described) for each in found["chosen"]]
    has_words = model.uses_term_products
    why = Explanation(
        **found,
        ids=references.ids,
        labels=model.labels.classes,
        sizes=references.sizes,
        mean=np.zeros(having.shape[1]) if intercept is None else intercept,
        base_rate=scorer.label_shares,
        frequencies=np.asarray(having.sum(axis=0)).ravel() / references.weights.sum(),
        described=columns,
        describes_predicted=described is None,
        top=top,
        titles=titles_of(model, title_column, X, np.arange(n_rows(Q))),
        is_learned=scorer.stages.influence.learned,
        has_words=has_words,
        model=model,
        title_column=title_column,
        _given=X,
        _queries=Q,
        _feature_names=feature_names,
        _words=[
            dict(zip(each, word_contributions(model, X[query], Q[query : query + 1], each), strict=True))
            if has_words and each
            else {}
            for query, each in enumerate(columns)
        ],
    )
    return replace(why, texts=tuple(tuple(explanation_texts(why, query)) for query in range(len(why))))


def _positions(labels: Any, known: list[Any]) -> tuple[int, ...]:
    """Return the positions of labels, given by their names."""
    names = [labels] if isinstance(labels, str) else list(labels)
    wrong = [name for name in names if name not in known]
    if wrong:
        named = format_names([repr(name) for name in known])
        raise ValueError(f"explain: the model has no label {wrong[0]!r}; it has {named}.")
    return tuple(known.index(name) for name in dict.fromkeys(names))


def titles_of(
    model: Model, column: str | None, rows: Rows, positions: npt.NDArray[np.integer]
) -> list[str | None]:
    """Return the cells of the title column in some rows of a table, shortened; None without such a column."""
    if model.encoder is None or column is None:
        return [None] * len(positions)
    place = model.encoder.names_.index(column)
    texts: list[str | None] = []
    for row in take_rows(rows, positions):
        cell = row[place]
        text = " ".join(cell) if isinstance(cell, tuple) else "(no title)" if cell is None else str(cell)
        texts.append(text if len(text) <= _MAX_TITLE else text[: _MAX_TITLE - 1].rstrip() + "…")
    return texts
