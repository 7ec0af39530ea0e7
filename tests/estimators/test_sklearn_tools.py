"""scikit-learn's tools around a classifier, and notebook displays; any warning is an error."""

from __future__ import annotations

import copy
import pickle
import pydoc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.similarities import RBF, Linear

pytestmark = pytest.mark.filterwarnings("error")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 5))
Y = (X[:, :3] > 0).astype(int)
ONE = np.where(X[:, 0] > 0, "sea", "trees")
FRAME = pd.DataFrame(X, columns=list("abcde"))


def plain(**stages):
    return SMLClassifier(RBF(0.5), normalizer="zscore", random_state=0, **stages)


@pytest.mark.parametrize(
    "wrapped",
    [
        MultiOutputClassifier(plain()),
        ClassifierChain(plain()),
        OneVsRestClassifier(plain()),
        make_pipeline(FeatureUnion([("few", PCA(2)), ("all", StandardScaler())]), plain()),
        GridSearchCV(plain(), {"similarity__gamma": [0.1, 1.0], "influence": ["uniform", "ridge"]}, cv=3),
        GridSearchCV(plain(), {"similarity__gamma": [0.1, 1.0]}, cv=3, scoring="f1_micro"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_wrapped_for_label_sets(wrapped):
    assert (wrapped.fit(X, Y).predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize(
    "wrapped",
    [
        CalibratedClassifierCV(plain(), cv=3),
        GridSearchCV(
            make_pipeline(StandardScaler(), SMLClassifier(RBF(1.0))),
            {"smlclassifier__similarity__gamma": [0.1, 1.0]},
            cv=3,
            return_train_score=True,
        ),
    ],
    ids=lambda one: type(one).__name__,
)
def test_wrapped_for_classes(wrapped):
    assert (wrapped.fit(X, ONE).predict(X) == ONE).mean() > 0.8


def test_frames_between_steps():
    chosen = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"]), ("kept", "passthrough", ["c"])])
    model = make_pipeline(chosen.set_output(transform="pandas"), plain()).fit(FRAME, Y)
    assert (model.predict(FRAME) == Y).mean() > 0.8
    scaled = make_pipeline(StandardScaler().set_output(transform="polars"), plain())
    assert (scaled.fit(pl.DataFrame(FRAME), Y).predict(pl.DataFrame(FRAME)) == Y).mean() > 0.8


def test_memory(tmp_path):
    steps = [("scale", StandardScaler()), ("model", plain())]
    cached = Pipeline(steps, memory=str(tmp_path)).fit(X, Y)
    assert np.array_equal(cached.predict(X), Pipeline(steps).fit(X, Y).predict(X))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_out_of_fold(method):
    assert cross_val_predict(plain(), X, Y, cv=3, method=method).shape == Y.shape


@pytest.mark.parametrize(("y", "scoring"), [(ONE, "roc_auc"), (Y, "average_precision")])
def test_scorers(y, scoring):
    assert cross_val_score(plain(), X, y, cv=3, scoring=scoring).min() > 0.7


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_answer_alike(again):
    model = plain().fit(X, Y)
    assert np.array_equal(again(model).predict(X), model.predict(X))


@pytest.mark.parametrize(
    "y",
    [ONE, Y[:, 0], Y[:, 0] + 5, Y[:, 0].astype(bool), Y[:, 0].astype(float), Y, Y.astype(bool)],
    ids=["text", "int", "from 5", "bool", "float", "sets", "sets of bool"],
)
def test_answers_have_the_type_of_y(y):
    found = plain().fit(X, y).predict(X)
    assert found.dtype == y.dtype
    assert found.shape == y.shape


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_frames_of_bool_come_back_as_such(library):
    given = library({name: Y[:, k].astype(bool) for k, name in enumerate("xyz")})
    found = plain().fit(X, given).predict(X)
    assert type(found) is type(given)
    assert list(found.dtypes) == list(given.dtypes)


@pytest.mark.parametrize("rows", [1, 2, 15])
def test_few_rows_and_constant_labels(rows):
    ones = np.ones((rows, 2), dtype=int)
    assert (SMLClassifier().fit(X[:rows], ones).predict(X) == 1).all()
    assert SMLClassifier().fit(X[:rows], ["a"] * rows).predict_proba(X).tolist() == [[1.0]] * len(X)


@pytest.mark.parametrize("weighted", [plain(), SMLClassifier(random_state=0)], ids=["fixed", "searched"])
def test_weights_mean_copies(weighted):
    copies = copy.deepcopy(weighted).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0))
    model = weighted.fit(X, Y, sample_weight=np.full(len(X), 2.0))
    assert model.similarity_.gamma == pytest.approx(copies.similarity_.gamma)
    assert model.predict_proba(X) == pytest.approx(copies.predict_proba(X))


def objects():
    model = plain().fit(X, Y)
    searched = SMLClassifier(random_state=0).fit(X, Y)
    yield from (
        SMLClassifier(),
        SMLClassifier(RBF()),
        AutoSMLClassifier(),
        Tagger(),
        RBF(),
        2 * RBF() + Linear(),
    )
    yield from (model, searched, model.explain(X[:1]), model.describe(), model.plan_)
    yield from (model.tuning_, searched.tuning_)


def test_a_notebook_may_look_at_everything():
    for one in objects():
        assert repr(one)
        assert str(one)
        pydoc.render_doc(one)
        for name in ("_repr_html_", "_repr_mimebundle_"):
            getattr(one, name, dict)()
        for name in dir(one):
            if not name.startswith("_"):
                hasattr(one, name)  # which lets anything but AttributeError through
