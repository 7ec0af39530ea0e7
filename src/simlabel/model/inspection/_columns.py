"""Which columns make two instances similar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows, take_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.model._model import Model
from simlabel.similarities import Leaf

if TYPE_CHECKING:
    import pandas as pd


def columns_frame(
    model: Model, query: Rows, name: Any, feature_names: npt.NDArray[Any] | None
) -> pd.DataFrame:
    """The terms of the sum over columns that the similarity of a query and a labelled instance is made of.

    Parameters
    ----------
    query : rows, (1, n_features)
        Normalized.
    name : id of a labelled instance
    feature_names : array or None
        Of the columns that the similarity reads; not looked at where there is an encoder, which knows them.

    Returns
    -------
    frame
        ``column``, ``query``, ``reference``, ``term``, ``typical``, the most telling first.
    """
    import pandas as pd

    similarity, references = model.scorer.stages.similarity, model.scorer.references
    leaves = similarity.leaves()
    if len(leaves) != 1 or not leaves[0].similarity.column_sum:
        raise ValueError(f"{similarity!r} is no function of one sum over columns: it cannot be taken apart.")
    leaf, position = leaves[0], references.positions([name])
    if position[0] < 0:
        raise KeyError(f"No labelled instance has the id {name!r}.")
    seen, there = leaf.view(query), leaf.view(take_rows(references.X, position))
    shown = np.arange(seen.shape[1])
    if sp.issparse(seen):  # there may be as many columns as words: those of the two are shown
        shown = np.union1d(sp.csr_array(seen).indices, sp.csr_array(there).indices)

    def read(rows: Rows) -> FloatArray:
        rows = rows[:, shown] if sp.issparse(rows) else rows
        return np.asarray(dense_rows(rows), dtype=np.float64)

    q, x = read(seen)[0], read(there)
    typical = sum(
        leaf.similarity.column_terms(q, read(leaf.view(references.X[part]))).sum(axis=0)
        for part in blocks(references.n_rows, limits().block_rows)
    )
    terms = leaf.similarity.column_terms(q, x)[0]
    if model.encoder is not None:
        feature_names = np.array([_named(each) for each in model.encoder.feature_names()], dtype=object)
    frame = pd.DataFrame(
        {
            "column": _column_names(leaf, feature_names, seen.shape[1], shown),
            "query": q,
            "reference": x[0],
            "term": terms,
            "typical": typical / references.n_rows,
        }
    )
    is_distance = leaf.similarity.column_sum.endswith("distance")
    telling = frame["typical"] - frame["term"] if is_distance else frame["term"]
    return frame.loc[telling.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _named(feature: tuple[str, str] | None) -> str:
    return "" if feature is None else f"{feature[0]}: {feature[1]}"


def _column_names(
    leaf: Leaf, feature_names: npt.NDArray[Any] | None, n_columns: int, shown: npt.NDArray[np.integer]
) -> list[Any]:
    chosen = getattr(leaf.views[0], "columns", None) if leaf.views else None
    numbers = np.arange(n_columns) if chosen is None else np.asarray(chosen)
    if feature_names is None or numbers.max(initial=-1) >= len(feature_names) or len(numbers) != n_columns:
        return shown.tolist()
    return [feature_names[i] for i in numbers[shown]]
