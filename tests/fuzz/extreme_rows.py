"""Fit on extreme numbers: a model that `fit` accepts can be saved, loaded, and predicts the same.

The seeds enumerate all combinations of similarity, normalizer, influence, label rule, calibration, extreme
value and precision, in an order that mixes them; as many seeds as there are combinations cover each once.
"""

from __future__ import annotations

import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from estimator_inputs import LEAKS

from simlabel import SMLClassifier, load
from simlabel.similarities import SIMILARITIES

SECONDS = 20.0

Array = np.ndarray[Any, Any]

#: what is put in place of some numbers of the training rows
VALUES: dict[str, Any] = {
    "1e100": lambda X: _rows(X, 1e100),
    "1e-300": lambda X: _rows(X, 1e-300),
    "1e308": lambda X: _rows(X, 1e308),
    "largest": lambda X: _rows(X, np.finfo(X.dtype).max),
    "denormal": lambda X: _rows(X, np.finfo(X.dtype).smallest_subnormal),
    "denormal column": lambda X: _column(X, np.arange(len(X)) * np.finfo(X.dtype).smallest_subnormal),
    "1e200 column": lambda X: _column(X, 1e200 * X[:, 0].astype(np.float64)),
    "both signs": lambda X: _column(X, np.where(np.arange(len(X)) % 2, 1, -1) * float(np.finfo(X.dtype).max)),
    "constant column": lambda X: _column(X, 3.0),
    "constant 1e100": lambda X: _column(X, 1e100),
    "zero rows": lambda X: _rows(X, 0.0),
    "all zero": np.zeros_like,
    "all 1e100": lambda X: _column(_column(X, 1e100), 1e100, 1),
    "all denormal": lambda X: X * np.finfo(X.dtype).smallest_subnormal,
    "plain": lambda X: X,
}
AXES: dict[str, list[Any]] = {
    "similarity": [name for name in SIMILARITIES.names if name != "precomputed"],
    "normalizer": [None, "l2", "zscore", "minmax", "quantile", "relevance", ["zscore", "l2"]],
    "influence": ["uniform", "label_mean", "ridge"],
    "label_rule": ["threshold", "per_label", "cutoff"],
    "calibration": [None, "loo"],
    "values": list(VALUES),
    "dtype": ["f8", "f4"],
}
N_CASES = math.prod(map(len, AXES.values()))
#: an odd step through all combinations that changes every axis from one seed to the next
_STEP = next(step for step in range(round(0.618 * N_CASES), N_CASES) if math.gcd(step, N_CASES) == 1)

Settings = dict[str, Any]


def settings_of(seed: int) -> Settings:
    """The combination with this number."""
    place, settings = seed * _STEP % N_CASES, {}
    for name, choices in AXES.items():
        place, at = divmod(place, len(choices))
        settings[name] = choices[at]
    return settings


def warm() -> None:
    """Compile for every similarity and both precisions."""
    for similarity in AXES["similarity"]:
        for dtype in AXES["dtype"]:
            plain = {"label_rule": "auto", "calibration": "loo", "values": "plain", "dtype": dtype}
            check({"similarity": similarity, "normalizer": None, "influence": "uniform", **plain})


def case(material: None, seed: int) -> None:
    """One combination."""
    check(settings_of(seed))


def check(settings: Settings) -> None:
    """Fit refuses with a message, or the model and what is loaded from its file predict the same."""
    given = {name: value for name, value in settings.items() if name not in ("values", "dtype")}
    X, y = rows(settings["values"], settings["dtype"])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = SMLClassifier(**given).fit(X, y)
        except ValueError as error:
            check_message(error)
            return
        model.save("model")
        found = predictions(model, X)
        for mmap in (False, True):
            again = predictions(load(Path("model"), mmap=mmap), X)
            for one, other in zip(found, again, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=f"{settings}, {mmap=}")


def predictions(model: SMLClassifier, X: Array) -> list[Any]:
    """What the model says of its own rows and of others: finite numbers, or the message of a refusal."""
    others = np.array([[1, 1], [0, 0], [0.5, 2], [1e-30, 1e30]], dtype=X.dtype)
    found: list[Any] = []
    for Q in (X, others):
        for method in (model.decision_function, model.predict_proba, model.predict_set_size, model.predict):
            try:
                result = method(Q)
            except ValueError as error:
                check_message(error)
                found.append(str(error))
            else:
                if method != model.predict:
                    assert np.isfinite(result).all(), (method, result)
                found.append(result)
    return found


def check_message(error: ValueError) -> None:
    """Raise where a message is none for users: where it quotes what numpy or scipy stumbled over."""
    if not str(error) or LEAKS.search(str(error)):
        raise AssertionError(f"an error that does not help: {error}") from error


def rows(values: str, dtype: str) -> tuple[Array, list[set[str]]]:
    """Twelve rows of two columns with extreme values among them, and their label sets."""
    rng = np.random.default_rng(5)
    X = rng.random((12, 2)).astype(dtype)
    with np.errstate(all="ignore"):
        X = VALUES[values](X)
    limit = np.finfo(dtype).max
    X = np.clip(np.asarray(X, dtype=np.float64), -float(limit), float(limit)).astype(dtype)
    return X, [{"a"} if k % 3 else {"a", "b"} if k % 2 else {"b", "c"} for k in range(12)]


def _rows(X: Array, value: float) -> Array:
    return np.vstack([X[:-2].astype(np.float64), np.full((2, 2), value, dtype=np.float64)])


def _column(X: Array, value: Any, k: int = 0) -> Array:
    X = X.astype(np.float64)
    X[:, k] = value
    return X
