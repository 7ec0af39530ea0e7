"""What words, cells and columns contribute to a score or to a similarity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows, take_rows
from simlabel._utils.validation import AnyArray, FloatArray, Rows
from simlabel.model._model import Model
from simlabel.similarities import Leaf
from simlabel.tables import NUMBERS, Row

if TYPE_CHECKING:
    import pandas as pd

_N_STEPS = 32  # of Gauss-Legendre quadrature: exact to many digits for a curve as smooth as this
_WORD = re.compile(r"\w{3,}")


def largest_contributions(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort contributions by absolute value, the largest first."""
    order = frame["contribution"].abs().sort_values(ascending=False, kind="stable").index
    return frame.loc[order].reset_index(drop=True)


def word_contributions(model: Model, cells: Row, q: Rows, columns: Sequence[int]) -> list[pd.DataFrame]:
    """Return for each label what the words of a query contribute: ``column``, ``term``, ``contribution``.

    Parameters
    ----------
    cells : tuple
        The query as a row of a table.
    q : sparse, (1, n_features)
        The same, encoded.
    columns : sequence of int
        Labels.
    """
    import pandas as pd

    encoder, scorer = model.encoder, model.scorer
    if encoder is None or not model.uses_term_products:
        raise ValueError(
            f"words: a score is a sum over words where a table is compared by inner products, as Tagger "
            f"does it, or SMLClassifier('linear', encoder='table'); not with "
            f"{scorer.stages.similarity!r}{'' if encoder is not None else ' and no encoder'}."
        )
    row, leaf = sp.csr_array(q), model.numeric_rbf
    X = scorer.prepared.by_column(scorer.stages.similarity.leaves()[0].key)
    V = np.asarray(dense_rows(scorer.V[:][:, list(columns)]))
    by_feature = row.data[:, None] * np.asarray(X[:, row.indices].T @ V)
    general: FloatArray = np.zeros(len(columns))
    if leaf is not None:  # add the RBF similarity of the numbers, feature by feature
        numbers = scorer.prepared.by_column(leaf.key).toarray()
        found, general = rbf_contributions(leaf.view(row).toarray()[0], numbers, V, leaf.similarity.gamma)
        at = np.full(row.shape[1], -1)
        at[row.indices] = np.arange(len(row.indices))
        places = at[encoder.numeric_slots]
        by_feature[places[places >= 0]] += leaf.factor * found[places >= 0]  # a feature of 0 brings nothing
        general = leaf.factor * general
    terms: dict[tuple[str, str], int] = {}
    rows, slots, shares = [], [], []
    for column, (slot, term, share) in encoder.readable(cells):
        rows.append(terms.setdefault((column, term), len(terms)))
        slots.append(slot)
        shares.append(share)
    parts = sp.csr_array((shares, (rows, slots)), shape=(len(terms), encoder.width_))
    by_term = np.vstack([parts[:, row.indices] @ by_feature, general])
    if scorer.known is not None:  # which makes sums comparable where not all labels are known
        by_term = by_term * scorer.known_factors(row)[:, list(columns)]
    names = pd.DataFrame([*terms, (NUMBERS, "in general")], columns=["column", "term"])
    frames = [names.assign(contribution=values) for values in by_term.T]
    return [largest_contributions(frame[frame["contribution"] != 0]) for frame in frames]


def rbf_contributions(
    q: FloatArray, X: FloatArray, V: FloatArray, gamma: float
) -> tuple[FloatArray, FloatArray]:
    """Split a sum of RBF similarities into contributions of the columns, (n_columns, width), and a rest.

    In an RBF columns do not add up. On the way from 0 to the query every column changes the sum by its
    derivative; its contribution is the integral of that along the way (integrated gradients: Sundararajan,
    Taly and Yan 2017). The rest, (width,), is the sum at 0.

    Parameters
    ----------
    q : array, (n_columns,)
    X : array, (n_references, n_columns)
    V : array, (n_references, width)

    Examples
    --------
    >>> q, X, V = np.array([1.0, 0.0, 0.5]), np.eye(3), np.ones((3, 1))
    >>> by_column, rest = rbf_contributions(q, X, V, 1.0)
    >>> (by_column.sum(axis=0) + rest).round(3), np.exp(-((X - q) ** 2).sum(axis=1)).sum().round(3)
    (array([1.171]), np.float64(1.171))
    """

    def similarities(z: FloatArray) -> FloatArray:
        return np.exp(-gamma * ((X - z) ** 2).sum(axis=1))

    nodes, weights = np.polynomial.legendre.leggauss(_N_STEPS)
    found = np.zeros((len(q), V.shape[1]))
    for t, weight in zip((nodes + 1.0) / 2.0, weights / 2.0, strict=True):
        terms = similarities(t * q)[:, None] * V
        found -= 2.0 * gamma * weight * q[:, None] * (t * q[:, None] * terms.sum(axis=0) - X.T @ terms)
    return found, similarities(q) @ V - found.sum(axis=0)


def column_terms(model: Model, query: Rows, name: Any, feature_names: AnyArray | None) -> pd.DataFrame:
    """Return the terms of the sum over columns that makes a query and a labeled instance similar.

    Parameters
    ----------
    query : rows, (1, n_features)
        Normalized.
    name : id of a labeled instance
    feature_names : array or None
        Of the columns that the similarity reads. Ignored if there is an encoder, which names them.

    Returns
    -------
    frame
        ``column``, ``query``, ``reference``, ``term``, ``typical``, the most important first.
    """
    import pandas as pd

    similarity, references = model.scorer.stages.similarity, model.scorer.references
    leaves = similarity.leaves()
    if len(leaves) != 1 or not leaves[0].similarity.column_sum:
        raise ValueError(
            f"{similarity!r} is no function of one sum over columns, so it cannot be split by column."
        )
    leaf, position = leaves[0], references.positions([name])
    if position[0] < 0:
        raise KeyError(f"No labeled instance has the id {name!r}.")
    views = leaf.view(query), leaf.view(take_rows(references.X, position))
    shown = np.arange(views[0].shape[1])
    if sp.issparse(views[0]):  # there may be as many columns as words: show the columns of the two rows
        shown = np.union1d(*(sp.csr_array(view).indices for view in views))

    def read(rows: Rows) -> FloatArray:
        rows = rows[:, shown] if sp.issparse(rows) else rows
        return np.asarray(dense_rows(rows), dtype=np.float64)

    q, x = read(views[0])[0], read(views[1])
    typical = sum(
        leaf.similarity.column_terms(q, read(leaf.view(references.X[part]))).sum(axis=0)
        for part in blocks(references.n_rows, limits().block_rows)
    )
    if model.encoder is not None:
        named = [": ".join(each or ("",)) for each in model.encoder.feature_names()]
        feature_names = np.array(named, dtype=object)
    frame = pd.DataFrame(
        {
            "column": _column_names(leaf, feature_names, views[0].shape[1], shown),
            "query": q,
            "reference": x[0],
            "term": leaf.similarity.column_terms(q, x)[0],
            "typical": typical / references.n_rows,
        }
    )
    is_distance = leaf.similarity.column_sum.endswith("distance")
    salient = frame["typical"] - frame["term"] if is_distance else frame["term"]
    return frame.loc[salient.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _column_names(
    leaf: Leaf, feature_names: AnyArray | None, n_columns: int, shown: npt.NDArray[np.integer]
) -> list[Any]:
    chosen = getattr(leaf.views[0], "columns", None) if leaf.views else None
    numbers = np.arange(n_columns) if chosen is None else np.asarray(chosen)
    if feature_names is None or numbers.max(initial=-1) >= len(feature_names) or len(numbers) != n_columns:
        return shown.tolist()
    return [feature_names[i] for i in numbers[shown]]


def shared_words(
    one: Mapping[str, Any], other: Mapping[str, Any], salient: Sequence[str] = (), most: int = 6
) -> list[str]:
    """Return words that two rows have in common: first those of `salient`, then the longest.

    Parameters
    ----------
    one, other : dict of column to cell
        Texts and lists of texts; cells of another kind have no words.
    salient : sequence of str
        Terms that speak for a label, such as `Explanation.words` returns them.
    most : int
        The largest number of words.

    Examples
    --------
    >>> shared_words({"plot": "a shark at the beach"}, {"plot": "the white shark"}, ["shark"])
    ['shark', 'the']
    """
    common = _words(one.values()) & _words(other.values())
    first = [word for word in _WORD.findall(" ".join(salient).lower()) if word in common]
    rest = sorted(common - set(first), key=lambda word: (-len(word), word))
    return list(dict.fromkeys(first + rest))[:most]


def _words(cells: Iterable[Any]) -> set[str]:
    texts = [" ".join(cell) if isinstance(cell, list) else cell for cell in cells]
    return {word for text in texts if isinstance(text, str) for word in _WORD.findall(text.lower())}
