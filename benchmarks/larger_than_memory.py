"""Fit and predict with references on a disk: memory of its own at the peak.

10,000,000 x 103 float32 references in a mapped file (4 GB), 14 labels of which a row has four, bandwidth
given, 1,000 queries. Memory of its own is RssAnon: pages of mapped files, which the system takes back
when it needs them, are not counted. Argument: number of references in millions.
"""

from __future__ import annotations

import re
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from _report import publish

from simlabel import SMLClassifier
from simlabel.similarities import RBF

FEATURES, LABELS, QUERIES, BLOCK = 103, 14, 1_000, 250_000
LIMIT_MIB = 2048


class Peak:
    """The largest RssAnon while it watches, looked at every 10 ms."""

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


def main() -> None:
    n = int(float(sys.argv[1] if len(sys.argv) > 1 else "10") * 1e6)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, n)
        X, Y = (np.load(folder / f"{each}.npy", mmap_mode="r") for each in "XY")
        Q = np.random.default_rng(1).standard_normal((QUERIES, FEATURES), dtype=np.float32)
        rows = []
        model = SMLClassifier(RBF(7.0))
        for what, run in (("fit", lambda: model.fit(X, Y)), ("predict", lambda: model.predict(Q))):
            with Peak() as peak:
                run()
            rows.append([what, f"{peak.mib:,.0f}", f"{LIMIT_MIB:,}"])
        size = X.nbytes / 2**20
    publish(
        "larger_than_memory",
        f"References on a disk: {n:,} x {FEATURES} float32 ({size:,.0f} MiB), {QUERIES:,} queries",
        ["what", "own memory at the peak, MiB", "bound, MiB"],
        rows,
        ["Own memory is RssAnon; pages of mapped files are not counted."],
    )


if __name__ == "__main__":
    main()
