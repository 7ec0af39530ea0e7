"""Teaching a batch of rows at a million references, and forgetting ten, compared with copying the batch.

1,000,000 references x 103 features in float32, 14 labels as a 0/1 array, from one fit or taught in batches;
then 60 batches of 1,000 rows, one after the other into the same model, so that merges of small chunks are
included. The copies are timed between the batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _shared.data import FEATURES, problem, unit_rows
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import SMLClassifier
from simlabel.similarities import RBF

REFERENCES, BATCH, BATCHES = 1_000_000, 1_000, 60


def fitted(X: Any, Y: Any, ids: list[str] | None) -> SMLClassifier:
    model = SMLClassifier(RBF(0.01)).fit(X, Y, ids=ids)
    return model.partial_fit(X[:1], Y[:1]).forget(model.ids_[5:6])  # a cost of the first batch only


def taught(X: Any, Y: Any, ids: list[str] | None) -> SMLClassifier:
    model = SMLClassifier(RBF(0.01))
    for start in range(0, len(X), BATCH):
        some = slice(start, start + BATCH)
        model.partial_fit(X[some], Y[some], ids=None if ids is None else ids[some])
    return model


def row(part: Part, what: str, calls: list[Callable[[], object]], batches: list[Any]) -> None:
    pairs = [(seconds(batch.copy), seconds(call)) for call, batch in zip(calls, batches, strict=True)]
    copies, taken = np.array(pairs).T
    unit, middle, worst = np.median(copies), np.median(taken), taken.max()
    ratios = [f"{middle / unit:.0f}", f"{worst / unit:.0f}"]
    part.row(what, f"{unit * 1e6:.0f}", f"{middle * 1e3:.2f}", f"{worst * 1e3:.2f}", *ratios)


def run(scale: Scale) -> Part:
    X, labels, _ = problem(scale, REFERENCES)
    Y, batches = labels.toarray(), range(scale.rounds(BATCHES))
    new, its = [unit_rows(BATCH, FEATURES, 3 + i) for i in batches], Y[:BATCH]
    columns = ["what", "a copy, us", "median ms", "worst ms", "median in copies", "worst in copies"]
    part = Part("Teaching 1,000 rows at a million references", columns)
    own = [f"known {i}" for i in range(len(X))]
    for how, make in (("fitted", fitted), ("taught", taught)):
        for which, ids in (("", None), (", own ids", own)):
            model = make(X, Y, ids)
            names = [ids and [f"taught {i} {j}" for j in range(BATCH)] for i in batches]
            calls = [partial(model.partial_fit, new[i], its, ids=names[i]) for i in batches]
            row(part, f"partial_fit, references {how}{which}", calls, new)
    model = fitted(X, Y, None)
    calls = [partial(model.forget, list(range(10 * i + 10, 10 * i + 20))) for i in batches]
    row(part, "forget 10, references fitted", calls, new)
    part.notes = ["A copy is one of the 1,000 rows of a batch; the target is at most 100 copies for a batch."]
    return part
