"""How many threads."""

from __future__ import annotations

import os
from functools import lru_cache

import joblib

from simlabel.support.limits import limits
from simlabel.support.validation import check_number


def effective_jobs(n_jobs: int | None) -> int:
    """How many threads to use: all cores for None, one less for each step below -1; never absurdly many.

    ``OMP_NUM_THREADS``, which joblib sets in its worker processes, is an upper bound for None,
    so that processes and threads do not multiply.
    """
    check_number("engine", "n_jobs", n_jobs, integer=True, also=(None,))
    if n_jobs == 0:
        raise ValueError("engine: n_jobs must not be 0; give a number of threads, or None for all cores.")
    cores = _cores()
    if n_jobs is None:
        limit = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(limit)) if limit.isdigit() and int(limit) > 0 else cores
    return min(n_jobs, max(cores, limits().most_threads)) if n_jobs > 0 else max(1, cores + 1 + n_jobs)


@lru_cache(maxsize=1)
def _cores() -> int:
    return int(joblib.cpu_count())  # asks the system: too slow for every single query
