"""The methods of the benchmark: ours, the paper's, scikit-learn's, the literature's, other packages'."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from league.ablation import Ablated
from league.literature import IBLRML, ChainEnsemble, RAkEL
from league.packages import CatBoost, Omikuji, boomer, lightgbm, xgboost
from league.searched import Searched
from simlabel._utils.text import one_line
from simlabel.baselines import ADTBoostMH, BoosTexter, LabelPowerset, MLkNN, RankSVM
from simlabel.datasets import Dataset
from simlabel.estimators import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.experiments import Algorithm

_MANY = 100  # labels
_INSTALL = {
    "mlrl": "pip install --no-deps mlrl-boomer mlrl-common mlrl-util (newer versions than required work)"
}
_IMPORTED = {"mlrl": "mlrl.boosting"}  # the module that a package is imported by, where it has another name
_WIDE, _LONG = 300, 7000  # columns and rows up to which Tagger gets a matrix as a table
_DENSE = 1 << 30  # bytes of dense labels above which methods that need them are skipped
_TREES, _STEPS = 300, 1000
Grid = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Attributes
    ----------
    name, title, note : str
    make : callable
        Returns the estimator for a seed.
    grid : sequence of dict
        Candidates of the search on the training rows; None for methods with their own search.
    before : "scaled", "dense" or None
        What it needs: dense columns scaled to unit variance, or dense rows.
    package : str or None
        Required package.
    for_tables, for_many : bool
        Whether it is evaluated on raw tables (by TF-IDF weights), and only on sets with many labels.
    sparse_labels : bool
    """

    name: str
    title: str
    note: str
    make: Callable[[int], Any]
    grid: Grid | None = ({},)
    before: str | None = None
    package: str | None = None
    for_tables: bool = True
    for_many: bool = False
    sparse_labels: bool = False

    @property
    def missing(self) -> str | None:
        """Why its package cannot be used here; None if it can."""
        return None if self.package is None else _why_missing(self.package)

    def why_skipped(self, data: Dataset) -> str | None:
        """Return why it is not evaluated on a data set; None if it is."""
        table = isinstance(data.X, pd.DataFrame)
        if table and not self.for_tables:
            return "does not support raw tables"
        if self.for_many and data.n_labels < _MANY:
            return f"for {_MANY} labels and more"
        dense = 8 * data.n_rows * data.n_labels
        if not self.sparse_labels and dense > _DENSE:
            return f"needs labels as a dense matrix, which would have {dense / (1 << 30):.1f} GiB"
        large = not table and (sp.issparse(data.X) or data.X.shape[1] > _WIDE or data.n_rows > _LONG)
        if self.name == "tagger" and large:
            return f"for tables, or dense sets of up to {_WIDE} columns and {_LONG:,} rows"
        return None

    def algorithm(self, data: Dataset, seed: int = 0) -> Algorithm:
        """Return the estimator for a data set, with its preprocessing and search."""
        estimator, first = self.make(seed), self._preprocessing(data)
        whole = Pipeline([("first", first), ("method", estimator)]) if first is not None else estimator
        if self.grid is None:
            return Algorithm(self.name, self.title, whole, self.sparse_labels)
        prefix = "method__" if first is not None else ""
        grid = [{f"{prefix}{key}": value for key, value in one.items()} for one in self.grid]
        searched = Searched(whole, grid, sparse_labels=self.sparse_labels, seed=seed)
        return Algorithm(self.name, self.title, searched, True)

    def _preprocessing(self, data: Dataset) -> Any:
        """Return a transformer, or None: TF-IDF of tables, scaled columns, dense rows, frames for Tagger."""
        if isinstance(data.X, pd.DataFrame):
            if self.name == "tagger":
                return None
            words = Converted("texts"), TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
            return make_pipeline(*words, *([Converted("dense")] if self.before == "dense" else []))
        if self.name == "tagger":
            return Converted("frame")
        if sp.issparse(data.X):
            return Converted("dense") if self.before == "dense" else None
        return StandardScaler() if self.before == "scaled" else None


class Converted(TransformerMixin, BaseEstimator):
    """Rows in another form. Its repr identifies stored folds; that of FunctionTransformer has an address.

    Parameters
    ----------
    form : {"dense", "frame", "texts"}
        A dense array of a sparse one, a data frame of a matrix, or one text for each row of a table.

    Examples
    --------
    >>> Converted("texts").transform(pd.DataFrame({"title": ["a sea", None], "year": [1, 2]}))
    ['a sea 1', ' 2']
    """

    def __init__(self, form: str) -> None:
        self.form = form

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return self: there is nothing to learn."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def transform(self, X: Any) -> Any:
        """Convert rows."""
        if self.form == "dense":
            return X.toarray()
        if self.form == "frame":
            return pd.DataFrame(np.asarray(X), columns=[f"x{k}" for k in range(X.shape[1])])
        return [" ".join(cells) for cells in X.fillna("").astype(str).itertuples(index=False)]


@functools.cache
def _why_missing(package: str) -> str | None:
    """Return why a package cannot be used: an installed package may fail to import."""
    name = package.replace("-", "_")
    how = _INSTALL.get(package, "pip install 'simlabel[bench]'")
    if importlib.util.find_spec(name) is None:
        return f"{package} is not installed: {how}"
    try:
        importlib.import_module(_IMPORTED.get(package, name))
    except Exception as error:  # a library that is missing, another version of numpy: anything
        said = one_line(f"{type(error).__name__}: {error}")
        return f"{package} is installed, but cannot be imported ({said}); install it again: {how}"
    return None


def _of(kind: Callable[..., Any], **parameters: Any) -> Callable[[int], Any]:
    """Return a function that makes an estimator with a seed."""
    return lambda seed: kind(random_state=seed, **parameters)


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=_STEPS)


def _strengths(key: str, *values: float) -> Grid:
    return [{key: value} for value in values]


_FOREST = [{}, {"min_samples_leaf": 3}, {"max_features": 0.33}]
_VOTES = [{"estimator__C": 0.1}, {"estimator__C": 0.1, "soft": True}, {"estimator__C": 1.0, "soft": True}]
_own = functools.partial(Method, grid=None, sparse_labels=True)
_published = functools.partial(Method, for_tables=False, sparse_labels=True)
_OURS = [
    _own(
        "autosml",
        "AutoSML",
        "chooses a configuration by leave-one-out",
        _of(AutoSMLClassifier, n_jobs=1),
    ),
    _own("sml", "SML", "the paper's method, gamma by its search", _of(SMLClassifier, n_jobs=1)),
    _own("tagger", "Tagger", "raw tables; of matrices, the columns as numbers", _of(Tagger, n_jobs=1)),
]
_PAPER = [
    Method(
        "mlknn",
        "ML-kNN",
        "5, 10 or 20 neighbors",
        lambda seed: MLkNN(n_jobs=1),
        _strengths("n_neighbors", 10, 5, 20),
        sparse_labels=True,
    ),
    _published(
        "boostexter", "BoosTexter", "500 boosted stumps, as published", lambda seed: BoosTexter(n_jobs=1)
    ),
    _published(
        "adtboost",
        "ADTBoost.MH",
        "alternating decision tree, 50 rounds, as published",
        lambda seed: ADTBoostMH(n_jobs=1),
    ),
    _published(
        "ranksvm",
        "Rank-SVM",
        "columns scaled; polynomial of degree 8 as published, or RBF",
        lambda seed: RankSVM(),
        [{"kernel": "rbf"}, {"degree": 8}],
        "scaled",
    ),
]
_SKLEARN = [
    Method(
        "rf",
        "RandomForest",
        f"{_TREES} trees; leaves of 1 or 3 rows, or a third of the columns",
        _of(RandomForestClassifier, n_estimators=_TREES, n_jobs=1),
        _FOREST,
    ),
    Method(
        "et",
        "ExtraTrees",
        "as RandomForest",
        _of(ExtraTreesClassifier, n_estimators=_TREES, n_jobs=1),
        _FOREST,
    ),
    Method(
        "hgb",
        "HistGradientBoosting",
        "one per label; 31 leaves, or 15 and half the rate",
        lambda seed: OneVsRestClassifier(HistGradientBoostingClassifier(random_state=seed)),
        [{}, {"estimator__max_leaf_nodes": 15, "estimator__learning_rate": 0.05}],
        "dense",
    ),
    Method(
        "lr",
        "Logistic regression",
        "one per label, columns scaled; C of 0.01 to 10",
        lambda seed: OneVsRestClassifier(_logistic()),
        _strengths("estimator__C", 0.1, 0.01, 1.0, 10.0),
        "scaled",
    ),
    Method(
        "svc",
        "LinearSVC",
        "one per label, columns scaled; C of 0.001 to 1",
        lambda seed: OneVsRestClassifier(LinearSVC(random_state=seed, max_iter=5000)),
        _strengths("estimator__C", 0.01, 0.001, 0.1, 1.0),
        "scaled",
    ),
    Method(
        "prior",
        "Frequencies",
        "every row gets the labels' frequencies: the result without features",
        lambda seed: DummyClassifier(strategy="prior"),
    ),
]
_LITERATURE = [
    Method(
        "ecc",
        "Ensemble of chains",
        "10 chains of logistic regressions on bootstrap samples; C of 0.1 or 1",
        lambda seed: ChainEnsemble(_logistic(), random_state=seed),
        _strengths("estimator__C", 0.1, 1.0),
        "scaled",
    ),
    Method(
        "rakel",
        "RAkEL",
        "sets of 3 labels, twice as many as labels; logistic regressions, hard or soft votes; C of 0.1 or 1",
        lambda seed: RAkEL(_logistic(), random_state=seed),
        _VOTES,
        "scaled",
    ),
    Method(
        "iblr",
        "IBLR-ML",
        "10 or 20 neighbors; with the features too",
        lambda seed: IBLRML(),
        [{}, {"n_neighbors": 20}, {"with_features": True, "C": 0.1}],
    ),
    Method(
        "lp",
        "Label powerset",
        "one logistic regression over the label sets; C of 0.1 or 1",
        lambda seed: LabelPowerset(_logistic()),
        _strengths("estimator__C", 0.1, 1.0),
        "scaled",
    ),
]
_PACKAGES = [
    Method(
        "lightgbm",
        "LightGBM",
        "one per label; 31 leaves, or 15 and half the rate",
        lambda seed: OneVsRestClassifier(lightgbm(seed)),
        [{}, {"estimator__num_leaves": 15, "estimator__learning_rate": 0.05}],
        package="lightgbm",
    ),
    Method(
        "catboost",
        "CatBoost",
        "all labels in one model (MultiLogloss), 300 rounds; depth 4 or 6",
        _of(CatBoost),
        [{}, {"depth": 6}],
        "dense",
        package="catboost",
        for_tables=False,
    ),
    Method(
        "xgboost",
        "XGBoost",
        "trees with all labels in a leaf (multi_output_tree), 100 rounds; depth 4 or 6",
        xgboost,
        [{}, {"max_depth": 6}],
        package="xgboost",
    ),
    Method(
        "boomer",
        "BOOMER",
        "gradient boosted rules; shrinkage 0.3 or 0.1",
        boomer,
        [{}, {"shrinkage": 0.1}],
        package="mlrl",
        for_tables=False,
    ),
    Method(
        "omikuji",
        "Omikuji",
        "Parabel's label trees; 3 trees",
        lambda seed: Omikuji(),
        package="omikuji",
        for_tables=False,
        for_many=True,
        sparse_labels=True,
    ),
]


#: all methods by name
METHODS: dict[str, Method] = {one.name: one for one in (*_OURS, *_PAPER, *_SKLEARN, *_LITERATURE, *_PACKAGES)}

#: ingredient -> its replacement
INGREDIENTS = {
    "normalizer": "unit length alone, as in the paper",
    "similarity": "RBF alone, as in the paper",
    "influence": "every reference has the same influence, as in the paper",
    "mixing": "scores are not mixed over labels",
    "rule": "the paper's set size",
}


def _without(ingredient: str) -> Method:
    def make(seed: int) -> Any:
        return Ablated(AutoSMLClassifier(random_state=seed, n_jobs=1), ingredient)

    title = f"without {ingredient}"
    name = title.replace(" ", "_")
    return Method(name, title, INGREDIENTS[ingredient], make, None, sparse_labels=True)


#: AutoSML, AutoSML without each ingredient, and the paper's SML
ABLATION: dict[str, Method] = {
    one.name: one for one in (METHODS["autosml"], *map(_without, INGREDIENTS), METHODS["sml"])
}
