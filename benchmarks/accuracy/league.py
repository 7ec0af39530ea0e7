"""The benchmark of methods: every method on every data set, the same folds, all choices on the training rows.

Finished folds are stored in docs/results/league.jsonl, a line each, and are not run again for the same data,
parameters, seed and package versions: remove the file after a change of the code. A run can be stopped at
any time and continues with the next one; SIMLABEL_BENCHMARK_HOURS limits its time.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from _shared.report import Part
from _shared.timing import Scale
from league.data import available
from league.methods import ABLATION, METHODS
from league.page import page
from league.runner import TIME_LIMIT
from league.runner import run as run_methods
from rich.progress import Progress

FILE = Path(__file__).resolve().parents[2] / "docs" / "results" / "league.jsonl"
#: too large for the time limit of the methods; extreme.py runs it without
EXCLUDED = ("debdeps_bookworm",)
SMALL = ("autosml", "sml", "prior", "lr")
SETTLED = (
    "How AutoSML makes log-odds of its scores, and when it weighs columns by relevance, was chosen on "
    "emotions, flags, parts of goemotions, bibtex and delicious, and synthetic sets of the same processes "
    "with other seeds: results on these may be slightly optimistic. yeast, scene, image, tv and debtags "
    "were not used for it. That texts are left out with the words that only they have was found on tv and "
    "tried on rows of debtags that are not part of the benchmark. synthetic_linear and synthetic_stepwise "
    "were not used."
)


def run(scale: Scale) -> Part:
    names = ["synthetic_drifting"] if scale.small else [name for name in available() if name not in EXCLUDED]
    sets = [available()[name]() for name in names]
    methods = {name: METHODS[name] for name in SMALL} if scale.small else METHODS
    file = Path(tempfile.mkdtemp(prefix="bench")) / "folds.jsonl" if scale.small else FILE
    ends = time.monotonic() + 3600 * float(os.environ.get("SIMLABEL_BENCHMARK_HOURS", "inf"))
    found = []
    for some in (methods, {} if scale.small else ABLATION):
        with Progress() as bar:
            task = bar.add_task("benchmark")

            def show(done: int, total: int, what: str, bar: Progress = bar, task: object = task) -> None:
                bar.update(task, completed=done, total=max(1, total), description=what)

            left = max(0.0, ends - time.monotonic())
            found.append(run_methods(sets, some, file=file, jobs=2, seconds=left, on_progress=show))
    part = page(*found, __doc__.partition("\n\n")[0], TIME_LIMIT)
    part.notes.append(SETTLED)
    return part
