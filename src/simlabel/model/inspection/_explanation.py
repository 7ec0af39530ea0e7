"""Why these labels: what a user is shown."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.forks import cached_property
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.model._model import Model
from simlabel.model.inspection._columns import columns_frame
from simlabel.model.inspection._evidence import Evidence, most_telling
from simlabel.model.inspection._terms import Terms

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True)
class Explanation:
    """For every query and label, what speaks for it and against it: labelled instances, and words of a table.

    Contributions, what the others contributed (`rest`) and, with learned influence, the mean add up
    to the label's score. The set size is explained in the same way. It prints well: a sentence for each
    predicted label, then the instances.

    Attributes
    ----------
    ids : array, (n_references,)
        What the labelled instances that are summed over are called.
    labels : array, (n_labels,)
        Label names.
    sizes : array of int, (n_sizes,)
        Set sizes seen in training.
    chosen : list of array of int
        For each query the labels that are predicted, strongest first.
    terms : Terms
        Contributions to the labels and then the sizes, (n_queries, n_labels + n_sizes, top).
    mean : array, (n_labels + n_sizes,)
        What a score is before any reference is looked at; 0 but for learned influence.
    probabilities : array, (n_queries, n_labels)
        As `predict_proba` gives them.
    usual : array, (n_labels,)
        The share of the labelled instances that have each label: what frequency alone would give.

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

    ids: npt.NDArray[Any]
    labels: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    chosen: list[npt.NDArray[np.integer]]
    terms: Terms
    mean: FloatArray
    probabilities: FloatArray
    usual: FloatArray
    _model: Model
    _given: Rows
    _queries: Rows
    _feature_names: npt.NDArray[Any] | None = None
    _title_column: str | None = None
    _labels: tuple[int, ...] | None = None
    _top: int | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    def explained(self, query: int) -> list[int]:
        """The labels that are described: those that `explain` was given, else the predicted ones."""
        return self.chosen[query].tolist() if self._labels is None else list(self._labels)

    @property
    def scores(self) -> FloatArray:
        """The label weights that are explained, (n_queries, n_labels)."""
        return (self.terms.totals + self.mean)[:, : len(self.labels)]

    @property
    def lift(self) -> FloatArray:
        """How many times as probable a label is as its frequency makes it, (n_queries, n_labels)."""
        usual = np.broadcast_to(self.usual, self.probabilities.shape)
        return np.divide(self.probabilities, usual, out=np.full(usual.shape, np.nan), where=usual > 0)

    def to_frame(self) -> pd.DataFrame:
        """One row per query, label and contributor; rows "rest" and "mean" complete each label's score.

        Columns: ``query``, ``what`` ("label", "rest", "mean" or "size"), ``label`` (a name; None where a
        set size is explained), ``size`` (None where a label is), ``id``, for a table ``title``,
        ``contribution``, ``share`` of all that speaks for or against (below 0 for what speaks against),
        ``predicted``.
        """
        import pandas as pd

        rows = []
        for query in range(len(self)):
            for k, name in enumerate(self.labels.tolist()):
                rows += self._rows(query, k, "label", (name, None), k in self.chosen[query])
            for s, size in enumerate(self.sizes.tolist()):
                predicted = size == len(self.chosen[query])
                rows += self._rows(query, len(self.labels) + s, "size", (None, size), predicted)
        names = ["query", "what", "label", "size", "id", "title", "contribution", "share", "predicted"]
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        objects = {name: pd.Series(columns[name], dtype=object) for name in ("label", "size", "id", "title")}
        frame = pd.DataFrame(columns | objects)
        return frame if self._title_column is not None else frame.drop(columns="title")

    def contributors(self, query: int, column: int) -> list[tuple[Any, float]]:
        """(id, contribution) of the references that are listed for one column of the terms."""
        positions = self.terms.positions[query, column]
        there = positions >= 0
        names = self.ids[positions[there]].tolist()
        return list(zip(names, self.terms.contributions[query, column, there].tolist(), strict=True))

    def titles(self, query: int, column: int) -> list[str] | None:
        """By what the references of `contributors` are shown beside their ids; None without a table."""
        positions = self.terms.positions[query, column]
        used, listed = self._model.scorer.solved.used, positions[positions >= 0]
        return self.evidence.titles(listed if used is None else used[listed])

    def _rows(self, query: int, k: int, what: str, about: tuple[Any, Any], predicted: bool) -> list[Any]:
        listed = self.contributors(query, k)
        titles: Sequence[str | None] = self.titles(query, k) or [None] * len(listed)
        parts: list[tuple[str, Any, str | None, float]] = [
            (what, who, title, value) for (who, value), title in zip(listed, titles, strict=True)
        ]
        parts.append(("rest", None, None, float(self.terms.rest[query, k])))
        if self.mean.any():
            parts.append(("mean", None, None, float(self.mean[k])))
        whole = float(self.terms.absolute[query, k]) or np.nan
        return [
            (query, kind, *about, who, title, value, np.nan if kind == "mean" else value / whole, predicted)
            for kind, who, title, value in parts
        ]

    def nearest(self, query: int, label: Any, n: int = 5) -> pd.DataFrame:
        """The labelled instances with a label that a query is most similar to.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        label : label name
        n : int
            How many.

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
        check_number("nearest", "n", n, at_least=1, integer=True)
        return self.evidence.nearest(self._query(query), self._column(label), n)

    def words(self, query: int, label: Any) -> pd.DataFrame:
        """Which words and cells of a query speak for a label and which against it, the most telling first.

        For tables that are compared by inner products, as a `Tagger` does it: a score is a sum over words.
        Characters count for the words that they are in. The contributions and the label's `mean` add up to
        its score.

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
        return self.evidence.words(self._query(query), [self._column(label)])[0]

    def by_column(self, query: int, label: Any) -> pd.DataFrame:
        """How much each column of a table speaks for or against a label: `words`, added up.

        Returns
        -------
        frame
            ``column``, ``contribution``, the most telling first.
        """
        found = self.words(query, label).groupby("column", sort=False)["contribution"].sum()
        return most_telling(found.reset_index())

    @cached_property
    def evidence(self) -> Evidence:
        """What the labelled instances and the words of the queries are asked for."""
        return Evidence(self._model, self._given, self._queries, self._title_column)

    def _query(self, query: int) -> int:
        check_number("explain", "query", query, at_least=0, integer=True)
        if query >= len(self):
            raise IndexError(f"there is no query {query}: {len(self)} were explained, counted from 0.")
        return query

    def _column(self, label: Any) -> int:
        found = [k for k, name in enumerate(self.labels.tolist()) if name == label]
        if not found:
            raise KeyError(f"There is no label {label!r}; there are {self.labels.tolist()!s:.300}.")
        return found[0]

    def columns(self, query: int, name: Any) -> pd.DataFrame:
        """Which columns make a query and a labelled instance similar, most telling first.

        For similarities that are a function of a sum over columns (inner product, squared or L1
        distance). ``term`` adds up to that sum; ``typical`` is the mean of the term over all
        labelled instances: for a distance, a term far below it says that they agree unusually well.
        Of sparse rows and of tables, the columns that are empty in both are left out.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        name : id of a labelled instance
            As in `to_frame`.
        """
        return columns_frame(self._model, self._queries[query : query + 1], name, self._feature_names)

    def plot(self, query: int = 0, ax: Axes | None = None, *, words: bool | None = None) -> Axes:
        """Bars of what speaks for each predicted label of a query, and of what speaks against it.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        ax : matplotlib axes, optional
        words : bool, optional
            Whether to show words of the query, or labelled instances; words where they are known by default.
        """
        from simlabel.model.inspection._plot import plot

        return plot(self, self._query(query), ax, self.evidence.has_words if words is None else words)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from simlabel.model.inspection._render import told

        yield from told(self)

    def _repr_html_(self) -> str:
        from simlabel.model.inspection._html import page

        return page(self)

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=100, no_color=True).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def __repr__(self) -> str:
        return f"Explanation of {len(self)} queries and {len(self.labels)} labels; print it to read it"
