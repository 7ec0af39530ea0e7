"""What the league table says: places, tests, wins and losses, how far behind, accuracy for the time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from simlabel.experiments._statistics import Ranking, rank_algorithms
from simlabel.experiments.league._bayes import REGION, Practical, signed_rank
from simlabel.experiments.league._table import League
from simlabel.metrics import CRITERIA, find_criterion
from simlabel.support.validation import FloatArray

_AP = "average_precision"
_OURS = ("autosml", "sml", "tagger")  # none of them is a rival of another
_OF_THE_PAPER = ("mlknn", "boostexter", "adtboost", "ranksvm")


def all_played(league: League, among: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Sets on which our method and half of the rivals have played, and the rivals that did so on all of them.

    Who was late has played, and lost: our method too. `among` says of which sets; all by default.
    """
    outcomes, rivals = {*league.scores, *league.late}, league.rivals()
    asked = league.sets if among is None else among
    there = {name: sum((name, rival) in outcomes for rival in rivals) for name in asked}
    sets = [name for name in there if (name, league.own) in outcomes and 2 * there[name] >= len(rivals)]
    return sets, [rival for rival in rivals if all((name, rival) in outcomes for name in sets)]


def ranking(league: League, criterion: str, among: Sequence[str] | None = None) -> Ranking | None:
    """Places over the sets, those that all have played; None where too few have.

    Who was late comes last on the set. That is a place and no figure: Wilcoxon's test compares two rivals on
    the sets on which both have ended.
    """
    sets, rivals = all_played(league, among)
    means = league.places(criterion, sets)[rivals].dropna() if sets else pd.DataFrame()
    if len(means) < 2 or len(rivals) < 2:
        return None
    measured = league.means(criterion, list(means.index))[rivals].rename(columns=league.titles)
    return rank_algorithms(means.rename(columns=league.titles), criterion, measured=measured)


def selections(league: League) -> dict[str, list[str]]:
    """Some of the sets, by what they are: a table over all of them may hang on a few."""
    late = {name for name, _ in league.late}
    kinds = {name: one.kind for name, one in league.sets.items()}
    return {
        "all sets": list(kinds),
        "matrices": [name for name, kind in kinds.items() if kind != "raw table"],
        "without made sets": [name for name, kind in kinds.items() if kind != "made"],
        "nobody late": [name for name in kinds if name not in late],
    }


def practically(league: League) -> dict[str, Practical]:
    """Of each other rival how likely our method is practically better, by average precision.

    On the sets on which both have ended: who was late has no figure to compare.
    """
    means = league.means(_AP)
    found = {}
    for rival in means.columns.drop(league.own, errors="ignore") if league.own in means else ():
        both = means[[league.own, rival]].dropna()
        if len(both) >= 2:
            found[rival] = signed_rank((both[league.own] - both[rival]).to_numpy())
    return found


def wins(league: League, criterion: str = _AP) -> pd.DataFrame:
    """Wins, ties and losses of our method against each rival, by kind of set: a tie is within the region.

    Who was late has lost; where both were, it is a tie.

    Returns
    -------
    DataFrame
        A row for each rival and a column for each kind and for all; cells such as "3-1-0".
    """
    means = league.means(criterion)
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    kinds = list(dict.fromkeys(one.kind for one in league.sets.values()))
    rows = {}
    for rival in means.columns.drop(league.own, errors="ignore") if league.own in means else ():
        gains = _with_late(league, rival, sign * (means[league.own] - means[rival]))
        by_kind = {kind: gains[[league.sets[name].kind == kind for name in gains.index]] for kind in kinds}
        rows[rival] = {name: _counted(part.dropna()) for name, part in {**by_kind, "all": gains}.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*kinds, "all"])


def _with_late(league: League, rival: str, gains: pd.Series) -> pd.Series:
    """The gains where a rival that was late has lost by any measure, and so has our method."""
    gains, outcomes = gains.copy(), {*league.scores, *league.late}
    for name in gains.index:
        own, other = ((name, one) in league.late for one in (league.own, rival))
        if (own or other) and {(name, league.own), (name, rival)} <= outcomes:
            gains[name] = 0.0 if own and other else math.inf if other else -math.inf
    return gains


def _counted(gains: pd.Series) -> str:
    won, lost = int((gains > REGION).sum()), int((gains < -REGION).sum())
    return f"{won}-{len(gains) - won - lost}-{lost}" if len(gains) else ""


@dataclass(frozen=True)
class Gap:
    """Our method beside the best rival on one set: gains are positive, whichever way the criterion goes.

    The training parts of folds overlap, so that their differences vary less than those of new rows would:
    the standard error is that of Nadeau and Bengio (2003), sqrt(1 / folds + test rows / training rows) times
    the standard deviation. It is NaN of one split, and all figures are where our method was late.
    """

    data: str
    rival: str
    own: float
    other: float
    gain: float
    error: float
    folds: int

    @property
    def verdict(self) -> str:
        """In words: ahead, level (within one standard error of the paired difference), or behind."""
        if math.isnan(self.gain):
            return "late"
        if self.folds < 2:
            return "ahead, on one split" if self.gain > 0 else "behind, on one split"
        if abs(self.gain) <= self.error:
            return "level"
        return "ahead" if self.gain > 0 else "behind"


def gaps(league: League, criterion: str) -> list[Gap]:
    """On each set our method less the best rival, paired by fold; other methods of ours are none."""
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    found = []
    for name, facts in league.sets.items():
        others = {
            rival: score
            for (data, rival), score in league.scores.items()
            if data == name and rival not in (league.own, *_OURS) and not math.isnan(score.mean(criterion))
        }
        own = league.scores.get((name, league.own))
        if not others or (own is None and (name, league.own) not in league.late):
            continue
        best = max(others, key=lambda rival: sign * others[rival].mean(criterion))
        other = others[best].mean(criterion)
        if own is None:
            found.append(Gap(name, best, math.nan, other, math.nan, math.nan, 0))
            continue
        pairs = sign * (own.folds(criterion) - others[best].folds(criterion))
        pairs = pairs[~np.isnan(pairs)]
        found.append(Gap(name, best, own.mean(criterion), other, *_gain(pairs, facts.ratio), len(pairs)))
    return found


def _gain(pairs: FloatArray, ratio: float) -> tuple[float, float]:
    """Mean of the differences and its standard error; of one difference there is none."""
    if len(pairs) < 2:
        return float(pairs.sum()), math.nan
    return float(pairs.mean()), float(pairs.std(ddof=1) * math.sqrt(1 / len(pairs) + ratio))


def per_second(league: League) -> pd.DataFrame:
    """Accuracy for the time, over the sets on which all who played everywhere ended in time.

    Returns
    -------
    DataFrame
        By rival: mean average precision, what that is above knowing nothing ("prior"), mean processor seconds
        and MiB of a fold, gain for a second, and whether nobody is both better and quicker. Where "prior" has
        not played, gains are NaN.
    """
    sets, rivals = all_played(league)
    sets = [name for name in sets if not any((name, rival) in league.late for rival in rivals)]
    rows = {}
    for rival in rivals if sets else ():
        scores = [league.scores[name, rival] for name in sets]
        memory = [mib for score in scores for mib in score.peak_mib if mib is not None]
        rows[rival] = {
            "average precision": float(np.mean([score.mean(_AP) for score in scores])),
            "seconds": float(np.mean([np.mean(score.cpu_seconds) for score in scores])),
            "MiB": float(np.mean(memory)) if memory else math.nan,
        }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["average precision", "seconds", "MiB"])
    floor = frame["average precision"].get("prior", math.nan)
    frame["gain"] = frame["average precision"] - floor
    frame["gain for a second"] = frame["gain"] / frame["seconds"]
    ap, seconds = frame["average precision"], frame["seconds"]
    frame["unbeaten"] = [
        not bool(((ap > ap[rival]) & (seconds < seconds[rival])).any()) for rival in frame.index
    ]
    by = "average precision" if math.isnan(floor) else "gain for a second"
    return frame.sort_values(by, ascending=False)


@dataclass(frozen=True)
class Competitive:
    """Plain SML beside the paper's four rivals on one set."""

    data: str
    first_on: int
    of: int
    rivals: tuple[str, ...]
    own: float
    best: str
    other: float
    smaller_spread: int
    spreads: int


def paper_claims(league: League) -> list[Competitive]:
    """On each set: on how many of the paper's criteria SML is first of the five, and how its folds spread."""
    found = []
    for name in league.sets:
        own = league.scores.get((name, "sml"))
        others = {
            rival: league.scores[name, rival] for rival in _OF_THE_PAPER if (name, rival) in league.scores
        }
        if own is None or not others:
            continue
        first, smaller, spreads = 0, 0, 0
        for criterion, about in CRITERIA.items():
            sign = 1.0 if about.higher_is_better else -1.0
            mine = sign * own.mean(criterion)
            first += all(mine > sign * other.mean(criterion) for other in others.values())
            errors = [other.error(criterion) for other in others.values()]
            pairs = [error for error in errors if not math.isnan(error)]
            spreads += len(pairs)
            smaller += sum(own.error(criterion) < error for error in pairs)
        best = max(others, key=lambda rival: others[rival].mean(_AP))
        found.append(
            Competitive(
                name,
                first,
                len(CRITERIA),
                tuple(others),
                own.mean(_AP),
                best,
                others[best].mean(_AP),
                smaller,
                spreads,
            )
        )
    return found
