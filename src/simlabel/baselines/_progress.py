"""A progress bar for long fits."""

from __future__ import annotations

from collections.abc import Iterator


def rounds(n_rounds: int, description: str, verbose: bool) -> Iterator[int]:
    """Count from 0 to `n_rounds`, with a bar on the terminal where `verbose`."""
    if not verbose:
        yield from range(n_rounds)
        return
    from rich.progress import track

    yield from track(range(n_rounds), description=description)
