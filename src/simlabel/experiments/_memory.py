"""How much memory this process has, and had at its peak, where the system tells."""

from __future__ import annotations

from pathlib import Path

_STATUS, _MARK = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def resident_mib(*, start_anew: bool = False) -> float | None:
    """Memory in MiB that the process has; `start_anew` lets the mark of the peak start from there."""
    try:
        if start_anew:
            _MARK.write_text("5")
        return _told("VmRSS:")
    except OSError:  # another system, or one that forbids it
        return None


def peak_mib(before: float | None) -> float | None:
    """Memory in MiB at the peak since `resident_mib(start_anew=True)`, beyond what that gave."""
    if before is None:
        return None
    try:
        return max(0.0, _told("VmHWM:") - before)
    except OSError:
        return None


def _told(what: str) -> float:
    lines = _STATUS.read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(what))) / 1024
