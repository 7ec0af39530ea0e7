"""Finished folds on disk: each is one small file, written whole or not at all."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import joblib
import numpy as np
import pandas as pd
import scipy.sparse as sp
import sklearn

import simlabel
from simlabel._utils.replacing import replacing
from simlabel.datasets import Dataset
from simlabel.experiments._algorithms import Algorithm
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._protocols import Protocol, Split
from simlabel.metrics import Criterion, OwnMetric

_COUNTED = {"simlabel", "sklearn", "numpy", "builtins"}  # packages whose versions are looked at
_WITHOUT_EFFECT = ("n_jobs", "verbose")  # parameters that do not change what comes out


def write_atomically(path: Path, content: str) -> None:
    """Write a text file, whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new" / "note.txt"
    >>> write_atomically(path, "done")
    >>> path.read_text()
    'done'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode())


class FoldStore:
    """A folder of finished folds.

    A fold is found again only for the same rows, the same algorithm with the same parameters and
    source, the same protocol and the same versions; so a folder can be shared by many comparisons.

    Parameters
    ----------
    folder : path
        It is made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)

    def path(
        self,
        data_key: str,
        data: Dataset,
        algorithm: Algorithm,
        protocol: Protocol,
        split: Split,
        own_metrics: str = "",
    ) -> Path:
        """Where the result of a fold is, or will be."""
        parts: tuple[str, ...] = (data_key, algorithm_key(algorithm), repr(protocol), split.name)
        parts += (own_metrics,) if own_metrics else ()
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
        return self.folder / _slug(data.name) / _slug(algorithm.name) / f"{split.name}-{key}.json"

    def read(self, path: Path, criteria: list[str]) -> FoldResult | None:
        """A finished fold that has all criteria; None where there is none."""
        try:
            result = FoldResult.from_dict(json.loads(path.read_text()))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None  # not ours, or of another version: the fold is run again and written over it
        return result if set(criteria) <= set(result.evaluation.values) else None

    @staticmethod
    def write(path: Path, result: FoldResult) -> None:
        """Keep a finished fold."""
        write_atomically(path, json.dumps(result.to_dict(), allow_nan=False))


def data_key(data: Dataset) -> str:
    """A digest of all rows and labels."""
    digest = hashlib.sha256()
    for matrix in (data.X, data.Y):
        if isinstance(matrix, pd.DataFrame):
            digest.update(matrix.to_csv(index=False).encode("utf-8", "replace"))
            continue
        parts = (matrix.data, matrix.indices, matrix.indptr) if sp.issparse(matrix) else (matrix,)
        for part in parts:
            array = np.ascontiguousarray(part)
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(array.data)
    if data.split is not None:
        digest.update(np.ascontiguousarray(data.split).data)
    return digest.hexdigest()


def algorithm_key(algorithm: Algorithm) -> str:
    """A digest of an algorithm's class, its parameters, their sources, and versions of what it runs on."""
    estimator = algorithm.estimator
    parameters: dict[str, Any] = {}
    code: list[Any] = [type(estimator)]
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] in _WITHOUT_EFFECT or _is_list_of_steps(value):
            continue
        # a nested estimator's parameters are listed by themselves
        nested = hasattr(value, "get_params")
        parameters[name] = _address(value) if nested else value
        code += [type(value)] if nested else [value] if isinstance(value, FunctionType) else []
    home = importlib.import_module(type(estimator).__module__.partition(".")[0])
    versions = (simlabel.__version__, getattr(home, "__version__", ""), sklearn.__version__, np.__version__)
    return f"{_address(estimator)} {joblib.hash(parameters)} {versions} {_sources(code)}"


def metrics_key(metrics: Iterable[Criterion]) -> str:
    """A digest of metrics of one's own and their sources; empty without any."""
    own = [one for one in metrics if isinstance(one, OwnMetric)]
    return "\n".join(f"{one.name} {_state(one.function)} {_sources(_parts(one.function))}" for one in own)


def _parts(function: Any) -> list[Any]:
    """What has a source of its own: the function, the one in a partial, or the class of an object."""
    if isinstance(function, partial):
        return _parts(function.func)
    return [function if isinstance(function, FunctionType) else type(function)]


def _state(function: Any) -> str:
    """A digest of what a function has besides its source: defaults, enclosed values, attributes."""
    if isinstance(function, partial):
        return f"{_state(function.func)} {joblib.hash((function.args, function.keywords))}"
    if not isinstance(function, FunctionType):
        return str(joblib.hash(getattr(function, "__dict__", None)))
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = [_state(one) for one in enclosed if isinstance(one, FunctionType | partial)]
    plain = [one for one in enclosed if not isinstance(one, FunctionType | partial)]
    return str(joblib.hash((inner, plain, function.__defaults__, function.__kwdefaults__)))


def _sources(code: Iterable[Any]) -> str:
    """A digest of the files in which classes, what they inherit from, and functions are written."""
    parts = [part for one in code for part in (one.__mro__ if isinstance(one, type) else (one,))]
    digest = hashlib.sha256()
    for part in dict.fromkeys(parts):
        if part.__module__.partition(".")[0] in _COUNTED:
            continue
        try:
            digest.update(Path(inspect.getfile(part)).read_bytes())
        except (TypeError, OSError):  # written in no file: a notebook, a prompt
            functions = vars(part).values() if isinstance(part, type) else [part]
            compiled = [one.__code__ for one in functions if isinstance(one, FunctionType)]
            digest.update(repr([_instructions(one) for one in compiled]).encode())
    return digest.hexdigest()


def _instructions(code: CodeType) -> tuple[Any, ...]:
    """What a function does, without where it stands."""
    constants = [_instructions(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_name, code.co_code, code.co_names, constants


def _address(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _is_list_of_steps(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(step, tuple) for step in value)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "_"
