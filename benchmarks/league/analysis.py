"""Statistics of the results: ranks, tests, wins and losses, differences, accuracy and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from league.results import Results
from simlabel._utils.validation import FloatArray
from simlabel.experiments import Ranking, rank_algorithms
from simlabel.metrics import CRITERIA, find_criterion

REGION = 0.01  # of average precision: a smaller difference is practically equal
_AP = "average_precision"
_OURS = ("autosml", "sml", "tagger")  # not compared with each other as "best other method"
_OF_THE_PAPER = ("mlknn", "boostexter", "adtboost", "ranksvm")


def compared(results: Results, among: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Return the sets with an outcome of our method and half of the methods, and the methods of all these.

    An outcome is a score or a failure. `among` restricts the sets.
    """
    outcomes, methods = {*results.scores, *results.failed}, results.methods()
    names = results.sets if among is None else among
    counts = {name: sum((name, method) in outcomes for method in methods) for name in names}
    sets = [name for name in counts if (name, results.own) in outcomes and 2 * counts[name] >= len(methods)]
    return sets, [method for method in methods if all((name, method) in outcomes for name in sets)]


def ranking(results: Results, criterion: str, among: Sequence[str] | None = None) -> Ranking | None:
    """Rank methods over the sets that all of them have; None with fewer than two sets or methods.

    A method that failed has the last rank on the set. Wilcoxon's test compares two methods on the sets on
    which both have scores.
    """
    sets, methods = compared(results, among)
    means = results.for_ranks(criterion, sets)[methods].dropna() if sets else pd.DataFrame()
    if len(means) < 2 or len(methods) < 2:
        return None
    measured = results.means(criterion, list(means.index))[methods].rename(columns=results.titles)
    return rank_algorithms(means.rename(columns=results.titles), criterion, measured=measured)


def subsets(results: Results) -> dict[str, list[str]]:
    """Return groups of the sets: ranks over all sets may depend on a few of them."""
    failed = {name for name, _ in results.failed}
    kinds = {name: one.kind for name, one in results.sets.items()}
    return {
        "all sets": list(kinds),
        "matrices": [name for name, kind in kinds.items() if kind != "raw table"],
        "without synthetic sets": [name for name, kind in kinds.items() if kind != "synthetic"],
        "no method failed": [name for name in kinds if name not in failed],
    }


def signed_rank(differences: FloatArray, *, region: float = REGION) -> tuple[float, float, float]:
    """Return the probabilities that the first is practically better, equal and worse.

    This is the Bayesian signed-rank test of Benavoli, Corani, Demsar and Zaffalon (2017): the weights of the
    sets, and of one pseudo-observation without difference, are drawn from a Dirichlet distribution; each draw
    counts for the region with the most weight of pairwise means.

    Examples
    --------
    >>> signed_rank(np.array([0.05, 0.04, 0.06, 0.05, 0.07]))[0] > 0.95
    True
    """
    rows = np.concatenate([[0.0], differences])
    means = (rows[:, None] + rows[None, :]) / 2.0
    alpha = np.concatenate([[0.5], np.ones(len(rows) - 1)])
    weights = np.random.default_rng(0).dirichlet(alpha, 20_000)
    regions = (means > region, np.abs(means) <= region, means < -region)
    shares = np.stack([((weights @ part) * weights).sum(axis=1) for part in regions])
    better, equal, worse = np.bincount(shares.argmax(axis=0), minlength=3) / len(weights)
    return float(better), float(equal), float(worse)


def practically(results: Results) -> dict[str, tuple[int, tuple[float, float, float]]]:
    """Return for each other method the number of common sets, and `signed_rank` by average precision."""
    means, found = results.means(_AP), {}
    for method in _others(results, means):
        both = means[[results.own, method]].dropna()
        if len(both) >= 2:
            found[method] = len(both), signed_rank((both[results.own] - both[method]).to_numpy())
    return found


def _others(results: Results, means: pd.DataFrame) -> list[str]:
    return list(means.columns.drop(results.own)) if results.own in means else []


def wins(results: Results, criterion: str = _AP) -> pd.DataFrame:
    """Count wins, ties and losses of our method, such as "3-1-0", by method and kind of set.

    A difference within `REGION` is a tie. A method that failed has lost; where both failed, it is a tie.
    """
    means = results.means(criterion)
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    kinds = list(dict.fromkeys(one.kind for one in results.sets.values()))
    rows = {}
    for method in _others(results, means):
        gains = _with_failures(results, method, sign * (means[results.own] - means[method])).dropna()
        of_kind = {kind: gains[[results.sets[name].kind == kind for name in gains.index]] for kind in kinds}
        rows[method] = {name: _counted(part) for name, part in {**of_kind, "all": gains}.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*kinds, "all"])


def _with_failures(results: Results, method: str, gains: pd.Series) -> pd.Series:
    gains, outcomes = gains.copy(), {*results.scores, *results.failed}
    for name in gains.index:
        own, other = ((name, one) in results.failed for one in (results.own, method))
        if (own or other) and {(name, results.own), (name, method)} <= outcomes:
            gains[name] = 0.0 if own and other else math.inf if other else -math.inf
    return gains


def _counted(gains: pd.Series) -> str:
    won, lost = int((gains > REGION).sum()), int((gains < -REGION).sum())
    return f"{won}-{len(gains) - won - lost}-{lost}" if len(gains) else ""


@dataclass(frozen=True)
class Difference:
    """Our method compared with the best other method on one set; a positive gain means ours is better.

    The training parts of folds overlap, so the standard error is corrected as Nadeau and Bengio (2003) do:
    sqrt(1 / folds + test rows / training rows) times the standard deviation. It is NaN for a single fold.
    """

    data: str
    method: str
    own: float
    other: float
    gain: float
    error: float
    folds: int

    @property
    def verdict(self) -> str:
        """Ahead, level (within one standard error of the paired difference), behind, or failed."""
        if math.isnan(self.gain):
            return "failed"
        if self.folds < 2:
            return "ahead, on one split" if self.gain > 0 else "behind, on one split"
        if abs(self.gain) <= self.error:
            return "level"
        return "ahead" if self.gain > 0 else "behind"


def differences(results: Results, criterion: str) -> list[Difference]:
    """Return our method minus the best other method on each set, paired by fold."""
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    found = []
    for name, one in results.sets.items():
        others = {
            method: score
            for (data, method), score in results.scores.items()
            if data == name and method not in (results.own, *_OURS) and not math.isnan(score.mean(criterion))
        }
        own = results.scores.get((name, results.own))
        if not others or (own is None and (name, results.own) not in results.failed):
            continue
        best = max(others, key=lambda method: sign * others[method].mean(criterion))
        other = others[best].mean(criterion)
        if own is None:
            found.append(Difference(name, best, math.nan, other, math.nan, math.nan, 0))
            continue
        pairs = sign * (own.folds(criterion) - others[best].folds(criterion))
        pairs = pairs[~np.isnan(pairs)]
        found.append(Difference(name, best, own.mean(criterion), other, *_gain(pairs, one.ratio), len(pairs)))
    return found


def _gain(pairs: FloatArray, ratio: float) -> tuple[float, float]:
    """Return the mean of the differences and its standard error."""
    if len(pairs) < 2:
        return float(pairs.sum()), math.nan
    return float(pairs.mean()), float(pairs.std(ddof=1) * math.sqrt(1 / len(pairs) + ratio))


def costs(results: Results) -> pd.DataFrame:
    """Return mean average precision, processor seconds and MiB of a fold by method.

    The means are over the sets on which all compared methods have scores. `best` is True for methods that no
    other method exceeds in both average precision and speed.
    """
    sets, methods = compared(results)
    sets = [name for name in sets if not any((name, method) in results.failed for method in methods)]
    rows = {}
    for method in methods if sets else ():
        scores = [results.scores[name, method] for name in sets]
        memory = [mib for score in scores for mib in score.peak_mib if mib is not None]
        rows[method] = {
            "average precision": float(np.mean([score.mean(_AP) for score in scores])),
            "seconds": float(np.mean([np.mean(score.cpu_seconds) for score in scores])),
            "MiB": float(np.mean(memory)) if memory else math.nan,
        }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["average precision", "seconds", "MiB"])
    ap, seconds = frame["average precision"], frame["seconds"]
    frame["best"] = [not ((ap > ap[one]) & (seconds < seconds[one])).any() for one in frame.index]
    return frame.sort_values("average precision", ascending=False)


@dataclass(frozen=True)
class PaperClaim:
    """Plain SML compared with the paper's four baselines on one set."""

    data: str
    first_on: int  # of the paper's criteria
    own: float
    best: str
    other: float
    smaller_errors: int
    errors: int


def paper_claims(results: Results) -> list[PaperClaim]:
    """Return on how many criteria SML is first of the five, and how often its standard error is smaller."""
    found = []
    for name in results.sets:
        own = results.scores.get((name, "sml"))
        others = {m: results.scores[name, m] for m in _OF_THE_PAPER if (name, m) in results.scores}
        if own is None or not others:
            continue
        first, smaller, errors = 0, 0, 0
        for criterion, about in CRITERIA.items():
            sign = 1.0 if about.higher_is_better else -1.0
            first += all(sign * (own.mean(criterion) - one.mean(criterion)) > 0 for one in others.values())
            known = [error for one in others.values() if not math.isnan(error := one.error(criterion))]
            errors += len(known)
            smaller += sum(own.error(criterion) < error for error in known)
        best = max(others, key=lambda method: others[method].mean(_AP))
        found.append(PaperClaim(name, first, own.mean(_AP), best, others[best].mean(_AP), smaller, errors))
    return found
