"""An index of the references, for their nearest neighbours (faiss-cpu, the extra `ann`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Float32 = npt.NDArray[np.float32]
Indices = npt.NDArray[np.int64]
Nearest = Literal["distance", "product"]

_FEWEST = 5_000  # references; below, looking at all of them takes no longer
_CELLS = 4  # times the square root of the number of references
_POINTS_PER_CELL = 39  # that k-means wants to see
_CHECKED = 256  # references on which the number of cells is chosen, and others on which recall is measured


def faiss_library() -> Any:
    """The library, or an error that says how to get it."""
    try:
        import faiss
    except ImportError as error:
        raise ImportError(
            "engine='ann' needs the library faiss: install simlabel[ann], or faiss-cpu by itself."
        ) from error
    return faiss


@contextlib.contextmanager
def faiss_threads(n: int) -> Iterator[Any]:
    """The library, held to so many threads."""
    faiss = faiss_library()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(n)
    try:
        yield faiss
    finally:
        faiss.omp_set_num_threads(before)


class NearestIndex:
    """Rows cut into cells, of which a query looks at the nearest ones; or all rows, where they are few.

    Parameters
    ----------
    rows : array of float32, (n_references, n_features)
        References.
    by : {"distance", "product"}
        Whether the smallest Euclidean distance or the largest inner product is the nearest.
    k : int
        For how many neighbours the recall is to hold.
    recall : float
        Share of the k nearest that is to be found; with 1 all rows are looked at.
    """

    def __init__(self, rows: Float32, by: Nearest, k: int, recall: float, seed: int = 0) -> None:
        self.by, self.k, self.wanted, self.seed = by, k, recall, seed
        self.n, self.cells, self.probes, self.n_checked, self.recall = len(rows), 0, 0, 0, 1.0
        self.rows: Float32 | None = rows
        self.inverted: Any = None
        if recall < 1.0 and len(rows) >= _FEWEST:
            self._cut(rows)
            self.rows = None  # the cells have them
            self._choose_probes(rows)

    @property
    def exact(self) -> bool:
        """Whether all rows are looked at."""
        return self.inverted is None

    def nearest(self, Q: Float32, k: int) -> tuple[Float32, Indices]:
        """Squared distances or inner products, and places, (n_queries, k), nearest first; -1 for none."""
        if self.inverted is None:
            return self._among(Q, self.rows, k)
        faiss = faiss_library()
        return self.inverted.search(Q, k, params=faiss.SearchParametersIVF(nprobe=self.probes))

    def replaced(self, first: int, rows: Float32) -> NearestIndex:
        """A copy where `rows` take the places from `first` on; the cells stay, and recall is measured."""
        faiss = faiss_library()
        made = NearestIndex.__new__(NearestIndex)
        made.__dict__.update(self.__dict__)
        made.inverted = faiss.clone_index(self.inverted)  # who holds the old one still reads it
        made.inverted.remove_ids(faiss.IDSelectorRange(first, self.n))
        made.inverted.add_with_ids(rows, np.arange(first, first + len(rows), dtype=np.int64))
        made.n = first + len(rows)
        return made

    def checked(self, rows: Float32) -> NearestIndex:
        """Itself, with the recall measured on these rows, which are all references."""
        self.recall, self.n_checked = self._recall(rows, part=1)
        return self

    def _among(self, Q: Float32, rows: Float32 | None, k: int) -> tuple[Float32, Indices]:
        faiss = faiss_library()
        metric = faiss.METRIC_L2 if self.by == "distance" else faiss.METRIC_INNER_PRODUCT
        return faiss.knn(Q, rows, k, metric=metric)

    def _cut(self, rows: Float32) -> None:
        faiss = faiss_library()
        self.cells = max(1, min(round(_CELLS * len(rows) ** 0.5), len(rows) // _POINTS_PER_CELL))
        metric = faiss.METRIC_L2 if self.by == "distance" else faiss.METRIC_INNER_PRODUCT
        flat = faiss.IndexFlat(rows.shape[1], metric)
        self.inverted = faiss.IndexIVFFlat(flat, rows.shape[1], self.cells, metric)
        self.inverted.train(rows)
        self.inverted.add(rows)

    def _choose_probes(self, rows: Float32) -> None:
        """Twice as many cells until enough is found; the figure that is shown comes from other rows."""
        self.probes = 1
        while self.probes < self.cells and self._recall(rows, part=0)[0] < self.wanted:
            self.probes = min(2 * self.probes, self.cells)
        self.checked(rows)

    def _recall(self, rows: Float32, part: int) -> tuple[float, int]:
        """Share of the k nearest others that is found, and of how many references that is the mean."""
        order = np.random.default_rng(self.seed).permutation(len(rows))
        asked = np.sort(order[part * _CHECKED : (part + 1) * _CHECKED])
        k = min(self.k, len(rows) - 1)
        sign = 1.0 if self.by == "distance" else -1.0
        far, places = self._among(rows[asked], rows, k + 1)
        others = np.sort(np.where(places == asked[:, None], np.inf, sign * far), axis=1)
        farthest = others[:, k - 1 : k]
        far, places = self.nearest(rows[asked], k + 1)
        slack = 1e-5 * (1.0 + np.abs(farthest))  # equals may stand for each other
        as_near = (sign * far <= farthest + slack) & (places >= 0) & (places != asked[:, None])
        return float(np.minimum(as_near.sum(axis=1), k).mean() / k), len(asked)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self.inverted is not None:
            state["inverted"] = faiss_library().serialize_index(self.inverted)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.inverted is not None:
            self.inverted = faiss_library().deserialize_index(self.inverted)
