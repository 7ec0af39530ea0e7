"""Similarities of rows to each other, again and again with other parameters."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable
from typing import Self

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, is_lazy, n_rows, row_width
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities import Leaf, Similarity
from simlabel.sums._prepared import Prepared, prepare, statistic
from simlabel.sums.running import run_tasks


class AllPairs:
    """Statistics of all pairs of some rows, kept: of them follow similarities with any parameters.

    Parameters
    ----------
    X : rows in memory, float64, (n_rows, n_features)
    n_jobs : int or None
        Threads.

    Examples
    --------
    >>> from simlabel.similarities import RBF
    >>> pairs = AllPairs(np.array([[0.0], [1.0]]))
    >>> [pairs.similarities(RBF(gamma)).round(3).tolist() for gamma in (1.0, 2.0)]
    [[[1.0, 0.368], [0.368, 1.0]], [[1.0, 0.135], [0.135, 1.0]]]
    """

    def __init__(self, X: Rows, n_jobs: int | None = None) -> None:
        self.X, self.n_jobs = X, n_jobs
        self.kept: dict[Hashable, tuple[FloatArray, FloatArray]] = {}
        self._lock = threading.Lock()  # several threads may ask at once

    @classmethod
    def of(cls, X: Rows, n_jobs: int | None) -> Self:
        """Of rows in any container and precision."""
        X = X[:] if is_lazy(X) else X
        return cls(X[:].astype(np.float64) if getattr(X, "dtype", None) == np.float32 else X, n_jobs)

    @staticmethod
    def reads(similarity: Similarity) -> bool:
        """Whether a similarity is one of statistics; any function of two rows is not."""
        return all(leaf.similarity.form in ("dot", "coordinate") for leaf in similarity.leaves())

    def similarities(self, similarity: Similarity) -> FloatArray:
        """All of them, float64, (n_rows, n_rows)."""
        with self._lock:
            missing = [leaf for leaf in similarity.leaves() if leaf.key not in self.kept]
            if missing:
                prepared = prepare(self.X, [similarity])
                for leaf in missing:
                    self.kept[leaf.key] = self._statistics(leaf, prepared)
        finished = []
        for leaf in similarity.leaves():
            T, beside = self.kept[leaf.key]
            finished.append(leaf.finish(T.copy(), beside, beside))
        return similarity.assemble(finished)

    def _statistics(self, leaf: Leaf, prepared: Prepared) -> tuple[FloatArray, FloatArray]:
        n, key = n_rows(self.X), leaf.key
        T = np.empty((n, n))
        most = max(1, limits().prepared_entries // max(1, row_width(self.X)))
        parts = list(blocks(n, min(limits().block_references, most)))
        sides = {part.start: prepared.references(key, part) for part in parts}

        def fill(both: tuple[slice, slice], stopped: Callable[[], bool]) -> None:
            mine, other = both
            if stopped():
                return
            x, q = sides[other.start], sides[mine.start]
            block = statistic(leaf, q, x, q.rows, other, T.dtype)
            T[other, mine] = block
            T[mine, other] = block.T

        both, threads = itertools.combinations_with_replacement(parts, 2), effective_jobs(self.n_jobs)
        with held_blas(1):
            run_tasks(fill, list(both), threads)
        return T, np.concatenate([sides[part.start].beside for part in parts])
