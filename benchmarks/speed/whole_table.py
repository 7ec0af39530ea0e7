"""A whole Tagger on 29,824 Debian packages: seconds and memory to fit, rows predicted a second."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from _shared.report import Part
from _shared.timing import Scale, peak_mib, seconds
from accuracy.tagger import table

from simlabel import Tagger

ASKED = 5000  # rows that are predicted


def packages(scale: Scale) -> tuple[Any, Any, Any]:
    """The table, its tags, and the source of each package: packages of one source are near copies."""
    frame = table("debtags", scale)
    tags, source = frame.pop("tags"), frame.pop("source")
    return frame, tags, source.where(source != "", frame["package"])


def measure(scale: Scale, path: str) -> None:
    """Fit, and write seconds, processor seconds, rows predicted a second and the number of tags."""
    frame, tags, source = packages(scale)
    models: list[Tagger] = []
    worked = time.process_time()
    took = seconds(lambda: models.append(Tagger().fit(frame, tags, groups=source)))
    worked = time.process_time() - worked
    rate = len(frame[:ASKED]) / seconds(lambda: models[0].predict(frame[:ASKED]))
    Path(path).write_text(json.dumps([took, worked, rate, len(models[0].classes_)]))


def run(scale: Scale) -> Part:
    frame, _, _ = packages(scale)
    setup = "from _shared.timing import Scale\nfrom speed.whole_table import measure"
    with tempfile.NamedTemporaryFile() as file:  # all in one process: a fit takes minutes
        peak = peak_mib(setup, f"measure(Scale({scale.small}), {file.name!r})")
        took, worked, rate, n_tags = json.loads(Path(file.name).read_text())
    columns = ("seconds to fit", "processor seconds", "peak MiB", "rows predicted a second")
    part = Part("A whole Tagger", columns, f"{len(frame):,} Debian packages, {n_tags} tags.")
    part.row(f"{took:.0f}", f"{worked:.0f}", f"{peak:.0f}", f"{rate:,.0f}")
    part.figure("a whole Tagger on 29,824 rows", f"{took:.0f} s", "", "at most 300 s, two cores")
    part.figure("its memory", f"{peak / 1024:.1f} GiB", "", "at most 4 GiB")
    part.figure("rows predicted", f"{rate:,.0f} a second", "", "at least 1,000")
    return part
