"""Folds in which every label has its share, and no group of rows is torn apart.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): the label with the fewest rows left
is dealt out first, each of its rows to the part that lacks this label most. Here whole groups are dealt,
the largest first, and rows without a group are groups of one. Afterwards groups change places while that
brings the labels' shares, and the numbers of rows, nearer to what they should be. All in whole numbers: the
parts are the same on any machine.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.rows import group_codes
from simlabel._utils.validation import IntArray, check_groups, check_number, check_same_length
from simlabel.labels import LabelSpace

_ROUNDS = 5  # of changing places; the first brings nearly all
_UNIT = 1 << 20  # weights of labels are whole numbers of this fraction


class StratifiedFolds:
    """Folds for scikit-learn's tools: labels keep their shares, and groups stay whole.

    Works wherever scikit-learn takes ``cv=``: 0/1 arrays, sparse matrices, frames and label sets as y.

    Parameters
    ----------
    n_splits : int
        Number of parts.
    random_state : int
        Of the shuffle; the same number gives the same parts, on any machine.

    Examples
    --------
    >>> y = [{"sea"}, {"sea"}, {"trees"}, {"trees"}]
    >>> [test.tolist() for _, test in StratifiedFolds(2).split(y, y)]
    [[0, 2], [1, 3]]
    >>> [test.tolist() for _, test in StratifiedFolds(2).split(y, y, groups=["a", "a", "b", "b"])]
    [[0, 1], [2, 3]]
    """

    def __init__(self, n_splits: int = 5, random_state: int = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def split(
        self, X: Any, y: Any, groups: Any = None
    ) -> Iterator[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """Rows to learn from and rows to ask about, part by part; X is not looked at."""
        Y = LabelSpace.learn(y)[1]
        part = parts(Y, self.n_splits, self.random_state, check_groups(groups, Y.shape[0]))
        for fold in range(self.n_splits):
            yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Number of parts."""
        return self.n_splits

    def __repr__(self) -> str:
        return f"StratifiedFolds(n_splits={self.n_splits}, random_state={self.random_state})"


def parts(
    Y: sp.csr_array, n_parts: int, seed: int, groups: npt.NDArray[Any] | None = None, *, labels: bool = True
) -> IntArray:
    """The part that each row is dealt to, (n_rows,).

    Parameters
    ----------
    Y : csr_array of 0/1, (n_rows, n_labels)
    n_parts : int
    seed : int
        The same seed gives the same parts.
    groups : array of names, (n_rows,), optional
        Rows of one group stay together; None for a group of its own.
    labels : bool
        False to balance the number of rows alone.
    """
    check_number("folds", "number of parts", n_parts, at_least=2, integer=True)
    check_number("folds", "seed", seed, at_least=0, integer=True)
    codes = np.arange(Y.shape[0]) if groups is None else group_codes(groups)
    check_same_length(len(codes), Y, "y")
    sizes = np.bincount(codes)
    if len(sizes) < n_parts:
        what = "rows" if groups is None else "groups of rows"
        raise ValueError(f"{n_parts} folds need at least {n_parts} {what}; there are {len(sizes)}.")
    counts = sp.csr_array(sp.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes))))) @ Y)
    if not labels:
        counts = sp.csr_array(counts.shape)
    return _Deal(counts.astype(np.int64), sizes.astype(np.int64), n_parts, seed).run()[codes]


class _Deal:
    """Groups on the table, and what the parts still lack: in units of 1 / n_parts, so in whole numbers."""

    def __init__(self, counts: sp.csr_array, sizes: IntArray, n_parts: int, seed: int) -> None:
        shuffled = np.random.default_rng(seed).permutation(len(sizes))
        self.order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
        counts = sp.csr_array(counts[self.order])
        self.counts, self.sizes, self.n_parts = counts, sizes[self.order], n_parts
        self.left = np.asarray(counts.sum(axis=0)).ravel()
        # what a label lacks counts by its square, as a share of the label: rare ones as much as others
        self.weights = _UNIT // np.maximum(self.left, 1)
        self.row_weight = _UNIT // max(1, int(sizes.sum()))
        self.lacks = np.repeat(self.left[None, :], n_parts, axis=0)
        self.lacks_rows = np.full(n_parts, int(sizes.sum()))
        self.part = np.full(len(sizes), -1, dtype=np.int64)

    def run(self) -> IntArray:
        """The part of each group, in the order in which groups are numbered."""
        holders = sp.csc_array(self.counts)
        queue = [(int(count), label) for label, count in enumerate(self.left.tolist()) if count]
        heapq.heapify(queue)
        while queue:
            count, label = heapq.heappop(queue)
            now = int(self.left[label])
            if now != count:  # rows with other labels too have gone since
                if now:
                    heapq.heappush(queue, (now, label))
                continue
            for group in holders.indices[holders.indptr[label] : holders.indptr[label + 1]].tolist():
                if self.part[group] < 0:
                    self._give(group, self.lacks[:, label])
        for group in np.flatnonzero(self.part < 0).tolist():
            self._give(group, self.lacks_rows)
        for _ in range(_ROUNDS):
            if not self._change_places():
                break
        found = np.empty_like(self.part)
        found[self.order] = self.part
        return found

    def _give(self, group: int, lack: IntArray) -> None:
        best = np.flatnonzero(lack == lack.max())
        to = int(best[np.argmax(self.lacks_rows[best])]) if len(best) > 1 else int(best[0])
        labels, counts = self._labels_of(group)
        self._move(to, group, 1)
        self.left[labels] -= counts
        self.part[group] = to

    def _labels_of(self, group: int) -> tuple[IntArray, IntArray]:
        entries = slice(self.counts.indptr[group], self.counts.indptr[group + 1])
        return self.counts.indices[entries], self.counts.data[entries]

    def _move(self, part: int, group: int, sign: int) -> None:
        """A part has a group more (1) or less (-1)."""
        labels, counts = self._labels_of(group)
        self.lacks[part, labels] -= sign * self.n_parts * counts
        self.lacks_rows[part] -= sign * self.n_parts * self.sizes[group]

    def _change_places(self) -> int:
        """Each group goes where it is needed most; the number of those that went elsewhere."""
        moved = 0
        for group in range(len(self.part)):
            here = self.part[group]
            labels, counts = self._labels_of(group)
            size = self.n_parts * self.sizes[group]
            steps = self.n_parts * counts * self.weights[labels]
            lacks = self.lacks[:, labels]
            # half of what the sum of squares would change by, for each part
            change = (lacks[here] - lacks + self.n_parts * counts) @ steps
            change += (self.lacks_rows[here] - self.lacks_rows + size) * size * self.row_weight
            change[here] = 0
            to = int(np.argmin(change))
            if change[to] < 0:
                self._move(here, group, -1)
                self._move(to, group, 1)
                self.part[group] = to
                moved += 1
        return moved
