"""How much memory there is, where the system tells."""

from __future__ import annotations

from pathlib import Path

_SYSTEM = Path("/proc/meminfo")
_CONTAINER = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)


def available_memory() -> int | None:
    """Bytes that can be had without swapping, at most the limit of a container; None where nothing tells.

    Examples
    --------
    >>> free = available_memory()
    >>> free is None or free > 0
    True
    """
    found = []
    try:
        lines = _SYSTEM.read_text().splitlines()
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (OSError, ValueError):  # another system
        pass
    for path in _CONTAINER:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no container, or one without a limit
            continue
    return min(found, default=None)
