"""Which rows are used for training and which for testing: folds, fixed splits and random splits.

Stratified folds are made by iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): the label with
the fewest remaining rows is distributed first, each of its rows to the part that lacks this label most. Here
whole groups are distributed, the largest first, and rows without a group are groups of one. Afterwards groups
are moved while that brings the shares of the labels and the numbers of rows closer to their targets. All
arithmetic is in whole numbers: the parts are the same on any machine.
"""

from __future__ import annotations

import hashlib
import heapq
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit

from simlabel._utils.rows import encode_groups
from simlabel._utils.validation import AnyArray, IntArray, check_groups, check_number, check_same_length
from simlabel.datasets import TEST, TRAIN, Dataset
from simlabel.labels import LabelSpace

TrainAndTest = tuple[IntArray, IntArray]

_ROUNDS = 5  # of moves between parts; the first one makes nearly all of them
_UNIT = 1 << 20  # weights of labels are whole numbers of this fraction


@dataclass(frozen=True)
class Split:
    """Training and test rows of one split.

    `name` identifies the split. `number` is its position in the protocol, counted from 0: algorithms given by
    name add it to their `random_state`, so that the splits do not share one random draw.
    """

    name: str
    train: IntArray
    test: IntArray
    number: int = 0


def _numbered(pairs: Iterable[TrainAndTest]) -> list[Split]:
    return [Split(f"split-{number + 1}", *pair, number) for number, pair in enumerate(pairs)]


class Protocol(ABC):
    """How a data set is divided; the same protocol and data always give the same splits."""

    @abstractmethod
    def splits(self, data: Dataset) -> list[Split]:
        """Return all splits, in order."""

    @abstractmethod
    def __str__(self) -> str:
        """Describe the protocol."""


@dataclass(frozen=True)
class KFolds(Protocol):
    """k-fold cross-validation, optionally repeated with other shuffles.

    Parameters
    ----------
    folds : int
        Number of parts; each is the test part once.
    repeats : int
        Number of repetitions, with seeds `seed`, `seed` + 1, ...
    stratified : bool
        Whether each label has the same share in all parts; see `StratifiedFolds`.
    seed : int
        Of the shuffle.
    groups : list, (n_rows,), optional
        Group of each row; the rows of a group are in one part. None or NaN: a group of one.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> data = Dataset("d", np.eye(6), sp.csr_array(np.ones((6, 1), dtype=np.int8)), "a", "abcdef")
    >>> [split.name for split in KFolds(3).splits(data)]
    ['fold-1', 'fold-2', 'fold-3']
    >>> [split.test.tolist() for split in KFolds(2, groups="xyxyxx").splits(data)]
    [[0, 2, 4, 5], [1, 3]]
    >>> print(KFolds(5, repeats=2, stratified=True))
    5-fold cross-validation, stratified by label, repeated 2 times
    """

    folds: int = 10
    repeats: int = 1
    stratified: bool = False
    seed: int = 0
    groups: Sequence[Any] | None = None

    def splits(self, data: Dataset) -> list[Split]:
        """Return all splits, repeat by repeat."""
        check_number("KFolds", "folds", self.folds, at_least=2, integer=True)
        check_number("KFolds", "repeats", self.repeats, at_least=1, integer=True)
        if data.n_rows < self.folds:
            raise ValueError(f"{self.folds} folds need at least {self.folds} rows; X has {data.n_rows}.")
        splits: list[Split] = []
        for repeat in range(self.repeats):
            prefix = f"repeat-{repeat + 1}-" if self.repeats > 1 else ""
            for number, pair in enumerate(self._pairs(data, self.seed + repeat), 1):
                splits.append(Split(f"{prefix}fold-{number}", *pair, len(splits)))
        return splits

    def _pairs(self, data: Dataset, seed: int) -> Iterable[TrainAndTest]:
        if not self.stratified and self.groups is None:
            return KFold(self.folds, shuffle=True, random_state=seed).split(np.empty(data.n_rows))
        groups = check_groups(self.groups, data.n_rows)
        part = stratified_parts(data.Y, self.folds, seed, groups, labels=self.stratified)
        return train_and_test(part, self.folds)

    def __repr__(self) -> str:
        """Return everything that the folds depend on, briefly: it identifies stored folds."""
        fields = f"folds={self.folds}, repeats={self.repeats}, stratified={self.stratified}, seed={self.seed}"
        if self.groups is None:
            return f"KFolds({fields})"
        digest = hashlib.sha256(repr(list(self.groups)).encode("utf-8", "replace")).hexdigest()
        return f"KFolds({fields}, groups={digest[:12]})"

    def __str__(self) -> str:
        kind = ", stratified by label" if self.stratified else ""
        kind += "" if self.groups is None else ", groups of rows kept together"
        times = f", repeated {self.repeats} times" if self.repeats > 1 else ""
        return f"{self.folds}-fold cross-validation{kind}{times}"


@dataclass(frozen=True)
class FixedSplit(Protocol):
    """The training and test parts of the data set; development rows are not used.

    Examples
    --------
    >>> print(FixedSplit())
    the data set's own training and test parts
    """

    def splits(self, data: Dataset) -> list[Split]:
        """Return the one split."""
        if data.split is None:
            raise ValueError(
                f"{data.name} comes in one piece, but a fixed split needs training and test parts "
                "(name-train and name-test). Use folds instead."
            )
        return [Split("own", np.flatnonzero(data.split == TRAIN), np.flatnonzero(data.split == TEST))]

    def __str__(self) -> str:
        return "the data set's own training and test parts"


@dataclass(frozen=True)
class RandomSplits(Protocol):
    """Random splits into training and test rows.

    Parameters
    ----------
    test_share : float
        Share of the rows for testing.
    repeats : int
        Number of splits.
    seed : int
        Of the shuffles.

    Examples
    --------
    >>> print(RandomSplits(0.25, repeats=3))
    3 random splits, 25% of the rows for testing
    """

    test_share: float = 0.2
    repeats: int = 1
    seed: int = 0

    def splits(self, data: Dataset) -> list[Split]:
        """Return one split for each repeat."""
        check_number("RandomSplits", "repeats", self.repeats, at_least=1, integer=True)
        check_number("RandomSplits", "test_share", self.test_share, above=0)
        if self.test_share >= 1:
            raise ValueError(f"RandomSplits: test_share must be below 1, got {self.test_share!r}.")
        shuffles = ShuffleSplit(self.repeats, test_size=self.test_share, random_state=self.seed)
        return _numbered(shuffles.split(np.empty(data.n_rows)))

    def __str__(self) -> str:
        many = "1 random split" if self.repeats == 1 else f"{self.repeats} random splits"
        return f"{many}, {self.test_share:.0%} of the rows for testing"


@dataclass(frozen=True)
class Splitter(Protocol):
    """The splits of a splitter of scikit-learn.

    Parameters
    ----------
    splitter : object
        With ``split(X, y)``, e.g. ``KFold(3)``. If it shuffles, it needs a `random_state`.

    Examples
    --------
    >>> print(Splitter(KFold(3)))
    KFold(n_splits=3, random_state=None, shuffle=False)
    """

    splitter: Any

    def splits(self, data: Dataset) -> list[Split]:
        """Return all splits, in the splitter's order."""
        shuffles = getattr(self.splitter, "shuffle", True) and hasattr(self.splitter, "random_state")
        if shuffles and self.splitter.random_state is None:
            raise ValueError(
                f"{self.splitter!r} would give different splits in each call: give it a random_state."
            )
        return _numbered(self.splitter.split(np.empty((data.n_rows, 1)), data.Y.toarray()))

    def __str__(self) -> str:
        return repr(self.splitter)


def as_protocol(protocol: Any) -> Protocol:
    """Return a protocol as it is, and a splitter of scikit-learn as a protocol."""
    if isinstance(protocol, Protocol):
        return protocol
    if isinstance(protocol, str | type) or not hasattr(protocol, "split"):
        raise TypeError(
            f"protocol must be KFolds(...), FixedSplit(), RandomSplits(...), or a splitter of scikit-learn, "
            f"e.g. KFold(3); got {protocol!r}."
        )
    return Splitter(protocol)


class StratifiedFolds:
    """A splitter for scikit-learn: labels keep their shares in all folds, and groups are not split.

    It works for any ``cv=`` of scikit-learn; y may be a 0/1 array, sparse, a frame, or label sets.

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

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[TrainAndTest]:
        """Yield training and test rows of each part; X is ignored."""
        Y = LabelSpace.learn(y)[1]
        groups = check_groups(groups, Y.shape[0])
        part = stratified_parts(Y, self.n_splits, self.random_state, groups)
        yield from train_and_test(part, self.n_splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of parts."""
        return self.n_splits

    def __repr__(self) -> str:
        return f"StratifiedFolds(n_splits={self.n_splits}, random_state={self.random_state})"


def train_and_test(part: IntArray, n_parts: int) -> Iterator[TrainAndTest]:
    """Yield training and test rows, with each part as the test part once."""
    for fold in range(n_parts):
        yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)


def stratified_parts(
    Y: sp.csr_array, n_parts: int, seed: int, groups: AnyArray | None = None, *, labels: bool = True
) -> IntArray:
    """Return the part of each row, (n_rows,).

    Parameters
    ----------
    Y : csr_array of 0/1, (n_rows, n_labels)
    n_parts : int
    seed : int
        The same seed gives the same parts.
    groups : array of names, (n_rows,), optional
        Rows of one group are in one part; None for a group of one.
    labels : bool
        False to balance the number of rows only.
    """
    check_number("folds", "number of parts", n_parts, at_least=2, integer=True)
    check_number("folds", "seed", seed, at_least=0, integer=True)
    codes = np.arange(Y.shape[0]) if groups is None else encode_groups(groups)
    check_same_length(len(codes), Y, "y")
    sizes = np.bincount(codes)
    if len(sizes) < n_parts:
        what = "rows" if groups is None else "groups of rows"
        raise ValueError(f"{n_parts} folds need at least {n_parts} {what}; there are {len(sizes)}.")
    counts = sp.csr_array(sp.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes))))) @ Y)
    if not labels:
        counts = sp.csr_array(counts.shape)
    return _Stratification(counts.astype(np.int64), sizes.astype(np.int64), n_parts, seed).run()[codes]


class _Stratification:
    """Groups to distribute, and what the parts still lack, in units of 1 / n_parts."""

    def __init__(self, counts: sp.csr_array, sizes: IntArray, n_parts: int, seed: int) -> None:
        shuffled = np.random.default_rng(seed).permutation(len(sizes))
        self.order = shuffled[np.argsort(-sizes[shuffled], kind="stable")]
        counts = sp.csr_array(counts[self.order])
        self.counts, self.sizes, self.n_parts = counts, sizes[self.order], n_parts
        self.left = np.asarray(counts.sum(axis=0)).ravel()
        # the squared lack is relative to the label's frequency, so that rare labels count as much as others
        self.weights = _UNIT // np.maximum(self.left, 1)
        self.row_weight = _UNIT // max(1, int(sizes.sum()))
        self.lacks = np.repeat(self.left[None, :], n_parts, axis=0)
        self.lacks_rows = np.full(n_parts, int(sizes.sum()))
        self.part = np.full(len(sizes), -1, dtype=np.int64)

    def run(self) -> IntArray:
        """Return the part of each group, in the order of their numbers."""
        holders = sp.csc_array(self.counts)
        queue = [(int(count), label) for label, count in enumerate(self.left.tolist()) if count]
        heapq.heapify(queue)
        while queue:
            count, label = heapq.heappop(queue)
            left = int(self.left[label])
            if left != count:  # rows of this label were distributed with other labels
                if left:
                    heapq.heappush(queue, (left, label))
                continue
            for group in holders.indices[holders.indptr[label] : holders.indptr[label + 1]].tolist():
                if self.part[group] < 0:
                    self._give(group, self.lacks[:, label])
        for group in np.flatnonzero(self.part < 0).tolist():
            self._give(group, self.lacks_rows)
        for _ in range(_ROUNDS):
            if not self._move_groups():
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
        """Add a group to a part (sign 1), or remove it (-1)."""
        labels, counts = self._labels_of(group)
        self.lacks[part, labels] -= sign * self.n_parts * counts
        self.lacks_rows[part] -= sign * self.n_parts * self.sizes[group]

    def _move_groups(self) -> int:
        """Move each group to the part that lacks it most; return the number of moves."""
        moved = 0
        for group in range(len(self.part)):
            here = self.part[group]
            labels, counts = self._labels_of(group)
            size = self.n_parts * self.sizes[group]
            steps = self.n_parts * counts * self.weights[labels]
            lacks = self.lacks[:, labels]
            # half of the change of the sum of squares, for each part
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
