"""How far long fits have come."""

from __future__ import annotations

from collections.abc import Iterator

from simlabel._utils.progress import progress


def rounds(n_rounds: int, description: str, verbose: bool) -> Iterator[int]:
    """Count from 0 to `n_rounds`, and show it where `verbose`."""
    with progress(description, n_rounds, verbose) as advance:
        for each in range(n_rounds):
            yield each
            advance()
