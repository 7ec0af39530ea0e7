"""Tagger on raw tables beside linear models, neighbors and a forest: AP, micro- and macro-F1, seconds.

Films (tv.csv: genres from title, director, cast and synopsis) in five random 70/30 splits, and Debian
packages (debtags.csv: tags from name, summary, section, size, homepage and dependencies) in five folds of
whole sources, since packages of one source are near copies: all models on a part of the sources, and those
that take minutes rather than hours on all of them. Linear models and neighbors get the words and pairs of
words of all cells together, weighted by how rare they are; the forest gets skrub's TableVectorizer. Labels
that no training row has rank last for all models. Needs raw/ in the folder SIMLABEL_DATA. Every fit that has
ended is kept in docs/results/folds, so that a run that was stopped goes on.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
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
from simlabel.metrics import average_precision, rank_constant_labels

Fitted = Callable[[pd.DataFrame], tuple[Any, Any]]  # test rows -> scores and sets, (n, n_labels)
Learner = Callable[[pd.DataFrame, Any, Any], Fitted]  # training rows, their labels, their groups
CRITERIA = "average precision", "micro-F1", "macro-F1"
ROUNDS = 5
SOME = 3000  # packages of whole sources: with all 29,824 logistic regression takes hours
_KEPT = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds" / "tagger.jsonl"


def table(name: str, scale: Scale) -> pd.DataFrame:
    path = Path(os.environ.get("SIMLABEL_DATA", "")) / "raw" / f"{name}.csv"
    if not path.exists():
        raise Missing("it needs raw/ in the folder that SIMLABEL_DATA names.")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return frame.iloc[: scale.rows(len(frame))]


def texts(frame: pd.DataFrame) -> pd.Series:
    """All cells of a row as one text."""
    return frame.apply(" ".join, axis=1)


def on_words(model: Any) -> Learner:
    def fit(train: pd.DataFrame, Y: Any, groups: Any) -> Fitted:
        words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
        pipeline = make_pipeline(words, OneVsRestClassifier(model)).fit(texts(train), Y)
        return lambda test: (pipeline.decision_function(texts(test)), pipeline.predict(texts(test)))

    return fit


def neighbors(train: pd.DataFrame, Y: Any, groups: Any) -> Fitted:
    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    model = KNeighborsClassifier(10, metric="cosine", weights="distance")
    model.fit(words.fit_transform(texts(train)), Y)
    return lambda test: _halved(model.predict_proba(words.transform(texts(test))), model.classes_)


def forest(train: pd.DataFrame, Y: Any, groups: Any) -> Fitted:
    from skrub import TableVectorizer

    trees = RandomForestClassifier(100, n_jobs=2, random_state=0)
    model = make_pipeline(TableVectorizer(), trees).fit(train, Y)
    return lambda test: _halved(model.predict_proba(test), trees.classes_)


def _halved(found: Sequence[Any], classes: Sequence[Any]) -> tuple[Any, Any]:
    """A label's probabilities in a column each; a set is what is beyond one half."""
    pairs = zip(found, classes, strict=True)
    scores = [p[:, 1] if p.shape[1] == 2 else np.full(len(p), float(own[0])) for p, own in pairs]
    return np.column_stack(scores), (np.column_stack(scores) > 0.5).astype(int)


def tagger(train: pd.DataFrame, Y: Any, groups: Any) -> Fitted:
    model = Tagger().fit(train, Y, groups=groups)

    def ask(test: pd.DataFrame) -> tuple[Any, Any]:
        outputs = model.outputs(test)
        return outputs.weights, outputs.sets.toarray()

    return ask


MODELS: dict[str, Learner] = {
    "Tagger": tagger,
    "LinearSVC": on_words(LinearSVC()),
    "LogisticRegression": on_words(LogisticRegression(max_iter=1000)),
    "LogisticRegression, C=10, balanced": on_words(
        LogisticRegression(C=10, class_weight="balanced", max_iter=1000)
    ),
    "KNeighbors, cosine": neighbors,
    "TableVectorizer + RandomForest": forest,
}
QUICK = ("Tagger", "LinearSVC", "KNeighbors, cosine")  # on all packages


def films(scale: Scale) -> Iterator[tuple[Any, ...]]:
    frame = table("tv", scale)
    Y = MultiLabelBinarizer().fit_transform(frame.pop("genres").str.split(", "))
    frame = frame.drop(columns="id")
    for seed in range(scale.rounds(ROUNDS)):
        order, n = np.random.default_rng(seed).permutation(len(frame)), round(0.7 * len(frame))
        yield frame, Y, None, order[:n], order[n:]


def packages(scale: Scale, most: int | None = None) -> Iterator[tuple[Any, ...]]:
    frame = table("debtags", scale)
    source = frame["source"].where(frame["source"] != "", frame["package"])
    order = np.random.default_rng(0).permutation(source.unique())
    before = source.value_counts().loc[order].cumsum()
    frame = frame[source.isin(before.index[before <= (most or len(frame))])]
    groups = source[frame.index].to_numpy()
    Y = MultiLabelBinarizer().fit_transform(frame["tags"].str.split(";"))
    frame = frame.drop(columns=["tags", "source"])
    folds = GroupKFold(ROUNDS, shuffle=True, random_state=0).split(frame, groups=groups)
    for train, test in list(folds)[: scale.rounds(ROUNDS)]:
        yield frame, Y, groups, train, test


PARTS: dict[str, tuple[Callable[[Scale], Iterator[tuple[Any, ...]]], Sequence[str]]] = {
    "films": (films, tuple(MODELS)),
    f"{SOME:,} packages": (lambda scale: packages(scale, SOME), tuple(MODELS)),
    "all packages": (packages, QUICK),
}


def measured(learn: Learner, frame: Any, Y: Any, groups: Any, train: Any, test: Any) -> list[float]:
    """AP, micro- and macro-F1 on the test rows; seconds and processor seconds to fit; rows told a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started, worked = time.perf_counter(), time.process_time()
        fitted = learn(frame.iloc[train], Y[train], None if groups is None else groups[train])
        seconds, work = time.perf_counter() - started, time.process_time() - worked
        started = time.perf_counter()
        scores, sets = fitted(frame.iloc[test])
        told = len(test) / (time.perf_counter() - started)
    scores = rank_constant_labels(scores, ~Y[train].any(axis=0), Y[train].all(axis=0))
    macro = f1_score(Y[test], sets, average="macro", zero_division=0)
    micro = f1_score(Y[test], sets, average="micro")
    return [float(each) for each in (average_precision(Y[test], scores), micro, macro, seconds, work, told)]


def figures(title: str, scale: Scale, rounds: int) -> dict[str, np.ndarray]:
    """What was measured of each model, (n_rounds, 6); what is known of an earlier run is not run again."""
    splits, names = PARTS[title]
    kept: dict[tuple[str, str, int], list[float]] = {}
    if not scale.small and _KEPT.exists():
        kept = {tuple(json.loads(line)[0]): json.loads(line)[1] for line in _KEPT.read_text().splitlines()}
    rounds = scale.rounds(rounds)
    missing = {k for k in range(rounds) for name in names if (title, name, k) not in kept}
    for k, split in enumerate(splits(scale)) if missing else ():
        for name in names if k in missing else ():
            if (title, name, k) in kept:
                continue
            kept[title, name, k] = measured(MODELS[name], *split)
            print(title, name, k, np.round(kept[title, name, k], 4), flush=True)
            if not scale.small:
                _KEPT.parent.mkdir(parents=True, exist_ok=True)
                with _KEPT.open("a") as file:
                    file.write(json.dumps([[title, name, k], kept[title, name, k]]) + "\n")
    return {name: np.array([kept[title, name, k] for k in range(rounds)]) for name in names}


def shown(values: np.ndarray) -> str:
    if len(values) == 1:
        return f"{values[0]:.4f}"
    return f"{values.mean():.4f} ± {values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def run(scale: Scale) -> Part:
    columns = "model", *CRITERIA, "seconds to fit", "processor seconds", "rows predicted a second"
    intro = (
        "Mean and standard error over the splits, the same for all models; films at random, packages by\n"
        "whole sources. In the lower rows: Tagger less each other model, paired by split.\n"
        "\n"
        "**These tables have known errors and are being rerun.** Tagger's label sets are tuned, those of\n"
        "the others are cut at 0.5 (or at 0 of a margin): with a tuned threshold LinearSVC has a micro-F1\n"
        "of 0.691 on films too. Labels that no training row has were ranked by each model's own convention,\n"
        "which lowers the average precision of the linear models on packages by about 0.1."
    )
    part = Part("Tags of raw tables", columns, intro)
    for title, (_, names) in PARTS.items():
        found = figures(title, scale, ROUNDS)
        rounds = len(found["Tagger"])
        part.section(f"{title[0].upper()}{title[1:]}, {rounds} split{'s' * (rounds > 1)}")
        for name, values in found.items():
            rest = (f"{values[:, k].mean():,.0f}" for k in (3, 4, 5))
            part.row(name, *(shown(values[:, k]) for k in range(3)), *rest)
        for name in names[1:]:
            gains = (shown(found["Tagger"][:, k] - found[name][:, k]) for k in range(3))
            part.row(f"Tagger less {name}", *gains, "", "", "")
    load = f"Load of the machine at the end: {os.getloadavg()[0]:.0f}."
    part.notes.append(f"{load} Beyond its cores, seconds are indicative only.")
    return part
