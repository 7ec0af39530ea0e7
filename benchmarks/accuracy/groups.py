"""The optimism of leave-one-out with near duplicates, compared with leaving out whole groups.

Debian packages of one source have nearly the same summary and tags. The rows are a random sample of whole
sources, with tf-idf of the summaries and the tags that enough packages have. Leave-one-out by row and by
source is compared with held-out folds of whole sources. Needs raw/debtags.csv in the folder SIMLABEL_DATA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from _shared.data import raw_table, sources, whole_groups
from _shared.report import Part
from _shared.timing import Scale
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import MultiLabelBinarizer

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

ROWS, LEAST, FOLDS = 3000, 10, 5


def drawn(rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """Return a random sample of tagged packages, and their sources: all packages of a source, or none."""
    table = raw_table("debtags")
    table = table[table["tags"] != ""]
    groups = sources(table)
    some = whole_groups(groups, rows, seed)
    return table[some], groups[some]


def sampled(scale: Scale) -> tuple[Any, Any, np.ndarray]:
    """Return features, tags and sources of some packages, without rare tags."""
    table, groups = drawn(scale.rows(ROWS), 0)
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(table["tags"].str.split(";"))
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(table["summary"])
    often = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel() >= LEAST)
    return X.tocsr(), Y.tocsr()[:, often], groups.to_numpy()


def model(influence: str) -> SMLClassifier:
    return SMLClassifier("cosine" if influence == "ridge" else "rbf", influence=influence, random_state=0)


def held_out(influence: str, X: Any, Y: Any, groups: np.ndarray, grouped: bool) -> np.ndarray:
    """Return scores of all rows, each by a model fitted without its source."""
    scores = np.empty(Y.shape)
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=0).split(X, groups=groups):
        known = groups[train] if grouped else None
        scores[test] = model(influence).fit(X[train], Y[train], groups=known).decision_function(X[test])
    return scores


def run(scale: Scale) -> Part:
    X, Y, groups = sampled(scale)
    sizes = pd.Series(groups).value_counts()
    sharing = (sizes[groups] > 1).mean()
    intro = (
        f"{X.shape[0]:,} packages of {len(sizes):,} sources, {Y.shape[1]} tags, tf-idf of the summaries;\n"
        f"{sharing:.0%} of the packages share their source. Average precision; {FOLDS} folds of sources."
    )
    shown = "influence", "groups", "leave-one-out", "held-out sources", "optimism"
    part = Part("Leave-one-out on packages of one source", shown, intro)
    for influence in ("uniform", "ridge"):
        for title, grouped in (("none", False), ("sources", True)):
            fitted = model(influence).fit(X, Y, groups=groups if grouped else None)
            loo = average_precision(Y, fitted.leave_one_out())
            truth = average_precision(Y, held_out(influence, X, Y, groups, grouped))
            part.row(influence, title, f"{loo:.4f}", f"{truth:.4f}", f"{loo - truth:+.4f}")
    return part
