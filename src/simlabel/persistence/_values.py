"""Values <-> JSON, exactly: every type comes back as it was, and nothing else is taken."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel.normalization import NORMALIZERS
from simlabel.persistence._container import Arrays, ModelFileError, is_storable
from simlabel.persistence._functions import function, name_of
from simlabel.persistence._stages import CLASSES, KEYS, parameters

_PLAIN = (str, int, float, bool, type(None))
_LISTS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
_LIST_NAMES = {kind: name for name, kind in _LISTS.items()}
_SPARSE = {kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix)}


class Writer:
    """Turns values into JSON, and gathers the arrays that they hold."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}

    def encode(self, value: Any, where: str) -> Any:
        """JSON for a value; `where` names it in an error."""
        if type(value) in _PLAIN:
            return value
        if type(value) in _LIST_NAMES:
            items = [self.encode(item, where) for item in value]
            return {"is": _LIST_NAMES[type(value)], "items": items}
        if type(value) is dict:
            pairs = [[self.encode(k, where), self.encode(v, f"{where}[{k!r}]")] for k, v in value.items()]
            return {"is": "dict", "items": pairs}
        if type(value) in (slice, range):
            parts = [self.encode(part, where) for part in (value.start, value.stop, value.step)]
            return {"is": type(value).__name__, "items": parts}
        if isinstance(value, np.generic) and value.dtype.kind in "biufU":
            return {"is": "scalar", "dtype": value.dtype.str, "value": value.item()}
        if isinstance(value, np.dtype) and value.kind in "biufU":
            return {"is": "dtype", "dtype": value.str}
        if type(value) in KEYS:
            return self._stage(value, where)
        if type(value) in _SPARSE.values():
            arrays = {part: self.array(getattr(value, part), f"{where}.{part}") for part in _CSR}
            return {"is": type(value).__name__, "shape": [int(n) for n in value.shape], **arrays}
        if hasattr(value, "__array__") and hasattr(value, "dtype"):
            return self.array(value, where)
        known = name_of(value)
        if known is not None:
            return {"is": "function", "name": known}
        raise TypeError(_refusal(value, where))

    def array(self, value: Any, where: str) -> Any:
        """JSON that names an array; text and objects become the bytes of their own JSON."""
        array = value if hasattr(value, "dtype") else np.asarray(value)
        if array.dtype.kind in "UO":
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(np.asarray(array).tolist())]
            text = np.frombuffer(json.dumps(items).encode("ascii"), dtype=np.uint8)
            return {**self.array(text, where), "is": "texts", "dtype": array.dtype.str}
        if not is_storable(array):
            raise TypeError(f"{where} holds {array.dtype}, which a model file cannot hold.")
        name = where
        while name in self.arrays:
            name += "'"
        self.arrays[name] = array
        return {"is": "array", "name": name}

    def _stage(self, stage: Any, where: str) -> Any:
        cls = type(stage)
        names = [*parameters(cls), *getattr(cls, "fitted_state", ())]
        found = {name: getattr(stage, name) for name in names if hasattr(stage, name)}
        values = {name: self.encode(value, f"{where}.{name}") for name, value in found.items()}
        return {"is": "stage", "class": KEYS[cls], "values": values}


_CSR = ("data", "indices", "indptr")


def _refusal(value: Any, where: str) -> str:
    if hasattr(value, "fit") and hasattr(value, "transform"):
        return (
            f"{where} is {value!r}: a model file holds simlabel's own normalizers only. Put the transformer "
            f"in front of the classifier and save it on its own; or use {NORMALIZERS.choice} or a list."
        )
    if callable(value):
        label = getattr(value, "__name__", None) or repr(value)
        return (
            f"{where} is the Python function {label!r}: a model file holds no code. Give it a name with "
            f"simlabel.persistence.register('some name', {label}), before save and before load."
        )
    return (
        f"{where} is {value!r}, a {type(value).__name__}, which a model file cannot hold: it holds numbers, "
        f"text, None, tuples, lists and sets of these, arrays, and simlabel's own objects."
    )


class Reader:
    """Turns JSON back into values."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays

    def decode(self, value: Any) -> Any:
        """The value that was encoded."""
        if not isinstance(value, dict):
            return value
        kind = value.get("is")
        if kind in _LISTS:
            return _LISTS[kind](self.decode(item) for item in value["items"])
        if kind == "stage":
            return self._stage(value)
        if kind in _SPARSE:
            parts = tuple(self.decode(value[part]) for part in _CSR)
            matrix = _SPARSE[kind](parts, shape=tuple(value["shape"]))
            matrix.check_format(full_check=True)
            return matrix
        decoder = _DECODERS.get(str(kind))
        if decoder is None:
            raise ModelFileError(f"a model file holds a value of an unknown kind, {kind!r}.")
        return decoder(self, value)

    def _stage(self, value: dict[str, Any]) -> Any:
        cls = CLASSES.get(value["class"])
        if cls is None:
            raise ModelFileError(f"a model file names {value['class']!r}, which this version does not have.")
        values = {name: self.decode(each) for name, each in value["values"].items()}
        values = getattr(cls, "migrated", dict)(values)
        own = set(parameters(cls))
        stage = cls(**{name: values[name] for name in values if name in own})
        for name in getattr(cls, "fitted_state", ()):
            if name in values:
                setattr(stage, name, values[name])
        return stage

    def _function(self, value: dict[str, Any]) -> Any:
        found = function(value["name"])
        if found is None:
            raise ModelFileError(
                f"the model uses a Python function registered as {value['name']!r}; call "
                f"simlabel.persistence.register({value['name']!r}, function) before load."
            )
        return found

    def _texts(self, value: dict[str, Any]) -> Any:
        items = [self.decode(item) for item in json.loads(self.arrays.whole(value["name"]).tobytes())]
        dtype = _checked(value["dtype"], "UO")
        if dtype.kind == "U":
            return np.array(items, dtype=dtype)
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array


def _checked(text: str, kinds: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.kind not in kinds:
        raise ModelFileError(f"a model file names the dtype {text!r} where it cannot be.")
    return dtype


_DECODERS: dict[str, Callable[[Reader, dict[str, Any]], Any]] = {
    "dict": lambda self, v: {self.decode(key): self.decode(item) for key, item in v["items"]},
    "slice": lambda self, v: slice(*map(self.decode, v["items"])),
    "range": lambda self, v: range(*map(self.decode, v["items"])),
    "scalar": lambda self, v: _checked(v["dtype"], "biufU").type(v["value"]),
    "dtype": lambda self, v: _checked(v["dtype"], "biufU"),
    "array": lambda self, v: self.arrays.whole(v["name"]),
    "function": Reader._function,
    "texts": Reader._texts,
}
