"""A whole Tagger on 29,824 Debian packages: seconds and memory to fit, rows predicted a second."""

from __future__ import annotations

import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from _shared.report import Part
from _shared.timing import Scale, seconds
from accuracy.tagger import table

from simlabel import Tagger

ASKED = 5000  # rows that are predicted


def packages(scale: Scale) -> tuple[Any, Any, Any]:
    """The table, its tags, and the source of each package: packages of one source are near copies."""
    frame = table("debtags", scale)
    tags, source = frame.pop("tags"), frame.pop("source")
    return frame, tags, source.where(source != "", frame["package"])


def measured(scale: Scale) -> tuple[float, float, float, float, int]:
    """Seconds, processor seconds, MiB of the whole process at the peak, rows told a second, and tags."""
    frame, tags, source = packages(scale)
    models: list[Tagger] = []
    worked = time.process_time()
    took = seconds(lambda: models.append(Tagger().fit(frame, tags, groups=source)))
    worked = time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rate = len(frame[:ASKED]) / seconds(lambda: models[0].predict(frame[:ASKED]))
    return took, worked, peak, rate, len(models[0].classes_)


def run(scale: Scale) -> Part:
    frame, _, _ = packages(scale)
    with ProcessPoolExecutor(1, get_context("spawn")) as fresh:  # whose peak is its own
        took, worked, peak, rate, n_tags = fresh.submit(measured, scale).result()
    columns = ("seconds to fit", "processor seconds", "peak MiB", "rows predicted a second")
    part = Part("A whole Tagger", columns, f"{len(frame):,} Debian packages, {n_tags} tags.")
    part.row(f"{took:.0f}", f"{worked:.0f}", f"{peak:.0f}", f"{rate:,.0f}")
    part.figure("a whole Tagger on 29,824 rows", f"{took:.0f} s", "", "at most 300 s, two cores")
    part.figure("its memory", f"{peak / 1024:.1f} GiB", "", "at most 4 GiB")
    part.figure("rows predicted", f"{rate:,.0f} a second", "", "at least 1,000")
    return part
