"""The first fit in a new environment, before anything is compiled; the time of the import and of --help.

Each runs in a new process, with an empty folder for compiled code.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from statistics import median

from _shared.report import Part
from _shared.timing import Scale

_START = "import time; wall, cpu = time.perf_counter(), time.process_time()\n"
_END = "\nprint('took', time.perf_counter() - wall, time.process_time() - cpu)"
_FOUR = """
from simlabel import SMLClassifier
X = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.8]]
SMLClassifier(random_state=0).fit(X, [{"sea", "sunset"}, {"sea"}, {"trees"}, {"trees"}]).predict(X[:1])
"""
_MANY = """
import numpy as np
from simlabel import SMLClassifier
X = np.random.default_rng(0).random((500, 20))
SMLClassifier(random_state=0).fit(X, (X[:, :5] > 0.5).astype(int)).predict(X)
"""
_TABLE = """
from simlabel import Tagger
rows = [{"title": f"word{i % 7} thing{i % 5}"} for i in range(60)]
Tagger(random_state=0).fit(rows, [{"a"} if i % 7 else {"b"} for i in range(60)]).predict(rows[:2])
"""
_HELP = """
import sys
from simlabel.cli import main
sys.argv = ["simlabel", "--help"]
try:
    main()
except SystemExit:
    pass
"""
RUNS = {
    "import simlabel": ("import simlabel", True),
    "simlabel --help": (_HELP, True),
    "fit and predict four rows, compiled before": (_FOUR, True),
    "fit and predict four rows": (_FOUR, False),
    "fit and predict 500 rows": (_MANY, False),
    "Tagger on 60 rows": (_TABLE, False),
}


def timed(code: str, compiled: str | None) -> tuple[float, float]:
    """Return wall and CPU seconds of a new process, with compiled code in a folder or in an empty one."""
    with tempfile.TemporaryDirectory() as empty:
        env = os.environ | {"NUMBA_CACHE_DIR": compiled or empty}
        done = subprocess.run(
            [sys.executable, "-c", _START + code + _END], capture_output=True, text=True, check=True, env=env
        )
    wall, cpu = done.stdout.split("took")[-1].split()
    return float(wall), float(cpu)


def medians(code: str, compiled: str | None, rounds: int) -> Sequence[float]:
    found = [timed(code, compiled) for _ in range(rounds)]
    return [median([each[n] for each in found]) for n in range(2)]


def run(scale: Scale) -> Part:
    part = Part("A new environment", ["what", "s", "CPU s"])
    with tempfile.TemporaryDirectory() as folder:
        timed(_FOUR, folder)
        for name, (code, kept) in RUNS.items():
            wall, cpu = medians(code, folder if kept else None, scale.rounds(3))
            part.row(name, f"{wall:.2f}", f"{cpu:.2f}")
            if name == "fit and predict four rows":
                what = "the first fit of four rows, with imports and compilation"
                part.result(what, f"{wall:.1f} s", "", "3 s")
    return part
