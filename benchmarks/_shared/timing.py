"""Timing by alternation: every contestant in turn, again and again, and the median of each."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import joblib

_BENCHMARKS = Path(__file__).resolve().parents[1]

# seconds: BLAS keeps its threads spinning for up to 2^28 cycles, which must not slow the next contestant
_REST = 0.15


@dataclass(frozen=True)
class Scale:
    """How large a run is: whole, or small, which only shows that everything works."""

    small: bool = False

    def rows(self, n: int) -> int:
        """So many rows, or a few of them."""
        return max(64, n // 32) if self.small else n

    def rounds(self, n: int) -> int:
        """So many rounds, or one."""
        return 1 if self.small else n


def seconds(work: Callable[[], object]) -> float:
    """How long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def alternate(contestants: Mapping[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Median seconds of the first contestant, and those of each other as a median share of the first's.

    All run in every round, and each is compared with the first of its own round: a noisy moment hits both.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()  # compile, and warm the caches
    for _ in range(rounds):
        for name, run in contestants.items():
            time.sleep(_REST)
            times[name].append(seconds(run))
    first = next(iter(times.values()))
    shares = {name: median(t / f for t, f in zip(each, first, strict=True)) for name, each in times.items()}
    return {name: median(first) * share for name, share in shares.items()}


_PEAK = """
import sys; sys.path.insert(0, {here!r})
def _kib(what):
    with open("/proc/self/status") as f:
        return int(next(line.split()[1] for line in f if line.startswith(what)))
{setup}
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # the high-water mark starts anew
_before = _kib("VmRSS:")
{work}
print("peak", max(0, _kib("VmHWM:") - _before) / 1024)
"""


def peak_mib(setup: str, work: str) -> float:
    """Memory in MiB that `work` takes at its peak beyond what there is after `setup`, in a fresh process.

    Both are Python text, and import the benchmarks as they do one another.
    """
    code = _PEAK.format(here=str(_BENCHMARKS), setup=setup, work=work)
    # memory that is free goes back to the system at once: what was taken before must not hide a peak
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return float(done.stdout.split("peak")[-1])


def machine() -> str:
    """What the figures were taken on."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {joblib.cpu_count()} cores, Python {platform.python_version()}"
