"""AutoSMLClassifier beside itself in another version, on the same folds: what a change of the search costs.

SIMLABEL_BEFORE names the folder `src` of the other version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np
from _shared.data import Missing, dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.model_selection import KFold

SETS = "flags", "emotions", "image", "yeast", "scene"
CRITERIA = "average_precision", "ranking_loss", "f1_micro"

_FIT = """
import json, sys, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from simlabel import AutoSMLClassifier
from simlabel.metrics import average_precision, f1_micro, ranking_loss
for line in sys.stdin:
    part = np.load(json.loads(line))
    started = time.process_time()
    model = AutoSMLClassifier(random_state=0).fit(part["X"], part["Y"])
    seconds = time.process_time() - started
    out, truth = model.outputs(part["Q"]), part["T"]
    figures = [one(truth, out.weights) for one in (average_precision, ranking_loss)]
    print(json.dumps([*figures, f1_micro(truth, out.sets), seconds]), flush=True)
"""


def run(scale: Scale) -> Part:
    before = os.environ.get("SIMLABEL_BEFORE")
    if not before and not scale.small:
        raise Missing("SIMLABEL_BEFORE names the folder src of the version that it is compared with.")
    intro = "5 folds, seed 1: mean difference (paired standard error), and CPU seconds of a fit."
    shown = "set", *CRITERIA, "seconds before", "seconds"
    part = Part("AutoSMLClassifier before and now", shown, intro)
    fits = [_Fit(before), _Fit(None)]
    for name in SETS[:1] if scale.small else SETS:
        X, Y = dense(shared(name, scale))
        rows = []
        for train, test in KFold(5, shuffle=True, random_state=1).split(X):
            fold = {"X": X[train], "Y": Y[train], "Q": X[test], "T": Y[test]}
            rows.append([fit(fold) for fit in fits])
            print(name, rows[-1], flush=True)
        was, now = np.array(rows).transpose(1, 0, 2)
        gain = now - was
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{m:+.4f} ({e:.4f})" for m, e in zip(gain.mean(axis=0), error, strict=True)]
        part.row(name, *cells[:3], f"{was[:, 3].mean():.1f}", f"{now[:, 3].mean():.1f}")
    return part


class _Fit:
    """A process of its own with one of the versions."""

    def __init__(self, path: str | None) -> None:
        env = os.environ if path is None else os.environ | {"PYTHONPATH": path}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", _FIT], stdin=pipe, stdout=pipe, text=True, env=env
        )

    def __call__(self, fold: dict[str, Any]) -> list[float]:
        with tempfile.NamedTemporaryFile(suffix=".npz") as file:
            np.savez(file, **fold)
            file.flush()
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            print(json.dumps(file.name), file=self.process.stdin, flush=True)
            return list(json.loads(self.process.stdout.readline()))
