"""Memory of fit and predict with references on a disk, compared with their size.

10,000,000 x 103 float32 references in a mapped file (4 GB), 14 labels of which a row has four, bandwidth
given, 1,000 queries. Memory is RssAnon: pages of mapped files, which the system can reclaim, are
not counted.
"""

from __future__ import annotations

import re
import tempfile
import threading
from pathlib import Path

import numpy as np
from _shared.report import Part
from _shared.timing import Scale

from simlabel import SMLClassifier
from simlabel.similarities import RBF

REFERENCES, FEATURES, LABELS, QUERIES, BLOCK = 10_000_000, 103, 14, 1_000, 250_000


class Peak:
    """The largest RssAnon of a period, sampled every 10 ms."""

    def __init__(self) -> None:
        self.mib, self._stop = 0.0, threading.Event()

    def __enter__(self) -> Peak:
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            status = Path("/proc/self/status").read_text()
            found = re.search(r"RssAnon:\s+(\d+) kB", status)
            self.mib = max(self.mib, int(found[1]) / 1024 if found else 0.0)
            if self._stop.wait(0.01):
                return


def write(folder: Path, n: int) -> None:
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (n, FEATURES))
    Y = np.lib.format.open_memmap(folder / "Y.npy", "w+", np.int8, (n, LABELS))
    rng = np.random.default_rng(0)
    for first in range(0, n, BLOCK):
        rows = min(BLOCK, n - first)
        X[first : first + rows] = rng.standard_normal((rows, FEATURES), dtype=np.float32)
        Y[first : first + rows] = rng.random((rows, LABELS), dtype=np.float32) < 0.3
    X.flush()
    Y.flush()


def run(scale: Scale) -> Part:
    n = scale.rows(REFERENCES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        X, Y = (np.load(folder / f"{each}.npy", mmap_mode="r") for each in "XY")
        Q = np.random.default_rng(1).standard_normal((QUERIES, FEATURES), dtype=np.float32)
        size, model = X.nbytes / 2**20, SMLClassifier(RBF(7.0))
        peaks = {}
        for what, work in (("fit", lambda: model.fit(X, Y)), ("predict", lambda: model.predict(Q))):
            with Peak() as peak:
                work()
            peaks[what] = peak.mib
    title = f"References on a disk: {n:,} x {FEATURES} float32 ({size:,.0f} MiB), {QUERIES:,} queries"
    part = Part(title, ["what", "peak memory, MiB"])
    for what, mib in peaks.items():
        part.row(what, f"{mib:,.0f}")
    part.notes = ["Memory is RssAnon; pages of mapped files are not counted."]
    most = f"{max(peaks.values()):,.0f} MiB"
    part.result("references on a disk", most, f"{size:,.0f} MiB of them", "2,048 MiB")
    return part
