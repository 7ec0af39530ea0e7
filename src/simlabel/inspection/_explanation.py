"""Why these labels: what a user is shown."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from simlabel.inspection._terms import Terms
from simlabel.rows import References, blocks, dense_rows, take_rows
from simlabel.similarities import Leaf, Similarity
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from rich.console import Console, ConsoleOptions, RenderResult


@dataclass(frozen=True)
class Explanation:
    """For every query and label, the labelled instances that contributed most, each with its share.

    Contributions, what the others contributed (`rest`) and, with learned influence, the mean add up
    to the label's score. The set size is explained in the same way. It prints well.

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
    chosen: list[npt.NDArray[np.int64]]
    terms: Terms
    mean: FloatArray
    _similarity: Similarity
    _references: References
    _queries: Rows
    _feature_names: npt.NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def scores(self) -> FloatArray:
        """The label weights that are explained, (n_queries, n_labels)."""
        return (self.terms.totals + self.mean)[:, : len(self.labels)]

    def to_frame(self) -> pd.DataFrame:
        """One row per query, label and contributor; rows "rest" and "mean" complete each label's score.

        Columns: ``query``, ``what`` ("label", "rest", "mean" or "size"), ``label`` (a name; None where a
        set size is explained), ``size`` (None where a label is), ``id``, ``contribution``, ``share`` of
        the score, ``predicted``.
        """
        import pandas as pd

        rows = []
        for query in range(len(self)):
            for k, name in enumerate(self.labels.tolist()):
                about, predicted = (name, None), k in self.chosen[query]
                rows += self._rows(query, k, "label", about, self.scores[query, k], predicted)
            for s, size in enumerate(self.sizes.tolist()):
                k = len(self.labels) + s
                total, predicted = self.terms.totals[query, k] + self.mean[k], size == len(self.chosen[query])
                rows += self._rows(query, k, "size", (None, size), total, predicted)
        names = ["query", "what", "label", "size", "id", "contribution", "share", "predicted"]
        columns = dict(zip(names, zip(*rows, strict=True), strict=True))
        objects = {name: pd.Series(columns[name], dtype=object) for name in ("label", "size", "id")}
        return pd.DataFrame(columns | objects)

    def contributors(self, query: int, column: int) -> list[tuple[Any, float]]:
        """(id, contribution) of the references that are listed for one column of the terms."""
        positions = self.terms.positions[query, column]
        there = positions >= 0
        names = self.ids[positions[there]].tolist()
        return list(zip(names, self.terms.contributions[query, column, there].tolist(), strict=True))

    def _rows(
        self, query: int, k: int, what: str, about: tuple[Any, Any], score: float, predicted: bool
    ) -> list[Any]:
        parts = [(what, who, value) for who, value in self.contributors(query, k)]
        parts.append(("rest", None, float(self.terms.rest[query, k])))
        if self.mean.any():
            parts.append(("mean", None, float(self.mean[k])))
        return [
            (query, kind, *about, who, value, value / score if score else np.nan, predicted)
            for kind, who, value in parts
        ]

    def columns(self, query: int, name: Any) -> pd.DataFrame:
        """Which columns make a query and a labelled instance similar, most telling first.

        For similarities that are a function of a sum over columns (inner product, squared or L1
        distance). ``term`` adds up to that sum; ``typical`` is the mean of the term over all
        labelled instances: for a distance, a term far below it says that they agree unusually well.

        Parameters
        ----------
        query : int
            Row of the X that was explained.
        name : id of a labelled instance
            As in `to_frame`.
        """
        import pandas as pd

        leaves = self._similarity.leaves()
        if len(leaves) != 1 or not leaves[0].similarity.column_sum:
            raise ValueError(
                f"{self._similarity!r} is no function of one sum over columns: it cannot be taken apart."
            )
        leaf, position = leaves[0], self._references.positions([name])
        if position[0] < 0:
            raise KeyError(f"No labelled instance has the id {name!r}.")

        def read(rows: Rows) -> FloatArray:
            return np.asarray(dense_rows(leaf.view(rows)), dtype=np.float64)

        q, x = read(self._queries[query : query + 1])[0], read(take_rows(self._references.X, position))
        n = self._references.n_rows
        typical = sum(
            leaf.similarity.column_terms(q, read(self._references.X[part])).sum(axis=0)
            for part in blocks(n, limits().block_rows)
        )
        frame = pd.DataFrame(
            {
                "column": _column_names(leaf, self._feature_names, len(q)),
                "query": q,
                "reference": x[0],
                "term": leaf.similarity.column_terms(q, x)[0],
                "typical": typical / n,
            }
        )
        is_distance = leaf.similarity.column_sum.endswith("distance")
        telling = frame["typical"] - frame["term"] if is_distance else frame["term"]
        return frame.loc[telling.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)

    def plot(self, query: int = 0, ax: Axes | None = None) -> Axes:
        """Bars of the contributions to each predicted label of a query, and to its set size."""
        from simlabel.inspection._render import plot

        return plot(self, query, ax)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from simlabel.inspection._render import tables

        yield from tables(self)

    def __str__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=100, no_color=True).print(self)
        return text.getvalue()

    def __repr__(self) -> str:
        return f"Explanation of {len(self)} queries and {len(self.labels)} labels; print it to read it"


def _column_names(leaf: Leaf, feature_names: npt.NDArray[Any] | None, n_columns: int) -> list[Any]:
    chosen = getattr(leaf.views[0], "columns", None) if leaf.views else None
    numbers = np.arange(n_columns) if chosen is None else np.asarray(chosen)
    if feature_names is None or numbers.max(initial=-1) >= len(feature_names) or len(numbers) != n_columns:
        return list(range(n_columns))
    return [feature_names[i] for i in numbers]
