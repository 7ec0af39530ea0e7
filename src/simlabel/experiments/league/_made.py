"""Data sets that the project makes, with a known answer: what the best possible learner would reach.

Each comes from a stated law, so that the true probability of every label in every row is known. Who ranks
labels by these probabilities has the best average precision and ranking loss that can be expected; who
takes the labels above one half has the best hamming loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.datasets import Dataset
from simlabel.datasets._dataset import TEST, TRAIN
from simlabel.metrics import evaluate
from simlabel.support.validation import FloatArray

_LABELS = 6
Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Made:
    """A made set, what is hard about it, and the true probability of every label, (n_rows, n_labels)."""

    data: Dataset
    what: str
    probabilities: FloatArray

    def best(self, criterion: str) -> float:
        """What the true probabilities themselves reach on all rows."""
        sets = (self.probabilities > 0.5).astype(np.int8)
        return evaluate(self.data.Y, sets, self.probabilities, criteria=[criterion])[criterion]


def _logistic(scores: FloatArray) -> FloatArray:
    return np.asarray(1.0 / (1.0 + np.exp(-scores)))


def _smooth(X: FloatArray, random: np.random.Generator, n_labels: int = _LABELS) -> FloatArray:
    """Scores that bend: each label is near some of twelve points and far from others."""
    centres = random.normal(size=(12, X.shape[1]))
    weights = random.normal(size=(12, n_labels))
    distances = ((X[:, None, :] - centres[None]) ** 2).sum(axis=2) / X.shape[1]
    return np.asarray(np.exp(-1.5 * distances) @ weights * 8.0)


def _in_steps(X: FloatArray, random: np.random.Generator, n_labels: int = _LABELS) -> FloatArray:
    """Scores that jump: for each label six trees, each of which asks whether three columns are large."""
    scores = np.zeros((len(X), n_labels))
    for label in range(n_labels):
        for _ in range(6):
            columns, cuts = random.permutation(X.shape[1])[:3], 0.5 * random.normal(size=3)
            leaf = (X[:, columns] > cuts) @ np.array([1, 2, 4])
            scores[:, label] += 1.5 * random.normal(size=8)[leaf]
    return scores


def _dataset(name: str, X: FloatArray, Y: Labels, split: npt.NDArray[np.int64] | None = None) -> Dataset:
    labels, features = (
        tuple(f"{what} {k}" for k in range(n)) for what, n in (("label", Y.shape[1]), ("x", X.shape[1]))
    )
    parts = None if split is None else split.astype(np.int8)
    return Dataset(name, X, sp.csr_array(Y.astype(np.int8)), labels, features, parts, source="made")


def _drawn(probabilities: FloatArray, random: np.random.Generator) -> Labels:
    return np.asarray(random.random(probabilities.shape) < probabilities)


def dependent(n: int = 1000, seed: int = 0) -> Made:
    """Half of the labels are copies of others, turned round in one of five rows: rows alone say less."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    first = _logistic(_smooth(X, random, _LABELS // 2))
    Y = _drawn(first, random)
    turned = random.random(Y.shape) < 0.2
    # of a copy only the features tell: the label that it copies is not known either
    both = np.hstack([first, 0.8 * first + 0.2 * (1.0 - first)])
    return Made(
        _dataset("made_dependent", X, np.hstack([Y, Y ^ turned])), "labels depend on each other", both
    )


def noisy(n: int = 1000, seed: int = 1) -> Made:
    """Every label is drawn from a flat probability, so that nobody can be right often."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    shares = _logistic(0.5 * _smooth(X, random))
    return Made(_dataset("made_noisy", X, _drawn(shares, random)), "labels are mostly chance", shares)


def irrelevant(n: int = 1000, seed: int = 2) -> Made:
    """Five columns that count among 55 that do not, on other scales."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    shares = _logistic(_smooth(X, random))
    chance = random.normal(size=(n, 55)) * random.lognormal(0.0, 1.0, 55)
    whole = np.hstack([X, chance])[:, random.permutation(60)]
    return Made(
        _dataset("made_irrelevant", whole, _drawn(shares, random)), "55 of 60 columns say nothing", shares
    )


def rare(n: int = 1500, seed: int = 3) -> Made:
    """Twelve labels, from one row in two to one in a hundred."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 8))
    scores = _smooth(X, random, 12)
    wanted = np.geomspace(0.5, 0.01, 12)
    shares = _logistic(scores + np.array([_shift(scores[:, k], wanted[k]) for k in range(12)]))
    return Made(_dataset("made_rare", X, _drawn(shares, random)), "labels from frequent to rare", shares)


def _shift(scores: FloatArray, share: float) -> float:
    """What to add to scores so that their mean probability is a share."""
    low, high = -50.0, 50.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _logistic(scores + middle).mean() < share else (low, middle)
    return (low + high) / 2


def drifting(n: int = 1500, seed: int = 4) -> Made:
    """Test rows come later: the law turns slowly, and the mean of the columns moves."""
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, 1.0, n)
    X = random.normal(size=(n, 8)) + 0.8 * time[:, None]
    early, late = _smooth(X, random), _smooth(X, random)
    share = 0.4 * time[:, None]
    shares = _logistic((1.0 - share) * early + share * late)
    split = np.where(time < 0.7, TRAIN, TEST)
    return Made(
        _dataset("made_drifting", X, _drawn(shares, random), split),
        "test rows come later, and the law has moved",
        shares,
    )


def straight(n: int = 1000, seed: int = 5) -> Made:
    """Log-odds are sums over the columns: what linear models assume, and similarities do not."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 15))
    shares = _logistic(0.7 * X @ random.normal(size=(15, _LABELS)))
    return Made(_dataset("made_straight", X, _drawn(shares, random)), "the law is linear", shares)


def stepped(n: int = 1000, seed: int = 6) -> Made:
    """Log-odds jump at values of single columns: what trees assume, and similarities do not."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    shares = _logistic(_in_steps(X, random))
    return Made(_dataset("made_stepped", X, _drawn(shares, random)), "the law is made of steps", shares)


MADE: dict[str, Callable[[], Made]] = {
    f"made_{make.__name__}": make
    for make in (dependent, noisy, irrelevant, rare, drifting, straight, stepped)
}
