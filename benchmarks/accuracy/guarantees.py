"""Sets with a guarantee: guaranteed and measured values, and the size of the sets compared with MAPIE.

On a fifth of each set column scales, bandwidth and penalty are chosen. The rest, at most 1,200 rows, is split
at random many times into two thirds of labeled rows and one third of new ones. MAPIE controls the recall of
the same classifier, fitted on 7 of 10 labeled rows, by the 3 others. Finished splits are stored. Needs MAPIE.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from _shared.data import Missing, dense, shared
from _shared.folds import stored
from _shared.report import Part
from _shared.timing import Scale
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from simlabel import SMLClassifier
from simlabel.guarantees import CalibrationData, LabelCoverage, Precision, Recall, SetCoverage
from simlabel.similarities import Laplacian

CONFIDENCE = 0.9  # of precision
SETS, LEVELS, SPLITS = ("emotions", "scene", "yeast"), (0.95, 0.9, 0.8), 200
ROWS = 1200  # labeled and new: 200 splits of the three sets take about ten minutes on one core
INFLUENCES = ("ridge", "uniform")
SAME = "same"  # ridge, with parameters chosen on the rows that the guarantee is based on
KINDS = {
    "recall": lambda level: Recall(level, method="full"),
    "recall, split": lambda level: Recall(level, method="split"),
    "set coverage": lambda level: SetCoverage(level, method="full"),
    "set coverage, Bonferroni": lambda level: SetCoverage(level, method="bonferroni"),
    "label coverage": lambda level: LabelCoverage(level, method="full"),
    "label coverage, split": lambda level: LabelCoverage(level, method="split"),
    "precision": lambda level: Precision(level, confidence=CONFIDENCE),
}


def parts(name: str, influence: str, scale: Scale) -> tuple[Any, Any, Any]:
    """Return rows and labels, scaled as the rows on which parameters are chosen, and the classifier."""
    X, Y = dense(shared(name, scale))
    X, Y = X[Y.any(axis=1)], Y[Y.any(axis=1)]  # MAPIE supports no others
    shuffled = np.random.default_rng(0).permutation(len(X))
    choosing, rest = np.split(shuffled, [len(X) // 5])
    rest = rest[:ROWS]
    if influence == SAME:
        scaled = {"normalizer": ["zscore", "l2"], "tuning": "loo", "calibration": None}
        return X[rest], Y[rest], SMLClassifier(Laplacian(), influence="ridge", random_state=0, **scaled)
    X = StandardScaler().fit(X[choosing]).transform(X)
    found = SMLClassifier(Laplacian(), influence=influence, tuning="loo", random_state=0)
    found.fit(X[choosing], Y[choosing])
    model = SMLClassifier(found.similarity_, influence=found.influence_, calibration=None, random_state=0)
    return X[rest], Y[rest], model


class OneBatchRows:
    """Calibration rows for one batch of queries: their results do not depend on the level."""

    def __init__(self, rows: Any) -> None:
        self.rows, self.Y, self.cache = rows, rows.Y, {}

    def compare(self, Q: Any) -> Any:
        return self._once("compare", lambda: self.rows.compare(Q))

    def lost(self, Q: Any, losses: Any, *, whole: bool) -> Any:
        return self._once(whole, lambda: self.rows.lost(Q, losses, whole=whole))

    def _once(self, what: Any, compute: Callable[[], Any]) -> Any:
        if what not in self.cache:
            self.cache[what] = compute()
        return self.cache[what]


class OneBatch(CalibrationData):
    """Calibration data that compute the sets of one batch once, for several levels."""

    def rows(self, method: str) -> Any:
        return self._cached_rows[method == "split"]

    @cached_property
    def _cached_rows(self) -> tuple[OneBatchRows, OneBatchRows]:
        return OneBatchRows(self.whole), OneBatchRows(self.split)


def one_split(X: Any, Y: Any, model: Any, seed: int) -> dict[str, Any]:
    """Return for each guarantee and level the measured value and sizes, and the frequency of each label."""
    known, new = np.split(np.random.default_rng(seed).permutation(len(X)), [2 * len(X) // 3])
    model = clone(model).fit(X[known], Y[known])  # the argument identifies the stored result
    truths = [set(np.flatnonzero(row).tolist()) for row in Y[new]]
    calibration_data, found = OneBatch(model._model), {}
    for kind, make in KINDS.items():
        for level in LEVELS:
            guarantee = make(level)
            inside = guarantee.calibrate(calibration_data).inside(X[new])[1]
            found[f"{kind} {level}"] = measured(guarantee, inside, truths)
    sets = by_mapie(X, Y, model, known, new)
    for i, level in enumerate(LEVELS):
        found[f"MAPIE {level}"] = measured(Recall(level), sets[:, :, i], truths)
    return found


def measured(guarantee: Any, inside: Any, truths: Any) -> dict[str, Any]:
    """Measure sets without abstaining, except for precision, so that sizes can be compared."""
    sets = [tuple(np.flatnonzero(row).tolist()) for row in inside]
    if isinstance(guarantee, Precision):
        sets = [each or None for each in sets]
    result = guarantee.measure(truths, sets)
    found = {"value": result.value, "size": result.size, "abstained": result.abstained / len(sets)}
    if isinstance(guarantee, LabelCoverage):
        true = np.array([[k in truth for k in range(inside.shape[1])] for truth in truths])
        found |= {"hits": (true & inside).sum(axis=0).tolist(), "rows": true.sum(axis=0).tolist()}
    return found


def by_mapie(X: Any, Y: Any, model: Any, known: Any, new: Any) -> Any:
    """Sets by MAPIE's conformal risk control, (n_rows, n_labels, n_levels)."""
    try:
        from mapie.risk_control import MultiLabelClassificationController
    except ImportError as error:
        raise Missing("it needs MAPIE: pip install 'simlabel[bench]'") from error
    fitted, held = np.split(known, [round(0.7 * len(known))])
    scores = SMLClassifier(**model.get_params(deep=False)).fit(X[fitted], Y[fitted]).predict_proba
    control = MultiLabelClassificationController(scores, risk="recall", target_level=LEVELS)
    return control.calibrate(X[held], Y[held]).predict(X[new])


def simulated(name: str, influence: str, scale: Scale) -> tuple[list[dict[str, Any]], Any]:
    """Return the results of all splits of one set, and its labels."""
    X, Y, model = parts(name, influence, scale)
    split = stored(one_split, scale)
    return [split(X, Y, model, seed) for seed in range(2 if scale.small else SPLITS)], Y


def error_bar(level: float, n: float) -> float:
    """Return two standard errors of a share of n rows at exactly the guaranteed level."""
    return 2.0 * float(np.sqrt(level * (1.0 - level) / max(1.0, n)))


def with_bar(value: float, bar: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f} ± {bar:.3f}" if bar > 0 else f"{value:.3f}"


def tabulated(part: Part, splits: list[dict[str, Any]], Y: Any) -> dict[str, dict[float, tuple[float, ...]]]:
    """Add a row for each guarantee and level; return measured values, bars and sizes for the picture."""
    shown: dict[str, dict[float, tuple[float, ...]]] = {}
    for kind in [*KINDS, "MAPIE"]:
        for level in LEVELS:
            some = [each[f"{kind} {level}"] for each in splits]
            value, size, none = (
                float(np.nanmean(column)) if np.isfinite(column).any() else np.nan
                for column in np.array([[s["value"], s["size"], s["abstained"]] for s in some]).T
            )
            times = min(1.0, len(splits) / 3)  # number of times that each row was new, at most once
            bar = error_bar(level, times * len(Y))
            lowest, below = "", value < level - bar
            if "hits" in some[0]:
                rows, hits = (np.sum([s[what] for s in some], axis=0) for what in ("rows", "hits"))
                found, bars = hits / rows, np.array([error_bar(level, times * n) for n in Y.sum(axis=0)])
                worst = int(np.argmin(found - level + bars))
                lowest, below = with_bar(found[worst], bars[worst]), found[worst] < level - bars[worst]
            if kind == "precision":  # with confidence, over the splits; it holds in a split without sets
                held = np.mean([not s["value"] < level for s in some])
                bar, lowest = 0.0, f"in {held:.0%} of splits"
                below = held < CONFIDENCE - error_bar(CONFIDENCE, len(splits))
            name = "recall, MAPIE's split" if kind == "MAPIE" else kind
            holds = "-" if np.isnan(value) else "NO" if below else "yes"
            sizes = "-" if np.isnan(size) else f"{size:.2f}"
            part.row(name, level, with_bar(value, bar), lowest, holds, sizes, f"{none:.1%}")
            shown.setdefault(name, {})[level] = (value, bar, size)
    return shown


def drawn(axes: Any, name: str, shown: dict[str, dict[float, tuple[float, ...]]]) -> None:
    upper, lower = axes
    upper.plot([0.78, 0.97], [0.78, 0.97], color="gray", linewidth=0.8)
    kinds = [kind for kind in shown if "split" not in kind or "MAPIE" in kind]
    for i, kind in enumerate(kinds):
        values = np.array([shown[kind][level] for level in LEVELS])
        upper.errorbar(
            np.array(LEVELS) + 0.003 * (i - 2), values[:, 0], values[:, 1], fmt="o", ms=4, label=kind
        )
    upper.set(title=name, xlabel="guaranteed", ylabel="measured")
    recalls = [kind for kind in shown if kind.startswith("recall")]
    for i, kind in enumerate(recalls):
        sizes = [shown[kind][level][2] for level in LEVELS]
        lower.bar(np.arange(len(LEVELS)) + 0.27 * (i - 1), sizes, 0.25, label=kind)
    lower.set(xlabel="guaranteed recall", ylabel="labels in a set")
    lower.set_xticks(range(len(LEVELS)), [f"{level:g}" for level in LEVELS])


def run(scale: Scale) -> Part:
    intro = (
        f"Of {ROWS:,} rows (emotions has 475) two thirds are labeled, one third is new; column scales,\n"
        "bandwidth and penalty were chosen on another fifth of the set. *Measured*: the mean over all\n"
        "splits; the bar is two standard errors of a share of all rows (splits share them). *Lowest*: the\n"
        "label that is furthest below, with the bar of its rows; for precision, which is guaranteed with a\n"
        "confidence of 0.9, the share of splits in which it holds, including those without any set, and\n"
        "the mean over splits that have sets. *Size*: mean number of labels in a set.\n"
        "MAPIE: conformal risk control of the recall of the same classifier, fitted on 7 of 10 labeled\n"
        "rows and calibrated on 3 of 10."
    )
    shown = "guarantee", "guaranteed", "measured", "lowest", "holds", "size", "left to a person"
    part = Part("Sets with a guarantee", shown, intro)
    for influence in INFLUENCES:
        picture, axes = plt.subplots(2, len(SETS), figsize=(12, 7), layout="tight")
        for i, name in enumerate(SETS):
            splits, Y = simulated(name, influence, scale)
            part.section(f"{name}, influence={influence!r}, {len(splits)} splits")
            drawn(axes[:, i], name, tabulated(part, splits, Y))
        axes[0, 0].legend(fontsize=8)
        axes[1, 0].legend(fontsize=8)
        part.plots[f"guarantees_{influence}.png"] = picture
    splits, Y = simulated(SETS[0], SAME, scale)
    part.section(
        f"{SETS[0]}, ridge with scales, bandwidth and penalty chosen on the same rows, {len(splits)} splits"
    )
    tabulated(part, splits, Y)
    return part
