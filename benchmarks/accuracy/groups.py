"""How much leave-one-out flatters itself where rows are nearly copies, beside leaving out whole groups.

Debian packages of one source have nearly the same summary and tags. A seeded sample of whole sources, tf-idf
of the summaries, tags that enough packages have. What leave-one-out says, row by row and source by source, is
compared with held-out folds of whole sources. Needs raw/debtags.csv in the folder SIMLABEL_DATA.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _shared.data import Missing
from _shared.report import Part
from _shared.timing import Scale
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import MultiLabelBinarizer

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

ROWS, LEAST, FOLDS = 3000, 10, 5


def drawn(rows: int, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """About so many tagged packages, and their sources: all packages of a source, or none."""
    path = Path(os.environ.get("SIMLABEL_DATA", "")) / "raw" / "debtags.csv"
    if not path.exists():
        raise Missing("it needs raw/debtags.csv in the folder that SIMLABEL_DATA names.")
    table = pd.read_csv(path, usecols=["package", "summary", "source", "tags"], keep_default_na=False)
    table = table[table["tags"] != ""]
    sources = table["source"].where(table["source"] != "", table["package"])
    order = np.random.default_rng(seed).permutation(sources.unique())
    before = sources.value_counts().loc[order].cumsum()
    some = sources.isin(before.index[before <= rows])
    return table[some], sources[some]


def sampled(scale: Scale) -> tuple[Any, Any, np.ndarray]:
    """Features, tags and sources of some packages, with tags that enough have."""
    table, sources = drawn(scale.rows(ROWS), 0)
    Y = MultiLabelBinarizer(sparse_output=True).fit_transform(table["tags"].str.split(";"))
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(table["summary"])
    often = np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel() >= LEAST)
    return X.tocsr(), Y.tocsr()[:, often], sources.to_numpy()


def model(influence: str) -> SMLClassifier:
    return SMLClassifier("cosine" if influence == "ridge" else "rbf", influence=influence, random_state=0)


def held_out(influence: str, X: Any, Y: Any, sources: np.ndarray, grouped: bool) -> np.ndarray:
    """Scores of all rows, each by a model that has seen nothing of its source."""
    scores = np.empty(Y.shape)
    for train, test in GroupKFold(FOLDS, shuffle=True, random_state=0).split(X, groups=sources):
        groups = sources[train] if grouped else None
        scores[test] = model(influence).fit(X[train], Y[train], groups=groups).decision_function(X[test])
    return scores


def run(scale: Scale) -> Part:
    X, Y, sources = sampled(scale)
    sizes = pd.Series(sources).value_counts()
    sharing = (sizes[sources] > 1).mean()
    intro = (
        f"{X.shape[0]:,} packages of {len(sizes):,} sources, {Y.shape[1]} tags, tf-idf of the summaries;\n"
        f"{sharing:.0%} of the packages share their source. Average precision; {FOLDS} folds of sources."
    )
    shown = "influence", "groups", "leave-one-out says", "held-out sources", "flattered by"
    part = Part("Leave-one-out on packages of one source", shown, intro)
    for influence in ("uniform", "ridge"):
        for title, grouped in (("none", False), ("sources", True)):
            fitted = model(influence).fit(X, Y, groups=sources if grouped else None)
            says = average_precision(Y, fitted.leave_one_out())
            truth = average_precision(Y, held_out(influence, X, Y, sources, grouped))
            part.row(influence, title, f"{says:.4f}", f"{truth:.4f}", f"{says - truth:+.4f}")
    return part
