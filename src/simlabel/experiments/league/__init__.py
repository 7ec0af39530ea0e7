"""The league: many sets, many rivals, the same folds, one table that a reviewer can check."""

from simlabel.experiments.league._ablation import ABLATION, INGREDIENTS
from simlabel.experiments.league._bayes import REGION, Practical, signed_rank
from simlabel.experiments.league._made import MADE, Made
from simlabel.experiments.league._plan import seconds_of
from simlabel.experiments.league._play import LIMIT, finished_folds, play
from simlabel.experiments.league._rival import Rival
from simlabel.experiments.league._rivals import RIVALS
from simlabel.experiments.league._sets import LeagueSet, league_sets
from simlabel.experiments.league._standing import (
    Gap,
    all_played,
    gaps,
    paper_claims,
    per_second,
    practically,
    ranking,
    selections,
    wins,
)
from simlabel.experiments.league._table import MAIN, OURS, League, Score, SetFacts

__all__ = [
    "play",
    "finished_folds",
    "league_sets",
    "LeagueSet",
    "RIVALS",
    "Rival",
    "League",
    "Score",
    "SetFacts",
    "MADE",
    "Made",
    "MAIN",
    "OURS",
    "LIMIT",
    "REGION",
    "ABLATION",
    "INGREDIENTS",
    "Practical",
    "signed_rank",
    "Gap",
    "gaps",
    "wins",
    "ranking",
    "selections",
    "practically",
    "per_second",
    "paper_claims",
    "all_played",
    "seconds_of",
]
