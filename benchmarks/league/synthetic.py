"""Synthetic data sets with a known answer: the results of the best possible model.

Each has a stated data-generating process, so the true probability of every label in every row is known.
Ranking labels by these probabilities gives the best expected average precision and ranking loss; predicting
the labels above one half gives the best expected hamming loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import brentq
from scipy.special import expit

from simlabel._utils.validation import FloatArray
from simlabel.datasets import TEST, TRAIN, Dataset
from simlabel.metrics import evaluate

_LABELS = 6
Labels = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Synthetic:
    """A synthetic data set, its difficulty, and the true probability of every label, (n_rows, n_labels)."""

    data: Dataset
    note: str
    probabilities: FloatArray

    def best(self, criterion: str) -> float:
        """Return the criterion that the true probabilities reach on all rows."""
        sets = (self.probabilities > 0.5).astype(np.int8)
        return evaluate(self.data.Y, sets, self.probabilities, criteria=[criterion])[criterion]


def _smooth(X: FloatArray, random: np.random.Generator, n_labels: int = _LABELS) -> FloatArray:
    """Return smooth nonlinear scores: each label is near some of twelve points and far from others."""
    centers = random.normal(size=(12, X.shape[1]))
    weights = random.normal(size=(12, n_labels))
    distances = ((X[:, None, :] - centers[None]) ** 2).sum(axis=2) / X.shape[1]
    return np.asarray(np.exp(-1.5 * distances) @ weights * 8.0)


def _in_steps(X: FloatArray, random: np.random.Generator, n_labels: int = _LABELS) -> FloatArray:
    """Return scores with steps: for each label six trees, each with thresholds on three columns."""
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
    return Dataset(name, X, sp.csr_array(Y.astype(np.int8)), labels, features, parts, source="synthetic")


def _draw(probabilities: FloatArray, random: np.random.Generator) -> Labels:
    return np.asarray(random.random(probabilities.shape) < probabilities)


def dependent(n: int = 1000, seed: int = 0) -> Synthetic:
    """Half of the labels are copies of others, flipped in one of five rows."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    first = expit(_smooth(X, random, _LABELS // 2))
    Y = _draw(first, random)
    flipped = random.random(Y.shape) < 0.2
    # the label that is copied is not an input either
    both = np.hstack([first, 0.8 * first + 0.2 * (1.0 - first)])
    return Synthetic(
        _dataset("synthetic_dependent", X, np.hstack([Y, Y ^ flipped])), "labels depend on each other", both
    )


def noisy(n: int = 1000, seed: int = 1) -> Synthetic:
    """Label probabilities are close to one half: no method can be right often."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    shares = expit(0.5 * _smooth(X, random))
    return Synthetic(_dataset("synthetic_noisy", X, _draw(shares, random)), "labels are mostly noise", shares)


def irrelevant(n: int = 1000, seed: int = 2) -> Synthetic:
    """Five informative columns among 55 noise columns on other scales."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 5))
    shares = expit(_smooth(X, random))
    chance = random.normal(size=(n, 55)) * random.lognormal(0.0, 1.0, 55)
    whole = np.hstack([X, chance])[:, random.permutation(60)]
    return Synthetic(
        _dataset("synthetic_irrelevant", whole, _draw(shares, random)), "55 of 60 columns are noise", shares
    )


def rare(n: int = 1500, seed: int = 3) -> Synthetic:
    """Twelve labels with frequencies from one in two to one in a hundred."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 8))
    scores = _smooth(X, random, 12)
    wanted = np.geomspace(0.5, 0.01, 12)
    shares = expit(scores + np.array([_shift(scores[:, k], wanted[k]) for k in range(12)]))
    return Synthetic(
        _dataset("synthetic_rare", X, _draw(shares, random)), "labels from frequent to rare", shares
    )


def _shift(scores: FloatArray, share: float) -> float:
    """Return what to add to scores so that their mean probability is `share`."""
    return float(brentq(lambda shift: expit(scores + shift).mean() - share, -50.0, 50.0))


def drifting(n: int = 1500, seed: int = 4) -> Synthetic:
    """Test rows come later: the process changes slowly, and the mean of the columns moves."""
    random = np.random.default_rng(seed)
    time = np.linspace(0.0, 1.0, n)
    X = random.normal(size=(n, 8)) + 0.8 * time[:, None]
    early, late = _smooth(X, random), _smooth(X, random)
    share = 0.4 * time[:, None]
    shares = expit((1.0 - share) * early + share * late)
    split = np.where(time < 0.7, TRAIN, TEST)
    return Synthetic(
        _dataset("synthetic_drifting", X, _draw(shares, random), split),
        "test rows come later, and the process has changed",
        shares,
    )


def linear(n: int = 1000, seed: int = 5) -> Synthetic:
    """Log-odds are linear in the columns, as linear models assume and similarities do not."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 15))
    shares = expit(0.7 * X @ random.normal(size=(15, _LABELS)))
    return Synthetic(_dataset("synthetic_linear", X, _draw(shares, random)), "the process is linear", shares)


def stepwise(n: int = 1000, seed: int = 6) -> Synthetic:
    """Log-odds have steps at values of single columns, as trees assume and similarities do not."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, 10))
    shares = expit(_in_steps(X, random))
    return Synthetic(
        _dataset("synthetic_stepwise", X, _draw(shares, random)), "the process has steps", shares
    )


SYNTHETIC: dict[str, Callable[..., Synthetic]] = {
    f"synthetic_{make.__name__}": make
    for make in (dependent, noisy, irrelevant, rare, drifting, linear, stepwise)
}
