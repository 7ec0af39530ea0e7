"""Protocols: which rows are learnt from and which are asked about."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, ShuffleSplit

from simlabel._utils.validation import check_groups, check_number
from simlabel.datasets import TEST, TRAIN, Dataset
from simlabel.experiments._stratified import parts

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Training and test rows of one split.

    `name` identifies the split. `number` is its position in the protocol, counted from 0: algorithms given by
    name add it to their `random_state`, so that the splits do not share one random draw.
    """

    name: str
    train: Rows
    test: Rows
    number: int = 0


class Protocol(ABC):
    """How a data set is divided; the same protocol and data always give the same splits."""

    @abstractmethod
    def splits(self, data: Dataset) -> list[Split]:
        """All splits, in order."""

    @abstractmethod
    def __str__(self) -> str:
        """In words."""


@dataclass(frozen=True)
class KFolds(Protocol):
    """k-fold cross-validation, possibly repeated with other shuffles.

    Parameters
    ----------
    folds : int
        Number of parts; each is asked about once, by a model of the others.
    repeats : int
        How many times the whole is done, with seeds `seed`, `seed` + 1, ...
    stratified : bool
        Keep each label's share alike in all parts; see `StratifiedFolds`.
    seed : int
        Of the shuffle.
    groups : list, (n_rows,), optional
        What each row belongs to; the rows of a group are in one part. None or NaN: a group of its own.

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
        """All splits, repeat by repeat."""
        check_number("KFolds", "folds", self.folds, at_least=2, integer=True)
        check_number("KFolds", "repeats", self.repeats, at_least=1, integer=True)
        if data.n_rows < self.folds:
            raise ValueError(f"{self.folds} folds need at least {self.folds} rows; X has {data.n_rows}.")
        splits: list[Split] = []
        for repeat in range(self.repeats):
            prefix = f"repeat-{repeat + 1}-" if self.repeats > 1 else ""
            for number, (train, test) in enumerate(self._parts(data, self.seed + repeat), 1):
                splits.append(Split(f"{prefix}fold-{number}", train, test, len(splits)))
        return splits

    def _parts(self, data: Dataset, seed: int) -> Iterator[tuple[Rows, Rows]]:
        if not self.stratified and self.groups is None:
            yield from KFold(self.folds, shuffle=True, random_state=seed).split(np.empty(data.n_rows))
            return
        groups = check_groups(self.groups, data.n_rows)
        part = parts(data.Y, self.folds, seed, groups, labels=self.stratified)
        for fold in range(self.folds):
            yield np.flatnonzero(part != fold), np.flatnonzero(part == fold)

    def __repr__(self) -> str:
        """All that folds depend on, in few characters: finished folds are kept under it."""
        said = f"folds={self.folds}, repeats={self.repeats}, stratified={self.stratified}, seed={self.seed}"
        if self.groups is None:
            return f"KFolds({said})"
        digest = hashlib.sha256(repr(list(self.groups)).encode("utf-8", "replace")).hexdigest()
        return f"KFolds({said}, groups={digest[:12]})"

    def __str__(self) -> str:
        kind = ", stratified by label" if self.stratified else ""
        kind += "" if self.groups is None else ", groups of rows kept together"
        times = f", repeated {self.repeats} times" if self.repeats > 1 else ""
        return f"{self.folds}-fold cross-validation{kind}{times}"


@dataclass(frozen=True)
class Splitter(Protocol):
    """The splits of one of scikit-learn's splitters.

    Parameters
    ----------
    splitter : object
        With ``split(X, y)``, e.g. ``KFold(3)``. One that shuffles needs a `random_state`.

    Examples
    --------
    >>> print(Splitter(KFold(3)))
    KFold(n_splits=3, random_state=None, shuffle=False)
    """

    splitter: Any

    def splits(self, data: Dataset) -> list[Split]:
        """All splits, in the splitter's order."""
        shuffles = getattr(self.splitter, "shuffle", True) and hasattr(self.splitter, "random_state")
        if shuffles and self.splitter.random_state is None:
            raise ValueError(
                f"{self.splitter!r} would give other splits each time it is asked; give it a random_state."
            )
        parts = enumerate(self.splitter.split(np.empty((data.n_rows, 1)), data.Y.toarray()), 1)
        return [Split(f"split-{number}", train, test, number - 1) for number, (train, test) in parts]

    def __str__(self) -> str:
        return repr(self.splitter)


def as_protocol(protocol: Any) -> Protocol:
    """A protocol as it is, and one of scikit-learn's splitters as a protocol."""
    if isinstance(protocol, Protocol):
        return protocol
    if isinstance(protocol, str | type) or not hasattr(protocol, "split"):
        raise TypeError(
            f"protocol must be KFolds(...), FixedSplit(), RandomSplits(...), or one of scikit-learn's "
            f"splitters such as KFold(3); got {protocol!r}."
        )
    return Splitter(protocol)


@dataclass(frozen=True)
class FixedSplit(Protocol):
    """The training and test parts that the data set comes with; development rows are left aside.

    Examples
    --------
    >>> print(FixedSplit())
    the data set's own training and test parts
    """

    def splits(self, data: Dataset) -> list[Split]:
        """The one split."""
        if data.split is None:
            raise ValueError(
                f"{data.name} comes in one piece; a fixed split needs training and test parts "
                "(name-train and name-test). Use folds instead."
            )
        return [Split("own", np.flatnonzero(data.split == TRAIN), np.flatnonzero(data.split == TEST))]

    def __str__(self) -> str:
        return "the data set's own training and test parts"


@dataclass(frozen=True)
class RandomSplits(Protocol):
    """A random share of the rows is asked about; again and again.

    Parameters
    ----------
    test_share : float
        Share of the rows that are asked about.
    repeats : int
        How many times.
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
        """One split for each repeat."""
        check_number("RandomSplits", "repeats", self.repeats, at_least=1, integer=True)
        check_number("RandomSplits", "test_share", self.test_share, above=0)
        if self.test_share >= 1:
            raise ValueError(f"RandomSplits: test_share must be below 1, got {self.test_share!r}.")
        shuffles = ShuffleSplit(self.repeats, test_size=self.test_share, random_state=self.seed)
        parts = enumerate(shuffles.split(np.empty(data.n_rows)), 1)
        return [Split(f"split-{number}", train, test, number - 1) for number, (train, test) in parts]

    def __str__(self) -> str:
        many = "1 random split" if self.repeats == 1 else f"{self.repeats} random splits"
        return f"{many}, {self.test_share:.0%} of the rows for testing"
