"""A whole Tagger on 29,824 Debian packages: seconds and memory of fit, and predicted rows a second."""

from __future__ import annotations

import resource
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from _shared.data import raw_table, sources
from _shared.report import Part
from _shared.timing import Scale, seconds, wall_and_cpu

from simlabel import Tagger

PREDICTED = 5000  # rows


def measured(scale: Scale) -> tuple[int, int, float, float, float, float]:
    """Return rows, tags, wall and processor seconds, peak MiB of the process, and predicted rows a second."""
    frame = raw_table("debtags", scale)
    groups = sources(frame)
    X, model = frame.drop(columns=["tags", "source"]), Tagger()
    wall, cpu = wall_and_cpu(lambda: model.fit(X, frame["tags"], groups=groups))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = len(X[:PREDICTED]) / seconds(lambda: model.predict(X[:PREDICTED]))
    return len(X), len(model.classes_), wall, cpu, peak, rate


def run(scale: Scale) -> Part:
    with ProcessPoolExecutor(1, get_context("spawn")) as process:  # a new one, with a peak of its own
        n_rows, n_tags, wall, cpu, peak, rate = process.submit(measured, scale).result()
    columns = ("seconds of fit", "processor seconds", "peak MiB", "predicted rows a second")
    part = Part("A whole Tagger", columns, f"{n_rows:,} Debian packages, {n_tags} tags.")
    part.row(f"{wall:.0f}", f"{cpu:.0f}", f"{peak:.0f}", f"{rate:,.0f}")
    part.result(f"a whole Tagger on {n_rows:,} rows", f"{wall:.0f} s", "", "at most 300 s, two cores")
    part.result("its memory", f"{peak / 1024:.1f} GiB", "", "at most 4 GiB")
    part.result("predicted rows", f"{rate:,.0f} a second", "", "at least 1,000")
    return part
