"""How long it takes to open a model of 1,000,000 x 103 float32 instances, mapped and whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from _timing import alternate, machine
from rich.console import Console
from rich.table import Table

from simlabel import SMLClassifier, load
from simlabel.similarities import RBF


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_000_000, 103), dtype=np.float32)
    Y = (rng.random((1_000_000, 14)) < 0.3).astype(np.int8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        SMLClassifier(RBF(0.01)).fit(X, Y).save(path)
        seconds = alternate(
            {
                "load(path, mmap=True)": lambda: load(path, mmap=True),
                "load(path)": lambda: load(path),
                "reading the bytes": path.read_bytes,
            },
            rounds=5,
        )
        size = path.stat().st_size
    table = Table("what", "ms")
    for name, value in seconds.items():
        table.add_row(name, f"{value * 1e3:.1f}")
    Console(width=100).print(machine(), f"a file of {size / 2**20:.0f} MiB", table)


if __name__ == "__main__":
    main()
