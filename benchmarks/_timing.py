"""Timing by alternation: every contestant in turn, again and again, and the median of each."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from statistics import median

import joblib

_REST = 0.05  # seconds: threads that BLAS keeps spinning after a product must not slow the next contestant


def alternate(contestants: dict[str, Callable[[], object]], rounds: int = 9) -> dict[str, float]:
    """Median seconds of each contestant; all run in every round, so that a noisy moment hits all."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run in contestants.values():
        run()  # compile, and warm the caches
    for _ in range(rounds):
        for name, run in contestants.items():
            time.sleep(_REST)
            started = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - started)
    return {name: median(values) for name, values in times.items()}


def machine() -> str:
    """What the figures were taken on."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{name}, {joblib.cpu_count()} cores, Python {platform.python_version()}"
