"""Who plays: our methods, the paper's rivals, scikit-learn's, the literature's, and other packages'."""

from __future__ import annotations

from typing import Any

from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from simlabel.baselines import ADTBoostMH, BoosTexter, MLkNN, RankSVM
from simlabel.baselines._chains import ChainEnsemble
from simlabel.baselines._iblr import IBLRML
from simlabel.baselines._packages import CatBoost, Omikuji, XGBoost
from simlabel.baselines._powerset import LabelPowerset
from simlabel.baselines._rakel import RAkEL
from simlabel.estimators import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.experiments.league._rival import Grid, Rival

_TREES, _STEPS = 300, 1000


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=_STEPS)


def _strengths(key: str, *values: float) -> Grid:
    return [{key: value} for value in values]


_OURS = [
    Rival(
        "autosml",
        "AutoSML",
        "chooses among configurations by leave-one-out",
        lambda seed: AutoSMLClassifier(random_state=seed, n_jobs=1),
        None,
        cost=(8, 1.5, 0.5, 0.3),
        sparse_labels=True,
    ),
    Rival(
        "sml",
        "SML",
        "the paper's method, gamma by its search",
        lambda seed: SMLClassifier(random_state=seed, n_jobs=1),
        None,
        cost=(0.3, 1.5, 0.5, 0.3),
        sparse_labels=True,
    ),
    Rival(
        "tagger",
        "Tagger",
        "raw tables; of matrices, the columns as numbers",
        lambda seed: Tagger(random_state=seed, n_jobs=1),
        None,
        cost=(15, 1.5, 0.5, 0.5),
        sparse_labels=True,
    ),
]
_PAPER = [
    Rival(
        "mlknn",
        "ML-kNN",
        "5, 10 or 20 neighbours",
        lambda seed: MLkNN(n_jobs=1),
        _strengths("n_neighbors", 10, 5, 20),
        cost=(2, 1.5, 0.7, 0.5),
        sparse_labels=True,
    ),
    Rival(
        "boostexter",
        "BoosTexter",
        "500 boosted stumps, as published",
        lambda seed: BoosTexter(n_jobs=1),
        cost=(25, 1, 1, 1),
        for_tables=False,
        sparse_labels=True,
    ),
    Rival(
        "adtboost",
        "ADTBoost.MH",
        "alternating decision tree, 50 rounds, as published",
        lambda seed: ADTBoostMH(n_jobs=1),
        cost=(10, 1, 1, 1),
        for_tables=False,
        sparse_labels=True,
    ),
    Rival(
        "ranksvm",
        "Rank-SVM",
        "columns scaled; polynomial of degree 8 as published, or RBF",
        lambda seed: RankSVM(),
        [{"kernel": "rbf"}, {"degree": 8}],
        "scaled",
        cost=(60, 2, 0.3, 1),
        for_tables=False,
        sparse_labels=True,
    ),
]
_SKLEARN = [
    Rival(
        "rf",
        "RandomForest",
        f"{_TREES} trees; leaves of 1 or 3 rows, or a third of the columns",
        lambda seed: RandomForestClassifier(_TREES, random_state=seed, n_jobs=1),
        [{}, {"min_samples_leaf": 3}, {"max_features": 0.33}],
        cost=(40, 1.1, 0.6, 0.2),
    ),
    Rival(
        "et",
        "ExtraTrees",
        f"{_TREES} trees; the same",
        lambda seed: ExtraTreesClassifier(_TREES, random_state=seed, n_jobs=1),
        [{}, {"min_samples_leaf": 3}, {"max_features": 0.33}],
        cost=(20, 1.1, 0.6, 0.2),
    ),
    Rival(
        "hgb",
        "HistGradientBoosting",
        "one per label; 31 leaves, or 15 and half the rate",
        lambda seed: OneVsRestClassifier(HistGradientBoostingClassifier(random_state=seed)),
        [{}, {"estimator__max_leaf_nodes": 15, "estimator__learning_rate": 0.05}],
        "dense",
        cost=(60, 0.5, 1, 1),
    ),
    Rival(
        "lr",
        "Logistic regression",
        "one per label, columns scaled; C of 0.01 to 10",
        lambda seed: OneVsRestClassifier(_logistic()),
        _strengths("estimator__C", 0.1, 0.01, 1.0, 10.0),
        "scaled",
        cost=(3, 1, 1, 1),
    ),
    Rival(
        "svc",
        "LinearSVC",
        "one per label, columns scaled; C of 0.001 to 1",
        lambda seed: OneVsRestClassifier(LinearSVC(random_state=seed, max_iter=5000)),
        _strengths("estimator__C", 0.01, 0.001, 0.1, 1.0),
        "scaled",
        cost=(3, 1, 1, 1),
    ),
    Rival(
        "prior",
        "Frequencies",
        "every row gets the labels' frequencies: what knowing nothing is worth",
        lambda seed: DummyClassifier(strategy="prior"),
        cost=(0.1, 1, 0, 0.5),
    ),
]
_LITERATURE = [
    Rival(
        "ecc",
        "Ensemble of chains",
        "10 chains of logistic regressions on rows drawn anew; C of 0.1 or 1",
        lambda seed: ChainEnsemble(_logistic(), random_state=seed),
        _strengths("estimator__C", 0.1, 1.0),
        "scaled",
        cost=(15, 1, 1, 1),
    ),
    Rival(
        "rakel",
        "RAkEL",
        "sets of 3 labels, twice as many as labels; logistic regressions, hard or soft votes; C of 0.1 or 1",
        lambda seed: RAkEL(_logistic(), random_state=seed),
        [{"estimator__C": 0.1}, {"estimator__C": 0.1, "soft": True}, {"estimator__C": 1.0, "soft": True}],
        "scaled",
        cost=(20, 1, 1, 1),
    ),
    Rival(
        "iblr",
        "IBLR-ML",
        "10 or 20 neighbours; with the features too",
        lambda seed: IBLRML(),
        [{}, {"n_neighbors": 20}, {"with_features": True, "C": 0.1}],
        cost=(4, 1.3, 0.7, 1),
    ),
    Rival(
        "lp",
        "Label powerset",
        "one logistic regression over the label sets; C of 0.1 or 1",
        lambda seed: LabelPowerset(_logistic()),
        _strengths("estimator__C", 0.1, 1.0),
        "scaled",
        cost=(30, 1.3, 1, 1),
    ),
]
_PACKAGES = [
    Rival(
        "lightgbm",
        "LightGBM",
        "one per label; 31 leaves, or 15 and half the rate",
        lambda seed: OneVsRestClassifier(_lightgbm(seed)),
        [{}, {"estimator__num_leaves": 15, "estimator__learning_rate": 0.05}],
        package="lightgbm",
        cost=(25, 0.7, 1, 1),
    ),
    Rival(
        "catboost",
        "CatBoost",
        "all labels in one model (MultiLogloss), 300 rounds; depth 4 or 6",
        lambda seed: CatBoost(random_state=seed),
        [{}, {"depth": 6}],
        "dense",
        package="catboost",
        cost=(40, 0.7, 1, 0.7),
        for_tables=False,
    ),
    Rival(
        "xgboost",
        "XGBoost",
        "trees with all labels in a leaf (multi_output_tree), 100 rounds; depth 4 or 6",
        lambda seed: XGBoost(random_state=seed),
        [{}, {"max_depth": 6}],
        package="xgboost",
        cost=(30, 0.7, 1, 0.7),
    ),
    Rival(
        "boomer",
        "BOOMER",
        "gradient boosted rules; shrinkage 0.3 or 0.1",
        lambda seed: _boomer(seed),
        [{}, {"shrinkage": 0.1}],
        package="mlrl",
        cost=(30, 1, 1, 1),
        for_tables=False,
    ),
    Rival(
        "omikuji",
        "Omikuji",
        "Parabel's label trees; 3 trees",
        lambda seed: Omikuji(),
        package="omikuji",
        cost=(3, 1, 0.3, 0.3),
        for_tables=False,
        for_many=True,
        sparse_labels=True,
    ),
]


def _lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=seed, verbose=-1, deterministic=True, force_row_wise=True)


def _boomer(seed: int) -> Any:
    from mlrl.boosting import BoomerClassifier

    return BoomerClassifier(random_state=seed + 1)  # it counts from 1


#: all contestants by name
RIVALS: dict[str, Rival] = {
    rival.name: rival for rival in (*_OURS, *_PAPER, *_SKLEARN, *_LITERATURE, *_PACKAGES)
}
