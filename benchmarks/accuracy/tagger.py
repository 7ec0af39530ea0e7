"""Tagger on raw tables beside linear models, neighbours and a forest: AP, micro- and macro-F1, seconds.

Films (tv.csv: genres from title, director, cast and synopsis) in five random 70/30 splits, and Debian
packages (debtags.csv: tags from name, summary, section, size, homepage and dependencies) in five folds of
whole sources, since packages of one source are near copies. Linear models and neighbours get the words and
pairs of words of all cells together, weighted by how rare they are; the forest gets skrub's TableVectorizer.
Labels that no training row has count against all alike. Needs raw/ in the folder SIMLABEL_DATA.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from _shared.data import Missing
from _shared.report import Part
from _shared.timing import Scale
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from simlabel import Tagger
from simlabel.metrics import average_precision

Scores = tuple[Any, Any]  # scores and sets of the test rows, (n, n_labels)
ROUNDS = 5
PACKAGES = 6000  # of whole sources: with all 29,824 the linear models take an hour


def table(name: str, scale: Scale) -> pd.DataFrame:
    path = Path(os.environ.get("SIMLABEL_DATA", "")) / "raw" / f"{name}.csv"
    if not path.exists():
        raise Missing("it needs raw/ in the folder that SIMLABEL_DATA names.")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.iloc[: scale.rows(len(frame))]


def texts(frame: pd.DataFrame) -> pd.Series:
    """All cells of a row as one text."""
    return frame.apply(" ".join, axis=1)


def on_words(model: Any) -> Callable[..., Scores]:
    def fitted(train: pd.DataFrame, Y: Any, test: pd.DataFrame, groups: Any) -> Scores:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        pipeline = make_pipeline(words, OneVsRestClassifier(model)).fit(texts(train), Y)
        asked = texts(test)
        return pipeline.decision_function(asked), pipeline.predict(asked)

    return fitted


def neighbours(train: pd.DataFrame, Y: Any, test: pd.DataFrame, groups: Any) -> Scores:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = KNeighborsClassifier(10, metric="cosine", weights="distance").fit(
        words.fit_transform(texts(train)), Y
    )
    found = model.predict_proba(words.transform(texts(test)))
    scores = np.column_stack([p[:, 1] if p.shape[1] == 2 else np.zeros(len(p)) for p in found])
    return scores, (scores > 0.5).astype(int)


def forest(train: pd.DataFrame, Y: Any, test: pd.DataFrame, groups: Any) -> Scores:
    from skrub import TableVectorizer

    model = make_pipeline(TableVectorizer(), RandomForestClassifier(100, n_jobs=2, random_state=0)).fit(
        train, Y
    )
    found = model.predict_proba(test)
    scores = np.column_stack(
        [
            p[:, 1] if p.shape[1] == 2 else np.full(len(p), float(c[0]))
            for p, c in zip(found, model[-1].classes_, strict=True)
        ]
    )
    return scores, (scores > 0.5).astype(int)


def tagger(train: pd.DataFrame, Y: Any, test: pd.DataFrame, groups: Any) -> Scores:
    model = Tagger().fit(train, Y, groups=groups)
    outputs = model.outputs(test)
    return outputs.weights, outputs.sets.toarray()


MODELS: dict[str, Callable[..., Scores]] = {
    "Tagger": tagger,
    "LinearSVC": on_words(LinearSVC()),
    "LogisticRegression": on_words(LogisticRegression(max_iter=1000)),
    "LogisticRegression, C=10, balanced": on_words(
        LogisticRegression(C=10, class_weight="balanced", max_iter=1000)
    ),
    "KNeighbors, cosine": neighbours,
    "TableVectorizer + RandomForest": forest,
}


def films(scale: Scale) -> Iterator[tuple[Any, ...]]:
    frame = table("tv", scale)
    Y = MultiLabelBinarizer().fit_transform(frame.pop("genres").str.split(", "))
    frame = frame.drop(columns="id")
    for seed in range(scale.rounds(ROUNDS)):
        order, n = np.random.default_rng(seed).permutation(len(frame)), round(0.7 * len(frame))
        yield frame, Y, None, order[:n], order[n:]


def packages(scale: Scale) -> Iterator[tuple[Any, ...]]:
    frame = table("debtags", scale)
    source = frame["source"].where(frame["source"] != "", frame["package"])
    order = np.random.default_rng(0).permutation(source.unique())
    before = source.value_counts().loc[order].cumsum()
    frame = frame[source.isin(before.index[before <= PACKAGES])]
    source = source[frame.index].to_numpy()
    Y = MultiLabelBinarizer().fit_transform(frame["tags"].str.split(";"))
    frame = frame.drop(columns=["tags", "source"])
    folds = GroupKFold(ROUNDS, shuffle=True, random_state=0).split(frame, groups=source)
    for train, test in list(folds)[: scale.rounds(ROUNDS)]:
        yield frame, Y, source, train, test


def measured(
    model: Callable[..., Scores], frame: Any, Y: Any, groups: Any, train: Any, test: Any
) -> list[float]:
    """AP, micro- and macro-F1 on the test rows, and seconds."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = None if groups is None else groups[train]
        scores, sets = model(frame.iloc[train], Y[train], frame.iloc[test], own)
    seconds = time.perf_counter() - started
    macro = f1_score(Y[test], sets, average="macro", zero_division=0)
    return [average_precision(Y[test], scores), f1_score(Y[test], sets, average="micro"), macro, seconds]


def shown(values: np.ndarray) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{values.mean():.4f} ± {error:.4f}"


def run(scale: Scale) -> Part:
    columns = "data", "model", "average precision", "micro-F1", "macro-F1", "seconds to fit and predict"
    intro = (
        f"Mean and standard error over {ROUNDS} splits. Below: Tagger less the best other model, paired,\n"
        f"and its standard error. {PACKAGES:,} packages of whole sources are drawn."
    )
    part = Part("Tags of raw tables", columns, intro)
    for title, splits in (("films", films), ("packages", packages)):
        found: dict[str, list[list[float]]] = {name: [] for name in MODELS}
        for frame, Y, groups, train, test in splits(scale):
            for name, model in MODELS.items():
                found[name].append(measured(model, frame, Y, groups, train, test))
        figures = {name: np.array(values) for name, values in found.items()}
        for name, values in figures.items():
            part.row(title, name, *(shown(values[:, k]) for k in range(3)), f"{values[:, 3].mean():.1f}")
        for k, criterion in enumerate(columns[2:5]):
            others = {name: values[:, k].mean() for name, values in figures.items() if name != "Tagger"}
            best = max(others, key=lambda name: others[name])
            gain = figures["Tagger"][:, k] - figures[best][:, k]
            part.notes.append(f"{title}, {criterion}: Tagger less {best} {shown(gain)}")
    return part
