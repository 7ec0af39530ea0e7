"""What each ingredient brings: AutoSML without one of them at a time."""

from __future__ import annotations

from typing import Any

from simlabel.estimators import AutoSMLClassifier
from simlabel.experiments._ablated import Ablated
from simlabel.experiments.league._rival import Rival
from simlabel.experiments.league._rivals import RIVALS

#: ingredient -> what stands in its place
INGREDIENTS = {
    "normalizer": "unit length alone, as in the paper",
    "similarity": "RBF alone, as in the paper",
    "influence": "every reference counts alike, as in the paper",
    "mixing": "scores are not mixed over labels",
    "rule": "the paper's set size",
}


def _without(ingredient: str) -> Rival:
    def make(seed: int) -> Any:
        return Ablated(AutoSMLClassifier(random_state=seed, n_jobs=1), ingredient)

    cost = RIVALS["autosml"].cost
    title = f"without {ingredient}"
    return Rival(
        title.replace(" ", "_"), title, INGREDIENTS[ingredient], make, None, cost=cost, sparse_labels=True
    )


#: AutoSML whole, without each ingredient, and the paper's SML
ABLATION: dict[str, Rival] = {
    one.name: one for one in (RIVALS["autosml"], *map(_without, INGREDIENTS), RIVALS["sml"])
}
