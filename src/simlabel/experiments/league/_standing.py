"""What the league table says: places, tests, wins and losses, how far behind, accuracy for the time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from simlabel.experiments._statistics import Ranking, rank_algorithms
from simlabel.experiments.league._bayes import REGION, Practical, signed_rank
from simlabel.experiments.league._table import League
from simlabel.metrics import CRITERIA, find_criterion

_AP = "average_precision"
_OURS = ("autosml", "sml", "tagger")  # none of them is a rival of another
_OF_THE_PAPER = ("mlknn", "boostexter", "adtboost", "ranksvm")


def all_played(league: League) -> tuple[list[str], list[str]]:
    """Sets on which our method and half of the rivals have played, and the rivals that did so on all of them.

    Who was late has played, and lost: our method too.
    """
    outcomes, rivals = {*league.scores, *league.late}, league.rivals()
    there = {name: sum((name, rival) in outcomes for rival in rivals) for name in league.sets}
    sets = [name for name in league.sets if (name, league.own) in outcomes and 2 * there[name] >= len(rivals)]
    return sets, [rival for rival in rivals if all((name, rival) in outcomes for name in sets)]


def ranking(league: League, criterion: str, *, in_time: bool = False) -> Ranking | None:
    """Places over the sets; `in_time`: only sets on which nobody was late. None where too few played."""
    sets, rivals = all_played(league)
    if in_time:
        sets = [name for name in sets if not any((name, rival) in league.late for rival in rivals)]
    means = league.means(criterion, sets)[rivals].dropna() if sets else pd.DataFrame()
    if len(means) < 2 or len(rivals) < 2:
        return None
    return rank_algorithms(means.rename(columns=league.titles), criterion)


def practically(league: League) -> dict[str, Practical]:
    """Of each other rival how likely our method is practically better, by average precision."""
    means = league.means(_AP)
    found = {}
    for rival in means.columns.drop(league.own, errors="ignore") if league.own in means else ():
        both = means[[league.own, rival]].dropna()
        if len(both) >= 2:
            found[rival] = signed_rank((both[league.own] - both[rival]).to_numpy())
    return found


def wins(league: League, criterion: str = _AP) -> pd.DataFrame:
    """Wins, ties and losses of our method against each rival, by kind of set: a tie is within the region.

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
        gains = sign * (means[league.own] - means[rival])
        by_kind = {kind: gains[[league.sets[name].kind == kind for name in gains.index]] for kind in kinds}
        rows[rival] = {name: _counted(part.dropna()) for name, part in {**by_kind, "all": gains}.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=[*kinds, "all"])


def _counted(gains: pd.Series) -> str:
    won, lost = int((gains > REGION).sum()), int((gains < -REGION).sum())
    return f"{won}-{len(gains) - won - lost}-{lost}" if len(gains) else ""


@dataclass(frozen=True)
class Gap:
    """Our method beside the best rival on one set: gains are positive, whichever way the criterion goes."""

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
        if math.isnan(self.error):
            return "ahead, on one split" if self.gain > 0 else "behind, on one split"
        if abs(self.gain) <= self.error:
            return "level"
        return "ahead" if self.gain > 0 else "behind"


def gaps(league: League, criterion: str) -> list[Gap]:
    """On each set our method less the best rival, paired by fold; other methods of ours are none."""
    sign = 1.0 if find_criterion(criterion).higher_is_better else -1.0
    found = []
    for name in league.sets:
        own = league.scores.get((name, league.own))
        others = {
            rival: score
            for (data, rival), score in league.scores.items()
            if data == name and rival not in (league.own, *_OURS) and not math.isnan(score.mean(criterion))
        }
        if own is None or not others:
            continue
        best = max(others, key=lambda rival: sign * others[rival].mean(criterion))
        pairs = sign * (own.folds(criterion) - others[best].folds(criterion))
        error = float(pairs.std(ddof=1) / math.sqrt(len(pairs))) if len(pairs) > 1 else math.nan
        means = (own.mean(criterion), others[best].mean(criterion))
        found.append(Gap(name, best, *means, float(pairs.mean()), error, len(pairs)))
    return found


def per_second(league: League) -> pd.DataFrame:
    """Accuracy for the time, over the sets on which all who played everywhere ended in time.

    Returns
    -------
    DataFrame
        By rival: mean average precision, what that is above knowing nothing ("prior"), mean processor seconds
        and MiB of a fold, gain for a second, and whether nobody is both better and quicker.
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
    floor = frame["average precision"].get("prior", 0.0)
    frame["gain"] = frame["average precision"] - floor
    frame["gain for a second"] = frame["gain"] / frame["seconds"]
    ap, seconds = frame["average precision"], frame["seconds"]
    frame["unbeaten"] = [
        not bool(((ap > ap[rival]) & (seconds < seconds[rival])).any()) for rival in frame.index
    ]
    return frame.sort_values("gain for a second", ascending=False)


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
