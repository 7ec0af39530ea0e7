"""Opening a model of 1,000,000 x 103 float32 instances, mapped and whole, beside reading its bytes."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

from _shared.data import FEATURES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel import SMLClassifier, load
from simlabel.similarities import RBF


def run(scale: Scale) -> Part:
    X, Y, _ = problem(scale, 1_000_000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        SMLClassifier(RBF(0.01)).fit(X, Y).save(path)
        runs = {
            "reading the bytes": path.read_bytes,
            "load(path)": partial(load, path),
            "load(path, mmap=True)": partial(load, path, mmap=True),
        }
        seconds, size = alternate(runs, scale.rounds(5)), path.stat().st_size
    title = f"Opening a model of {len(X):,} x {FEATURES} instances, a file of {size / 2**20:.0f} MiB"
    part = Part(title, ["what", "ms", "/ reading the bytes"])
    part.times(seconds, per=1000, digits=".1f")
    return part
