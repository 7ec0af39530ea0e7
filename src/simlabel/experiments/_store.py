"""Finished folds on disk, one small file each, and the digests that identify them."""

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
from simlabel._utils.files import replacing
from simlabel.datasets import Dataset
from simlabel.experiments._algorithms import Algorithm
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._splits import Protocol, Split
from simlabel.metrics import Criterion, UserMetric

_VERSIONED = {"simlabel", "sklearn", "numpy", "builtins"}  # packages identified by their versions
_WITHOUT_EFFECT = ("n_jobs", "verbose")  # parameters that do not change the result


def write_atomically(path: Path, content: str) -> None:
    """Write a text file completely or not at all.

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


def fold_path(
    folder: Path, data: Dataset, algorithm: Algorithm, protocol: Protocol, split: Split, *keys: str
) -> Path:
    """Return the file of a finished fold; `keys` are digests of the data and of the metrics.

    A stored fold is used only for the same rows, algorithm, parameters, source, protocol and versions, so
    that many comparisons can share a folder.
    """
    parts = (*filter(None, keys), algorithm_key(algorithm), repr(protocol), split.name)
    key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]
    return folder / _slug(data.name) / _slug(algorithm.name) / f"{split.name}-{key}.json"


def read_fold(path: Path, criteria: list[str]) -> FoldResult | None:
    """Return a finished fold with all criteria, or None."""
    try:
        result = FoldResult.from_dict(json.loads(path.read_text()))
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return None  # missing, damaged or of another version: the fold is run again
    return result if set(criteria) <= set(result.evaluation.values) else None


def write_fold(path: Path, result: FoldResult) -> None:
    """Store a finished fold."""
    write_atomically(path, json.dumps(result.to_dict()))


def data_key(data: Dataset) -> str:
    """Return a digest of all rows and labels."""
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
    """Return a digest of an algorithm: class, parameters, their sources, and package versions."""
    estimator = algorithm.estimator
    parameters: dict[str, Any] = {}
    code: list[Any] = [type(estimator)]
    for name, value in estimator.get_params(deep=True).items():
        if name.rpartition("__")[2] in _WITHOUT_EFFECT or _is_list_of_steps(value):
            continue
        # the parameters of a nested estimator are listed separately
        nested = hasattr(value, "get_params")
        parameters[name] = _address(value) if nested else value
        code += [type(value)] if nested else [value] if isinstance(value, FunctionType) else []
    package = importlib.import_module(type(estimator).__module__.partition(".")[0])
    versions = (
        simlabel.__version__,
        getattr(package, "__version__", ""),
        sklearn.__version__,
        np.__version__,
    )
    return f"{_address(estimator)} {joblib.hash(parameters)} {versions} {_sources(code)}"


def metrics_key(metrics: Iterable[Criterion]) -> str:
    """Return a digest of the user-defined metrics and their sources; empty without any."""
    own = [one for one in metrics if isinstance(one, UserMetric)]
    return "\n".join(f"{one.name} {_state(one.function)} {_sources(_parts(one.function))}" for one in own)


def _parts(function: Any) -> list[Any]:
    """Return what has source code: the function, the one in a partial, or the class of an object."""
    if isinstance(function, partial):
        return _parts(function.func)
    return [function if isinstance(function, FunctionType) else type(function)]


def _state(function: Any) -> str:
    """Return a digest of the state of a function: defaults, enclosed values, attributes."""
    if isinstance(function, partial):
        return f"{_state(function.func)} {joblib.hash((function.args, function.keywords))}"
    if not isinstance(function, FunctionType):
        return str(joblib.hash(getattr(function, "__dict__", None)))
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = [_state(one) for one in enclosed if isinstance(one, FunctionType | partial)]
    plain = [one for one in enclosed if not isinstance(one, FunctionType | partial)]
    return str(joblib.hash((inner, plain, function.__defaults__, function.__kwdefaults__)))


def _sources(code: Iterable[Any]) -> str:
    """Return a digest of the source files of classes, their base classes, and functions."""
    parts = [part for one in code for part in (one.__mro__ if isinstance(one, type) else (one,))]
    digest = hashlib.sha256()
    for part in dict.fromkeys(parts):
        if part.__module__.partition(".")[0] in _VERSIONED:
            continue
        try:
            digest.update(Path(inspect.getfile(part)).read_bytes())
        except (TypeError, OSError):  # not in a file, but in a notebook or at a prompt
            functions = vars(part).values() if isinstance(part, type) else [part]
            compiled = [one.__code__ for one in functions if isinstance(one, FunctionType)]
            digest.update(repr([_instructions(one) for one in compiled]).encode())
    return digest.hexdigest()


def _instructions(code: CodeType) -> tuple[Any, ...]:
    """Return the instructions of a function, without their positions."""
    constants = [_instructions(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_name, code.co_code, code.co_names, constants


def _address(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _is_list_of_steps(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(step, tuple) for step in value)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip(".") or "_"
