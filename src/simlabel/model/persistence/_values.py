"""Values to JSON and back, exactly: every type comes back as it was, and no other type is read.

A file holds no code: classes are named from a closed list, functions by the names that `register` gave them.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.registry import Registry
from simlabel._utils.validation import AnyArray, Rows, object_array
from simlabel.labels import Hierarchy
from simlabel.model.persistence._file import (
    MAX_COPIES,
    Arrays,
    ModelFileError,
    ModelState,
    error_context,
    is_storable,
)
from simlabel.model.sketches import SKETCHES, FeatureSums, PrototypeSums, Waves
from simlabel.normalizers import NORMALIZERS, Chain
from simlabel.ridge import INFLUENCES, Mixing, Solved
from simlabel.rules import (
    CALIBRATIONS,
    LABEL_RULES,
    UNLABELED_METHODS,
    CustomRule,
    LogisticCurve,
    PiecewiseCurve,
)
from simlabel.similarities import (
    SIMILARITIES,
    ColumnView,
    Function,
    OnColumns,
    Product,
    Scaled,
    Similarity,
    Sum,
)
from simlabel.sums import ENGINES, SAMPLERS, WEIGHTINGS, CustomWeighting, Sampled
from simlabel.tables import ENCODERS, Column, EmbeddedColumn, Embedding, NumberColumn, TermColumn, Vocabulary
from simlabel.tuning import TUNERS, TuningResult

_PLAIN = (str, int, float, bool, type(None))
_CONTAINERS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix)}
_CSR = ("data", "indices", "indptr")
_MAX_DEPTH = 100
_MAX_RANGE = 1 << 22  # numbers of a range in a short file


def _classes() -> Iterable[type[Any]]:
    registries: list[Registry[Any]] = [SIMILARITIES, WEIGHTINGS, NORMALIZERS, INFLUENCES]
    registries += [
        LABEL_RULES,
        CALIBRATIONS,
        TUNERS,
        ENGINES,
        SAMPLERS,
        SKETCHES,
        ENCODERS,
        UNLABELED_METHODS,
    ]
    for registry in registries:
        yield from registry.classes.values()
    yield from (Function, Sum, Product, Scaled, OnColumns, ColumnView, Chain, CustomWeighting, CustomRule)
    yield from (FeatureSums, PrototypeSums, Waves)
    yield from (Column, Vocabulary, TermColumn, NumberColumn, Embedding, EmbeddedColumn)
    yield from (Hierarchy, Sampled, Solved, Mixing, PiecewiseCurve, LogisticCurve, TuningResult)


#: name in a file -> class: the names that the classes declare, which stay when code moves
CLASSES: dict[str, type[Any]] = {cls.file_key: cls for cls in _classes()}
_KEYS: dict[type[Any], str] = {cls: key for key, cls in CLASSES.items()}
_registered: dict[str, Callable[..., Any]] = {}


def register(name: str, fn: Callable[..., Any]) -> None:
    """Name a function, or a class of similarities, so that models that use it can be saved and loaded.

    A model file never holds code. Register the same under the same name before `load`; a name
    that is registered again stands for the new function. Of an object of the class the file holds its
    parameters, and the attributes that its `fitted_state` names.

    Parameters
    ----------
    name : str
        The name in the file.
    fn : callable
        A similarity, a weighting or a label rule as a function; or a subclass of `Similarity`.

    Examples
    --------
    >>> def shared_letters(a, b):
    ...     return len(set(a) & set(b))
    >>> register("shared letters", shared_letters)
    """
    if not isinstance(name, str) or not name:
        raise TypeError(f"register: name must be a non-empty string, got {name!r}.")
    if not callable(fn):
        raise TypeError(f"register: fn must be callable, got {fn!r}.")
    _registered[name] = fn


def _registered_name(fn: Any) -> str | None:
    return next((name for name, known in _registered.items() if known is fn), None)


def _parameters(cls: type[Any]) -> list[str]:
    return [f.name for f in fields(cls)] if is_dataclass(cls) else list(cls._get_param_names())


class Writer:
    """Encodes values as JSON, and collects the arrays that they hold."""

    def __init__(self) -> None:
        self.arrays: dict[str, AnyArray] = {}

    def encode(self, value: Any, where: str) -> Any:
        """Return JSON for a value; `where` names it in an error."""
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind in _CONTAINERS.values() or kind in (dict, slice, range):
            return self._container(value, where)
        if kind in _KEYS:
            return {"is": "stage", "class": _KEYS[kind], "values": self._attributes(value, where)}
        if kind in _SPARSE.values():
            arrays = {part: self.array(getattr(value, part), f"{where}.{part}") for part in _CSR}
            return {"is": kind.__name__, "shape": [int(n) for n in value.shape], **arrays}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return {"is": "scalar", "dtype": value.dtype.str, "value": value.item()}
        if isinstance(value, np.dtype) and value.kind in "biufU":
            return {"is": "dtype", "dtype": value.str}
        if hasattr(value, "__array__") and hasattr(value, "dtype"):
            return self.array(value, where)
        return self._named(value, where)

    def _container(self, value: Any, where: str) -> ModelState:
        kind, items = type(value), value
        if kind is dict:
            pairs = [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"is": "dict", "items": pairs}
        if kind in (slice, range):
            items = (value.start, value.stop, value.step)
        return {
            "is": kind.__name__,
            "items": [self.encode(item, f"{where}[{i}]") for i, item in enumerate(items)],
        }

    def _named(self, value: Any, where: str) -> ModelState:
        """Return JSON for a registered function, or an object of a registered class."""
        name = _registered_name(value)
        if name is not None:
            return {"is": "function", "name": name}
        name = _registered_name(type(value)) if isinstance(value, Similarity) else None
        if name is None:
            raise TypeError(_refusal(value, where))
        return {"is": "registered", "name": name, "values": self._attributes(value, where)}

    def array(self, value: Any, where: str) -> ModelState:
        """Return JSON that names an array; text and objects become the bytes of their own JSON."""
        array = np.asarray(value)
        if array.dtype.kind in "UO":
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(array.tolist())]
            text = np.frombuffer(json.dumps(items).encode("ascii"), dtype=np.uint8)
            # an array gives each text the memory of the longest one; `load` allocates a multiple of the file
            wide = array.nbytes > MAX_COPIES // 2 * text.nbytes
            return {**self.array(text, where), "is": "texts", "dtype": "|O" if wide else array.dtype.str}
        if not is_storable(array):
            raise TypeError(f"{where} holds {array.dtype}, which a model file cannot hold.")
        while where in self.arrays:
            where += "'"
        self.arrays[where] = array
        return {"is": "array", "name": where}

    def _attributes(self, stage: Any, where: str) -> ModelState:
        names = [*_parameters(type(stage)), *getattr(type(stage), "fitted_state", ())]
        there = [name for name in names if hasattr(stage, name)]
        return {name: self.encode(getattr(stage, name), f"{where}.{name}") for name in there}


def _refusal(value: Any, where: str) -> str:
    if hasattr(value, "fit") and hasattr(value, "transform"):
        return (
            f"{where} is {value!r}: a model file holds simlabel's own normalizers only. Put the transformer "
            f"in front of the classifier and save it on its own; or use {NORMALIZERS.choice} or a list."
        )
    what = name = ""
    if isinstance(value, Similarity):
        name = type(value).__name__
        what = f"{value!r}, of a class of your own: a model file holds no code. Give the class a name"
    elif callable(value):
        name = getattr(value, "__name__", None) or repr(value)
        what = f"the Python function {name!r}: a model file holds no code. Give it a name"
    if what:
        call = f"simlabel.model.persistence.register('some name', {name})"
        return f"{where} is {what} with {call}, before save and before load."
    return (
        f"{where} is {value!r}, a {type(value).__name__}, which a model file cannot hold: it holds numbers, "
        f"text, None, tuples, lists and sets of these, arrays, and simlabel's own objects."
    )


class StateReader:
    """Decodes JSON to values, each of which is checked."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._depth = 0

    def decode(self, value: Any) -> Any:
        """Return the value that was encoded."""
        if type(value) in _PLAIN:
            return value
        kind = value.get("is") if isinstance(value, dict) else value
        decoder = _DECODERS.get(kind) if isinstance(kind, str) else None
        if decoder is None:
            raise ModelFileError(f"{str(kind)[:60]!r} is a value of an unknown kind.")
        if self._depth == _MAX_DEPTH:
            raise ModelFileError(f"values are nested more than {_MAX_DEPTH} levels deep.")
        self._depth += 1
        try:
            return decoder(self, value)
        finally:
            self._depth -= 1

    def items(self, value: ModelState) -> list[Any]:
        """Return the decoded items of a container."""
        return [self.decode(item) for item in _as_list(value["items"])]

    def csr(self, value: ModelState) -> Rows:
        """Return a sparse matrix whose indices are valid: compiled loops do not check them."""
        data, indices, indptr = (self.decode(value[part]) for part in _CSR)
        if data.ndim != 1 or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise ModelFileError(f"{data.dtype}, {indices.dtype} and {indptr.dtype} make no sparse matrix.")
        # scipy does not check the ends of rows if the last of them says that there are no entries
        if indptr.ndim != 1 or (indptr[1:] < indptr[:-1]).any() or indptr[-1:].tolist() != [len(data)]:
            raise ModelFileError(f"indptr does not rise to the {len(data)} entries of a sparse matrix.")
        matrix = _SPARSE[value["is"]]((data, indices, indptr), shape=tuple(_as_list(value["shape"])))
        matrix.check_format(full_check=True)
        return matrix

    def stage(self, value: ModelState) -> Any:
        """Return an object of one of simlabel's classes."""
        if value["class"] not in CLASSES:
            raise ModelFileError(f"it names {value['class']!r}, which this version does not have.")
        return self._restored(CLASSES[value["class"]], value["class"], value["values"])

    def registered(self, value: ModelState) -> Similarity:
        """Return an object of a registered class."""
        cls = self.function(value)
        if not isinstance(cls, type) or not issubclass(cls, Similarity):
            raise ModelFileError(f"{value['name']!r} is registered for {cls!r}, no class of similarities.")
        return self._restored(cls, value["name"], value["values"])

    def _restored(self, cls: type[Any], name: str, state: ModelState) -> Any:
        """Return an object with these parameters and fitted attributes, checked."""
        with error_context(name):
            values = {name: self.decode(each) for name, each in state.items()}
            fitted = {name: values.pop(name) for name in getattr(cls, "fitted_state", ()) if name in values}
            unknown = values.keys() - set(_parameters(cls))
            if unknown:
                raise ModelFileError(f"it does not have {', '.join(sorted(unknown))}.")
            stage = cls(**values)
            for name, each in fitted.items():
                setattr(stage, name, each)
            with contextlib.suppress(ImportError):  # an optional dependency is missed when it is used
                stage.check()
        return stage

    def function(self, value: ModelState) -> Callable[..., Any]:
        """Return a registered function or class."""
        name, what = value["name"], "class" if value["is"] == "registered" else "function"
        if name not in _registered:
            raise ModelFileError(
                f"the model uses a Python {what} registered as {name!r}; call "
                f"simlabel.model.persistence.register({name!r}, {what}) before load."
            )
        return _registered[name]

    def texts(self, value: ModelState) -> AnyArray:
        """Return an array of text or objects."""
        text = self.arrays.whole(value["name"])
        if text.ndim != 1 or text.dtype != np.uint8:
            raise ModelFileError(f"{text.dtype} of shape {text.shape} is no text.")
        items = [self.decode(item) for item in _as_list(json.loads(text.tobytes()))]
        dtype = _dtype(value["dtype"], "UO")
        if dtype.kind == "O":
            return object_array(items)
        if not all(isinstance(item, str) for item in items):
            raise ModelFileError(f"{str(items)[:60]} are no texts of the dtype {value['dtype']!r}.")
        self.arrays.claim(len(items) * dtype.itemsize, f"{len(items):,} texts of {value['dtype']!r}")
        return np.array(items, dtype=dtype)

    def range(self, value: ModelState) -> range:
        """Return a range that is not longer than a file can make use of."""
        numbers = range(*self.items(value))
        if len(numbers) > max(_MAX_RANGE, self.arrays.n_bytes):  # every reference has bytes of its own
            raise ModelFileError(f"{numbers} is longer than the file.")
        return numbers

    def scalar(self, value: ModelState) -> np.generic:
        """Return a number or text of NumPy."""
        scalar = _dtype(value["dtype"], "biufU").type(value["value"])
        if not isinstance(scalar, np.generic):
            raise ModelFileError(f"{str(value)[:60]} is not one number or text.")
        return scalar


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError(f"{str(value)[:60]!r} is no list.")
    return value


def _dtype(text: Any, kinds: str) -> np.dtype[Any]:
    if not isinstance(text, str) or not re.fullmatch(rf"[<>|=]?[{kinds}]\d{{0,9}}", text):
        raise ModelFileError(f"the dtype {str(text)[:60]!r} cannot be here.")
    return np.dtype(text)


_DECODERS: dict[str, Callable[[StateReader, ModelState], Any]] = {
    **{name: lambda reader, value: _CONTAINERS[value["is"]](reader.items(value)) for name in _CONTAINERS},
    **dict.fromkeys(_SPARSE, StateReader.csr),
    "dict": lambda reader, v: {reader.decode(k): reader.decode(item) for k, item in _as_list(v["items"])},
    "slice": lambda reader, value: slice(*reader.items(value)),
    "range": StateReader.range,
    "scalar": StateReader.scalar,
    "dtype": lambda reader, value: _dtype(value["dtype"], "biufU"),
    "array": lambda reader, value: reader.arrays.whole(value["name"]),
    "stage": StateReader.stage,
    "function": StateReader.function,
    "registered": StateReader.registered,
    "texts": StateReader.texts,
}
