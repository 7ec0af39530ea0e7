"""Hierarchical labels on Debian's tags: a model with the hierarchy compared with models without it.

Tags are paths, such as ``mail::imap``: the first step is the facet. Both models have tf-idf of the summaries,
cosine, ridge and thresholds per label for micro F1, on held-out folds of whole sources. Criteria are
hierarchical: sets are closed upwards, so that a correct facet counts. "broken" is the share of predicted tags
whose facet is not predicted.
Needs raw/debtags.csv in the folder SIMLABEL_DATA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from _shared.report import Part, mean_error
from _shared.timing import Scale
from accuracy.groups import drawn
from sklearn.feature_extraction.text import TfidfVectorizer

from simlabel import SMLClassifier
from simlabel.experiments import StratifiedFolds
from simlabel.metrics import hierarchical_f1, hierarchical_precision, hierarchical_recall
from simlabel.rules import PerLabel

ROWS, FOLDS, LEAST = 3000, 5, 10


def packages(scale: Scale) -> tuple[Any, list[set[str]], np.ndarray]:
    """Return features, tags and sources of a sample of whole sources, without rare tags."""
    table, sources = drawn(scale.rows(ROWS), 1)
    tags = [set(one.split(";")) for one in table["tags"]]
    counts = pd.Series([tag for one in tags for tag in one]).value_counts()
    often = set(counts.index[counts >= min(LEAST, scale.rows(LEAST))])
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(table["summary"]).tocsr()
    return X, [one & often for one in tags], sources.to_numpy()


def closed(one: set[str]) -> set[str]:
    return one | {tag.partition("::")[0] for tag in one}


def run(scale: Scale) -> Part:
    X, y, sources = packages(scale)
    part = Part(
        "Tags in facets",
        ["model", "hierarchical precision", "recall", "F1", "broken"],
        f"{X.shape[0]:,} packages, {FOLDS} folds of whole sources; mean and standard error over folds.",
    )
    found: dict[str, list[list[float]]] = {"tags alone": [], "facets as labels": [], "hierarchy": []}
    for train, test in StratifiedFolds(FOLDS).split(X, y, sources):
        known, true = [y[i] for i in train], [y[i] for i in test]
        for name in found:
            hierarchy = "::" if name == "hierarchy" else None
            model = SMLClassifier(
                "cosine",
                influence="ridge",
                label_rule=PerLabel("f1_micro"),
                calibration=None,
                hierarchy=hierarchy,
                random_state=0,
            )
            given = [closed(one) for one in known] if name == "facets as labels" else known
            predicted = model.fit(X[train], given, groups=sources[train]).predict(X[test])
            narrow = [(one, tag) for one in predicted for tag in one if "::" in tag]
            broken = np.mean([tag.partition("::")[0] not in one for one, tag in narrow]) if narrow else 0.0
            criteria = (hierarchical_precision, hierarchical_recall, hierarchical_f1)
            scores = [criterion(true, predicted, "::") for criterion in criteria]
            found[name].append([*scores, np.nan if name == "tags alone" else float(broken)])
    for name, rows in found.items():
        part.row(name, *map(mean_error, np.transpose(rows)))
    return part
