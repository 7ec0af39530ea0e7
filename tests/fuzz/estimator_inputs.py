"""Estimators, sums and criteria on any input: finite results of the right shape, or an error that helps."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from _hostile import NUMBERS, Rng, ids, labels, made, matrix, pick, stage, weights
from sklearn.exceptions import NotFittedError

from simlabel import AutoSMLClassifier, SMLClassifier, load, metrics, similarity_sums
from simlabel.baselines import ADTBoostMH, BoosTexter, MLkNN, RankSVM
from simlabel.model.sketches import SKETCHES
from simlabel.normalizers import NORMALIZERS
from simlabel.ridge import INFLUENCES
from simlabel.rules import CALIBRATIONS, LABEL_RULES
from simlabel.similarities import RBF, SIMILARITIES, Cosine, Function, Laplacian, OnColumns
from simlabel.sums import ENGINES, SAMPLERS, WEIGHTINGS
from simlabel.tuning import TUNERS

SECONDS = 60.0
REFUSED = object()
LEAKS = re.compile(
    r"could not be broadcast|could not broadcast|is out of bounds|cannot convert float|inhomogeneous shape"
    r"|setting an array element|not aligned|core dimension|unhashable type|not supported between"
    r"|has no attribute|ufunc '|truth value of|invalid literal|Cannot cast|reduction operation|of an empty"
    r"|not iterable|has no len|indices must be|unsupported operand|must be real|too large to"
    r"|argument\b.*given|nopython|negative dimensions|Maximum allowed|array to concatenate|index exceeds"
    r"|not subscriptable|infs or NaNs|unexpected keyword|required positional|not callable|only length-1"
    r"|only 0-dim|NAType"
)


def warm() -> None:
    """Each similarity and each form of rows has been compiled for."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((12, 4)), (rng.random((12, 3)) < 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SIMILARITIES.names:
            if name != "precomputed":
                for rows in (X, X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))):
                    model = SMLClassifier(name, n_jobs=1).fit(rows, Y)
                    model.explain(rows)
                    model.leave_one_out()
        metrics.evaluate(Y, Y, X[:, :3])


def case(material: None, seed: int) -> None:
    """One estimator, made and asked in drawn ways; or one sum, or one criterion."""
    rng = np.random.default_rng(seed)
    odd = float(pick(rng, [0.0, 0.1, 0.1, 0.3]))
    kinds = [_classifier] * 6 + [_sums] * 2 + [_criteria, _baseline, _auto]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        pick(rng, kinds)(rng, odd)


def asked(
    call: Callable[..., Any], *arguments: Any, also: tuple[type[Exception], ...] = (), **named: Any
) -> Any:
    """What a call gives, or REFUSED where it was refused with an error that is meant for people."""
    try:
        return call(*arguments, **named)
    except (ValueError, TypeError, NotFittedError, *also) as error:
        frames = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
        ours = not any("sklearn/utils/validation" in name for name in frames)  # that one has its own voice
        said = str(error).partition("is a damaged")[0]  # which quotes what scipy found
        if not said or (ours and LEAKS.search(said)):
            raise
        return REFUSED


def check_finite(result: Any, shape: tuple[int, ...]) -> None:
    """Numbers, as many as were asked for, and each of them one."""
    if result is REFUSED:
        return
    assert np.shape(result) == shape, (np.shape(result), shape)
    assert np.isfinite(result).all(), result


def _count(rows: Any) -> int:
    """How many rows there are; one where they cannot be counted, and will be refused."""
    shape = getattr(rows, "shape", None)
    return int(shape[0]) if shape else len(rows) if isinstance(rows, list) else 1


def _similarity(rng: Rng, odd: float) -> Any:
    if rng.random() < 0.3:
        pair = [RBF(1.0), Laplacian(0.5), Cosine(), OnColumns(Cosine(), [0, 1]), RBF()]
        pair += [OnColumns(RBF(), pick(rng, [[-1], ["a"], [99], slice(0, 2), [], "c0", None, 0, [0, 0]]))]
        value = pick(rng, [1.0, 0.5, np.nan, "x", None])  # drawn once: a function gives a pair one value
        pair += [Function(lambda a, b: value)] if odd else []
        one, other = pick(rng, pair), pick(rng, pair)
        return pick(rng, [one, one + other, one * other])
    return stage(rng, SIMILARITIES, odd)


def _settings(rng: Rng, odd: float) -> dict[str, Any]:
    """Arguments of the constructor: few that are not the default, since odd ones hide each other."""
    some: dict[str, Callable[[], Any]] = {
        "similarity": lambda: _similarity(rng, odd),
        "normalizer": lambda: pick(rng, [None, ["zscore", "l2"], [], stage(rng, NORMALIZERS, odd)]),
        "weighting": lambda: stage(rng, WEIGHTINGS, odd),
        "influence": lambda: stage(rng, INFLUENCES, odd),
        "label_rule": lambda: stage(rng, LABEL_RULES, odd),
        "calibration": lambda: stage(rng, CALIBRATIONS, odd),
        "sampler": lambda: pick(rng, [3, stage(rng, SAMPLERS, odd), pick(rng, NUMBERS) if odd else 2]),
        "sketch": lambda: stage(rng, SKETCHES, odd),
        "tuning": lambda: stage(rng, TUNERS, odd),
        "engine": lambda: stage(rng, ENGINES, odd),
        "n_jobs": lambda: pick(rng, [1, 2, None, -1, *([0, "x", 1.5, -9] if odd else [])]),
        "random_state": lambda: pick(rng, [0, None, *([-1, "x", 2**40] if odd else [])]),
    }
    names = [name for name in some if rng.random() < 0.25]
    return {"n_jobs": 1, **{name: some[name]() for name in names}}


def _classifier(rng: Rng, odd: float) -> None:
    """Fit, and then a few calls, of which the refused ones leave the model as it was."""
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    model = asked(SMLClassifier, **_settings(rng, odd))
    X = matrix(rng, n, d, odd)
    first = pick(rng, [model.fit, model.fit, model.partial_fit])
    arguments = {"sample_weight": weights(rng, n, odd), "ids": ids(rng, n, odd)}
    if asked(first, X, labels(rng, n, odd), **arguments) is REFUSED:
        assert not model.__sklearn_is_fitted__()
        asked(model.predict, rng.random((2, d)))
        return
    width = getattr(model, "n_features_in_", d)
    probe = X[:1] if isinstance(X, list) else rng.random((3, width))
    for _ in range(int(rng.integers(1, 6))):
        before = asked(model.decision_function, probe)
        model, refused = pick(rng, CALLS)(rng, model, width, odd)
        after = asked(model.decision_function, probe)
        if refused:
            assert (before is REFUSED) == (after is REFUSED)
            same = before is REFUSED or np.allclose(before, after, rtol=1e-9, atol=0.0)
            assert same, "a refused call changed the model"


Call = Callable[[Rng, Any, int, float], tuple[Any, bool]]


def _query_route(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    """All that can be asked about queries."""
    n = int(rng.integers(1, 6))
    Q = matrix(rng, n, width, odd)
    n = _count(Q)
    labels = len(model.classes_)
    single = model._model.labels.kind == "single"
    scores = asked(model.decision_function, Q)
    check_finite(scores, (n,) if single and labels == 2 else (n, labels))
    proba = asked(model.predict_proba, Q)
    check_finite(proba, (n, labels))
    assert proba is REFUSED or ((proba >= 0) & (proba <= 1)).all()
    sizes = asked(model.predict_set_size, Q)
    check_finite(sizes, (n,))
    found = asked(model.predict, Q)
    assert found is REFUSED or found.shape[0] == n if hasattr(found, "shape") else True
    sets = asked(model.predict_sets, Q)
    assert sets is REFUSED or single or [len(one) for one in sets] == list(sizes)
    check_finite(asked(model.novelty, Q), (n,))
    asked(model.suggest, Q, pick(rng, [1, 3, *(NUMBERS if odd else [])]))
    why = asked(model.explain, Q, pick(rng, [1, 10, *(NUMBERS if odd else [])]))
    assert why is REFUSED or (why.to_frame() is not None and str(why))
    asked(model.plan, Q)
    asked(model.score, Q, labels_of(rng, n, odd))
    return model, True


def labels_of(rng: Rng, n: int, odd: float) -> Any:
    """Labels for as many rows; there may be none."""
    return labels(rng, max(1, n), odd)


def _teach(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    n = int(rng.integers(1, 5))
    names = ids(rng, n, odd)
    classes = pick(rng, [None, None, None, ["new", "sea"], [1, 2], "x", [np.nan], [["a"]], 3])
    done = asked(
        model.partial_fit,
        matrix(rng, n, width, odd),
        labels(rng, n, odd),
        classes=classes if odd else None,
        sample_weight=weights(rng, n, odd),
        ids=names,
    )
    return model, done is REFUSED


def _forget(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    known = model.ids_.tolist()
    removed = [pick(rng, known) for _ in range(int(rng.integers(0, 4)))]
    removed = ids(rng, 2, odd) if rng.random() < odd else removed
    return model, asked(model.forget, removed, also=(KeyError,)) is REFUSED


def _evaluate(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    """All that can be asked about the references."""
    n = model.n_references_
    check_finite(asked(model.leave_one_out), (n, len(model.classes_)))
    asked(model.suspicious_labels, pick(rng, [5, None, *(NUMBERS if odd else [])]))
    asked(model.contradicting_duplicates, pick(rng, [0.95, 0.1, *(NUMBERS if odd else [])]))
    check_finite(asked(model.data_values, pick(rng, ["average_precision", "one_error", *NUMBERS])), (n,))
    assert str(asked(lambda: model.plan_))
    assert repr(model)
    return model, True


def _refit(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    n = int(rng.integers(1, 20))
    done = asked(
        model.fit, matrix(rng, n, width, odd), labels(rng, n, odd), weights(rng, n, odd), ids(rng, n, odd)
    )
    return model, done is REFUSED


def _change(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    call = pick(rng, [model.retune, model.set_label_rule, model.set_engine])
    arguments = {
        model.set_label_rule: [stage(rng, LABEL_RULES, odd)],
        model.set_engine: [stage(rng, ENGINES, odd)],
    }.get(call, [])
    return model, asked(call, *arguments) is REFUSED


def _keep(rng: Rng, model: Any, width: int, odd: float) -> tuple[Any, bool]:
    """Saved and loaded, it is the same model."""
    path = pick(rng, ["kept", "kept", "", "absent/kept", "\x00", ".", None])
    if asked(model.save, path, also=(OSError,)) is REFUSED:
        return model, True
    again = load(path, mmap=bool(rng.integers(2)))  # what was saved opens
    assert str(again.get_params()) == str(model.get_params())
    return again, True


CALLS: list[Call] = [
    _query_route,
    _query_route,
    _query_route,
    _teach,
    _forget,
    _evaluate,
    _refit,
    _change,
    _keep,
]


def _sums(rng: Rng, odd: float) -> None:
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    Q, X = matrix(rng, 3, d, odd), matrix(rng, n, d, odd)
    V = pick(rng, [matrix(rng, n, 2, odd), labels(rng, n, odd), np.ones((n, 2))])
    exclude = pick(
        rng, [None, None, [0, 0, -1], *([[9] * 3, [99] * 3, [-7] * 3, "x", [0.5] * 3, 3] if odd else [])]
    )
    options = {
        name: value
        for name, value in _settings(rng, odd).items()
        if name in ("weighting", "engine", "n_jobs")
    }
    found = asked(similarity_sums, Q, X, V, _similarity(rng, odd), exclude=exclude, **options)
    if found is not REFUSED:
        columns = np.shape(V)[1]
        check_finite(found, (_count(Q), columns))


def _criteria(rng: Rng, odd: float) -> None:
    n = int(rng.integers(1, 12))
    Y = (rng.random((n, 3)) < 0.5).astype(int)
    truth, predicted = (labels(rng, n, odd) if rng.random() < odd else Y for _ in range(2))
    scores = matrix(rng, n, 3, odd)
    name = pick(
        rng, [*metrics.CRITERIA, *metrics.MORE_CRITERIA, "precision@2", "nothing", "ndcg@0", "ndcg@99"]
    )
    found = asked(metrics.evaluate, truth, predicted, scores, criteria=[name])
    assert found is REFUSED or not np.isinf(found[name])
    call = pick(rng, [metrics.one_error, metrics.coverage, metrics.ranking_loss, metrics.average_precision])
    asked(call, truth, scores)
    call = pick(rng, [metrics.hamming_loss, metrics.subset_accuracy, metrics.f1_macro, metrics.f1_instance])
    asked(call, truth, predicted)
    asked(pick(rng, [metrics.precision_at, metrics.ndcg_at]), truth, scores, pick(rng, [1, 2, 3, *NUMBERS]))


def _fit_and_ask(rng: Rng, model: Any, n: int, d: int, odd: float) -> None:
    """A fit and the questions that every classifier here answers."""
    if asked(model.fit, matrix(rng, n, d, odd), labels(rng, n, odd)) is REFUSED:
        return
    Q = matrix(rng, 3, d, odd)
    for ask in (model.predict, model.decision_function):
        found = asked(ask, Q)
        assert found is REFUSED or (len(found) if isinstance(found, list) else found.shape[0]) >= 0
    scores = asked(model.decision_function, Q)
    assert scores is REFUSED or np.isfinite(scores).all()


def _baseline(rng: Rng, odd: float) -> None:
    cls = pick(rng, [MLkNN, BoosTexter, ADTBoostMH, RankSVM])
    few = {MLkNN: {"n_neighbors": 3}, RankSVM: {"degree": 2, "max_iter": 50}}.get(cls, {"n_rounds": 5})
    model = cls(**few)
    if rng.random() < odd:
        strange = made(rng, cls).get_params()
        model.set_params(**{name: strange[name] for name in strange if name not in few})
    _fit_and_ask(rng, model, int(rng.integers(1, 20)), int(rng.integers(1, 5)), odd)


def _auto(rng: Rng, odd: float) -> None:
    some = [(None, "rbf", "uniform"), ("zscore", "linear", "ridge"), ("l2", "cosine", "label_mean")]
    some += [("x", 3, None), (None,), "abc", (None, "precomputed", "uniform")] if odd else []
    model = AutoSMLClassifier(
        configurations=[pick(rng, some) for _ in range(int(rng.integers(0 if odd else 1, 3)))],
        criterion=pick(rng, ["average_precision", "hamming_loss", *(NUMBERS if odd else [])]),
        budget=pick(rng, [None, 0.001, *(NUMBERS if odd else [])]),
        n_jobs=1,
    )
    _fit_and_ask(rng, model, int(rng.integers(1, 20)), int(rng.integers(1, 5)), odd)
