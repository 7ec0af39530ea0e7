"""Timing: alternating runs and their medians, processor time, and peak memory."""

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

# seconds: BLAS keeps its threads spinning for up to 2^28 cycles, which must not slow the next run
_REST = 0.15


@dataclass(frozen=True)
class Scale:
    """The size of a run: full, or small, which only shows that everything works."""

    small: bool = False

    def rows(self, n: int) -> int:
        """Return the number of rows, or a small share of it."""
        return max(64, n // 32) if self.small else n

    def rounds(self, n: int) -> int:
        """Return the number of rounds, or one."""
        return 1 if self.small else n


def seconds(work: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    return wall_and_cpu(work)[0]


def wall_and_cpu(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds of a call on the clock, and of the processor in all threads."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def alternate(runs: Mapping[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Return the median seconds of the first run, and those of the others by their median ratio to the first.

    All runs alternate, and each is compared with the first of its own round: noise affects both.
    """
    times: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()  # compile, and warm the caches
    for _ in range(rounds):
        for name, run in runs.items():
            time.sleep(_REST)
            times[name].append(seconds(run))
    first = next(iter(times.values()))
    ratios = {name: median(t / f for t, f in zip(each, first, strict=True)) for name, each in times.items()}
    return {name: median(first) * ratio for name, ratio in ratios.items()}


_PEAK = """
import sys; sys.path.insert(0, {here!r})
def _kib(what):
    with open("/proc/self/status") as f:
        return int(next(line.split()[1] for line in f if line.startswith(what)))
{setup}
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")  # reset the high-water mark
_before = _kib("VmRSS:")
{work}
print("peak", max(0, _kib("VmHWM:") - _before) / 1024)
"""


def peak_mib(setup: str, work: str) -> float:
    """Return the peak memory of `work` in MiB, relative to that after `setup`, in a new process.

    Both are Python code, which can import the benchmarks.
    """
    code = _PEAK.format(here=str(_BENCHMARKS), setup=setup, work=work)
    # return free memory to the system at once, so that earlier allocations do not hide a peak
    env = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    return float(done.stdout.split("peak")[-1])


def machine() -> str:
    """Describe the machine."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {joblib.cpu_count()} cores, Python {platform.python_version()}"
