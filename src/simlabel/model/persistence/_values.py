"""Values <-> JSON, exactly: every type comes back as it was, and nothing else is taken."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows, object_array
from simlabel.model.persistence._arrays import MOST_COPIES, Arrays
from simlabel.model.persistence._container import is_storable
from simlabel.model.persistence._functions import function, name_of
from simlabel.model.persistence._layout import ModelFileError, State, told
from simlabel.model.persistence._stages import CLASSES, KEYS, parameters
from simlabel.normalizers import NORMALIZERS
from simlabel.similarities import Similarity

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
        own = name_of(type(value)) if isinstance(value, Similarity) else None
        if own is not None:
            return {"is": "registered", "name": own, "values": self._stage_values(value, where)}
        raise TypeError(_refusal(value, where))

    def array(self, value: Any, where: str) -> State:
        """JSON that names an array; text and objects become the bytes of their own JSON."""
        array = value if hasattr(value, "dtype") else np.asarray(value)
        if array.dtype.kind in "UO":
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(np.asarray(array).tolist())]
            text = np.frombuffer(json.dumps(items).encode("ascii"), dtype=np.uint8)
            # an array gives each text the memory of the longest one; `load` allocates a multiple of the file
            wide = array.nbytes > MOST_COPIES // 2 * text.nbytes
            dtype = "|O" if wide else array.dtype.str
            return {**self.array(text, where), "is": "texts", "dtype": dtype}
        if not is_storable(array):
            raise TypeError(f"{where} holds {array.dtype}, which a model file cannot hold.")
        name = where
        while name in self.arrays:
            name += "'"
        self.arrays[name] = array
        return {"is": "array", "name": name}

    def _stage(self, stage: Any, where: str) -> State:
        return {"is": "stage", "class": KEYS[type(stage)], "values": self._stage_values(stage, where)}

    def _stage_values(self, stage: Any, where: str) -> State:
        names = [*parameters(type(stage)), *getattr(type(stage), "fitted_state", ())]
        return {
            name: self.encode(getattr(stage, name), f"{where}.{name}")
            for name in names
            if hasattr(stage, name)
        }


_CSR = ("data", "indices", "indptr")


def _refusal(value: Any, where: str) -> str:
    if hasattr(value, "fit") and hasattr(value, "transform"):
        return (
            f"{where} is {value!r}: a model file holds simlabel's own normalizers only. Put the transformer "
            f"in front of the classifier and save it on its own; or use {NORMALIZERS.choice} or a list."
        )
    if isinstance(value, Similarity):
        label = type(value).__name__
        return (
            f"{where} is {value!r}, of a class of your own: a model file holds no code. Give the class a "
            f"name with simlabel.model.persistence.register('some name', {label}), before save and before load."
        )
    if callable(value):
        label = getattr(value, "__name__", None) or repr(value)
        return (
            f"{where} is the Python function {label!r}: a model file holds no code. Give it a name with "
            f"simlabel.model.persistence.register('some name', {label}), before save and before load."
        )
    return (
        f"{where} is {value!r}, a {type(value).__name__}, which a model file cannot hold: it holds numbers, "
        f"text, None, tuples, lists and sets of these, arrays, and simlabel's own objects."
    )


class Reader:
    """Turns JSON back into values, each of them checked by itself."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._depth = 0

    def decode(self, value: Any) -> Any:
        """The value that was encoded."""
        if not isinstance(value, dict):
            if type(value) not in _PLAIN:
                raise ModelFileError(f"{str(value)[:60]} is a value of an unknown kind.")
            return value
        kind = str(value.get("is"))
        decoder = _DECODERS.get(kind)
        if decoder is None:
            raise ModelFileError(f"{kind[:60]!r} is a value of an unknown kind.")
        if self._depth == _DEEPEST:
            raise ModelFileError(f"values lie inside each other more than {_DEEPEST} times.")
        self._depth += 1
        try:
            return decoder(self, value)
        finally:
            self._depth -= 1

    def _items(self, value: State) -> Any:
        return _LISTS[value["is"]](self.decode(item) for item in _listed(value["items"]))

    def _csr(self, value: State) -> Rows:
        data, indices, indptr = (self.decode(value[part]) for part in _CSR)
        if data.ndim != 1 or indices.dtype.kind != "i" or indptr.dtype.kind != "i":
            raise ModelFileError(f"{data.dtype}, {indices.dtype} and {indptr.dtype} make no sparse matrix.")
        # scipy does not look at the ends of rows where the last of them says that there are no entries
        if indptr.ndim != 1 or (indptr[1:] < indptr[:-1]).any() or indptr[-1:].tolist() != [len(data)]:
            raise ModelFileError(f"indptr does not rise to the {len(data)} entries of a sparse matrix.")
        matrix = _SPARSE[value["is"]]((data, indices, indptr), shape=tuple(_listed(value["shape"])))
        matrix.check_format(full_check=True)  # compiled loops check nothing
        return matrix

    def _stage(self, value: State) -> Any:
        cls = CLASSES.get(value["class"])
        if cls is None:
            raise ModelFileError(f"it names {value['class']!r}, which this version does not have.")
        return self._made(cls, value["class"], value["values"])

    def _registered(self, value: State) -> Similarity:
        cls = self._function(value)
        if not isinstance(cls, type) or not issubclass(cls, Similarity):
            raise ModelFileError(f"{value['name']!r} is registered for {cls!r}, no class of similarities.")
        return self._made(cls, value["name"], value["values"])

    def _made(self, cls: type[Any], name: str, state: State) -> Any:
        """An object of a class from its parameters and what it has learnt, checked."""
        with told(name):
            values = {name: self.decode(each) for name, each in state.items()}
            own = set(parameters(cls))
            learnt = {name: values.pop(name) for name in getattr(cls, "fitted_state", ()) if name in values}
            if not values.keys() <= own:
                raise ModelFileError(f"it does not have {', '.join(sorted(values.keys() - own))}.")
            stage = cls(**values)
            for name, each in learnt.items():
                setattr(stage, name, each)
            with contextlib.suppress(ImportError):  # what it needs beside is missed when it is used
                stage.check()
        return stage

    def _function(self, value: State) -> Callable[..., Any]:
        registered = function(value["name"])
        what = "class" if value["is"] == "registered" else "function"
        if registered is None:
            raise ModelFileError(
                f"the model uses a Python {what} registered as {value['name']!r}; call "
                f"simlabel.model.persistence.register({value['name']!r}, {what}) before load."
            )
        return registered

    def _texts(self, value: State) -> npt.NDArray[Any]:
        text = self.arrays.whole(value["name"])
        if text.ndim != 1 or text.dtype != np.uint8:
            raise ModelFileError(f"{text.dtype} of shape {text.shape} is no text.")
        items = [self.decode(item) for item in _listed(json.loads(text.tobytes()))]
        dtype = _checked(value["dtype"], "UO")
        if dtype.kind == "O":
            return object_array(items)
        if not all(isinstance(item, str) for item in items):
            raise ModelFileError(f"{str(items)[:60]} are no texts of the dtype {value['dtype']!r}.")
        self.arrays.claim(len(items) * dtype.itemsize, f"{len(items):,} texts of {value['dtype']!r}")
        return np.array(items, dtype=dtype)

    def _range(self, value: State) -> range:
        numbers = range(*map(self.decode, _listed(value["items"])))
        if len(numbers) > max(_LONGEST, self.arrays.n_bytes):  # every reference has bytes of its own
            raise ModelFileError(f"{numbers} is longer than the file.")
        return numbers

    def _scalar(self, value: State) -> np.generic:
        scalar = _checked(value["dtype"], "biufU").type(value["value"])
        if not isinstance(scalar, np.generic):
            raise ModelFileError(f"{str(value)[:60]} is not one number or text.")
        return scalar


_DEEPEST = 100
_LONGEST = 1 << 22  # numbers of a range in a short file


def _listed(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ModelFileError(f"{str(value)[:60]!r} is no list.")
    return value


def _checked(text: Any, kinds: str) -> np.dtype[Any]:
    if not isinstance(text, str) or not re.fullmatch(rf"[<>|=]?[{kinds}]\d{{0,9}}", text):
        raise ModelFileError(f"the dtype {str(text)[:60]!r} cannot be here.")
    return np.dtype(text)


_DECODERS: dict[str, Callable[[Reader, State], Any]] = {
    **dict.fromkeys(_LISTS, Reader._items),
    **dict.fromkeys(_SPARSE, Reader._csr),
    "dict": lambda self, v: {self.decode(key): self.decode(item) for key, item in _listed(v["items"])},
    "slice": lambda self, v: slice(*map(self.decode, _listed(v["items"]))),
    "range": Reader._range,
    "scalar": Reader._scalar,
    "dtype": lambda self, v: _checked(v["dtype"], "biufU"),
    "array": lambda self, v: self.arrays.whole(v["name"]),
    "stage": Reader._stage,
    "function": Reader._function,
    "registered": Reader._registered,
    "texts": Reader._texts,
}
