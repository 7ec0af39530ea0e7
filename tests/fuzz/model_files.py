"""Lies in model files: well formed, with right checksums, and told where compiled code would believe them."""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel import SMLClassifier, Tagger, load
from simlabel.model.persistence import (
    CLASSES,
    ModelFileError,
    header_checksum,
    read_file,
    register,
    write_file,
)
from simlabel.model.sketches import Condense, RandomFeatures
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, ChiSquare, Laplacian, Linear, OnColumns
from simlabel.sums import TopK, UniformSampler

SECONDS = 20.0

_MISSING = object()
_DEEP = 150

#: what a model whose lies are consistent may still refuse, and why that is right
REFUSALS = re.compile(
    "|".join(
        [
            "The sums of similarities overflow",  # numbers that are finite, but too large to add up
            "This model cannot be computed: X has features that are too large",  # a change of such rows
            r"not possible",  # an engine, a sketch or a forgetting that this model cannot have
            "not with a sampler",
            "with a precomputed similarity the columns of X are the rows",
            "lists the terms of a sum",  # explain, of estimates
            "not positive definite",  # references that were moved
            "y is given as|but fit saw|which fit saw|y has the label",  # labels that were renamed
            "feature names should match",
            "Negative values in data passed",  # of queries, or of references that stay in the file
            "must be positive|must be a number|must be a whole number",  # parameters that `retune` reads
        ]
    )
)


def shared_letters(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b))


def _labels(rng, n):
    y = [{name for name in "abc" if rng.random() < 0.5} for _ in range(n)]
    y[0] = set("abc")
    return y


def models():
    """A small model of each kind, with queries and labeled rows to teach it."""
    rng = np.random.default_rng(11)
    register("shared letters", shared_letters)
    X, y, Q = rng.random((20, 4)), _labels(rng, 20), rng.random((5, 4))
    Y = np.array([[name in row for name in "abc"] for row in y]).astype(int)
    few = (X[:3], y[:3])
    both = OnColumns(RBF(2.0), [0, 2], "zscore") + OnColumns(Laplacian(1.0), [1, 3]) * Linear()
    S = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    frame = pd.DataFrame(X, columns=list("wxyz"))
    table = [{"t": f"sea {i} ä", "n": i, "k": "ab"[i % 2], "d": f"2024-05-0{1 + i}"} for i in range(8)]
    return {
        "plain": (SMLClassifier(RBF(2.0)).fit(X, y), Q, few),
        "tuned": (SMLClassifier(normalizer=["zscore", "l2"], label_rule="auto").fit(X, y), Q, few),
        "chunks": (
            SMLClassifier("linear", normalizer="minmax", label_rule="threshold")
            .fit(X, y)
            .partial_fit(X[:3], y[:3], ids=["p", "q", ("r", 1)])
            .forget([2, "q"]),
            Q,
            few,
        ),
        "ridge": (SMLClassifier("rbf", influence=Ridge(mixing=True), calibration="loo").fit(X, y), Q, few),
        "grouped": (
            SMLClassifier(RBF(1.0), influence="label_mean")
            .fit(X, y, groups=[["film", 3, ("a", 1), None][i % 4] for i in range(20)])
            .partial_fit(X[:3], y[:3], groups=[1, 1, 2]),
            Q,
            few,
        ),
        "inducing": (
            SMLClassifier(Laplacian(1.0), influence=Ridge(0.1, inducing=6), label_rule="per_label").fit(X, y),
            Q,
            few,
        ),
        "sparse": (
            SMLClassifier("cosine", label_rule="aimed").fit(
                sp.csr_array(np.where(X > 0.5, X, 0)).astype(np.float32), y
            ),
            sp.csr_array(Q),
            (sp.csr_array(X[:3]), y[:3]),
        ),
        "composite": (SMLClassifier(both, normalizer=None, label_rule="cutoff").fit(X, y), Q, few),
        "frame": (
            SMLClassifier(OnColumns(ChiSquare(1.0), ["w", "y"]), normalizer=None).fit(
                frame, pd.DataFrame(Y, columns=list("abc"))
            ),
            frame[:5],
            (frame[:3], pd.DataFrame(Y[:3], columns=list("abc"))),
        ),
        "condense": (SMLClassifier(RBF(0.5), sketch=Condense(6)).fit(X, y), Q, few),
        "waves": (SMLClassifier(RBF(0.5), sketch=RandomFeatures(64), random_state=0).fit(X, y), Q, few),
        "drawn": (SMLClassifier("jaccard", sampler=8, random_state=0).fit(X, Y), Q, (X[:3], Y[:3])),
        "draws": (
            SMLClassifier(RBF(1.0), sampler=UniformSampler(6, per_query=True), random_state=0).fit(
                X, sp.csr_array(Y)
            ),
            Q,
            (X[:3], sp.csr_array(Y[:3])),
        ),
        "single": (
            SMLClassifier("quadratic", calibration="loo", weighting=TopK(5)).fit(X, Y[:, 0] + Y[:, 1]),
            Q,
            (X[:3], (Y[:, 0] + Y[:, 1])[:3]),
        ),
        "objects": (
            SMLClassifier(shared_letters).fit(["sea", "tree", "seat"], [{"a"}, {"b"}, {"a", "b"}]),
            ["eat", "rest"],
            (["ease"], [{"a"}]),
        ),
        "precomputed": (
            SMLClassifier("precomputed", influence="label_mean", weighting="power").fit(
                S, Y, sample_weight=[0.0] * 2 + [2.0] * 18
            ),
            S[:4],
            (S[:3], Y[:3]),
        ),
        "table": (Tagger({"t": "text"}).fit(table, y[:8]), table[:3], (table[:2], y[:2])),
    }


#: what `models` makes
KINDS = [
    "plain",
    "tuned",
    "chunks",
    "ridge",
    "grouped",
    "inducing",
    "sparse",
    "composite",
    "frame",
    "condense",
    "waves",
    "drawn",
    "draws",
    "single",
    "objects",
    "precomputed",
    "table",
]


def warm():
    """Each kind as the state and arrays of its file, with what it is asked; every path compiled."""
    material = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, (model, Q, batch) in models().items():
            path = Path(folder) / kind
            model.save(path)
            state, arrays = read_file(path)
            found = {name: arrays.whole(name) for name in arrays.entries}
            material[kind] = (state, found, Q, batch, path.read_bytes())
            for mmap in (False, True):
                use(path, mmap, Q, batch)
    return material


def case(material, seed):
    """Tell lies in one of the files, or damage its bytes, and use it all the same."""
    rng = np.random.default_rng(seed)
    state, arrays, Q, batch, whole = material[_pick(rng, list(material))]
    if rng.random() < 0.1:
        content = damaged(rng, whole)
    else:
        state, arrays = json.loads(json.dumps(state)), dict(arrays)
        content = lied(rng, state, arrays, int(rng.integers(1, 4)))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "model"
        path.write_bytes(content)
        use(path, bool(rng.random() < 0.4), Q, batch)


def use(path, mmap, Q, batch):
    """All that a model does; it is refused at load or at a first touch, or gives finite numbers."""
    try:
        model = load(path, mmap=mmap)
    except ModelFileError as error:
        if len(str(error)) < len(str(path)) + 10:
            raise AssertionError("an error that says nothing") from error
        return
    n = len(Q) if not sp.issparse(Q) else Q.shape[0]
    n_labels = len(model.classes_)
    ask(mmap, model.predict, Q, rows=n)
    ask(mmap, model.decision_function, Q, shapes=[(n, n_labels), (n,)])
    ask(mmap, model.predict_proba, Q, shapes=[(n, n_labels)])
    ask(mmap, model.predict_set_size, Q, shapes=[(n,)])
    ask(mmap, lambda: model.explain(Q).to_frame())
    ask(mmap, model.leave_one_out, shapes=[(model.n_references_, n_labels)])
    ask(mmap, lambda: repr(model) + str(model.plan_))
    ask(mmap, model.partial_fit, *batch)
    ask(mmap, lambda: model.forget([model.ids_.tolist()[0]]))
    if ask(mmap, model.save, path.with_suffix(".again")) is not _MISSING:
        again = ask(mmap, load, path.with_suffix(".again"))  # what was never touched is not known to be right
        if again is not _MISSING:
            ask(False, again.decision_function, Q, rows=n)


def ask(mmap, method, *args, shapes=(), rows=None):
    """What the method gives, if it is finite and of a right shape; `_MISSING` where it may refuse."""
    try:
        found = method(*args)
    except ModelFileError:
        assert mmap, "what is in memory was not checked at load"
        return _MISSING
    except ValueError as error:
        if not REFUSALS.search(str(error)):
            raise
        return _MISSING
    if shapes:
        assert found.shape in shapes, f"{found.shape} is none of {shapes}"
        assert np.isfinite(found).all(), "a number that is not finite"
    if rows is not None:
        length = found.shape[0] if hasattr(found, "shape") else len(found)
        assert length == rows, f"{length} rows, not {rows}"
    return found


def damaged(rng, whole):
    """The file with bytes changed, cut off, or put in."""
    content = bytearray(whole)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content)))
        what = rng.integers(4)
        if what == 0:
            content[at] ^= 1 << int(rng.integers(8))
        elif what == 1:
            del content[at:]
        elif what == 2:
            content[at:at] = rng.bytes(int(rng.integers(1, 20)))
        else:
            content[at : at + 8] = rng.bytes(8)
        content = content or bytearray(b"\0")
    return bytes(content)


def lied(rng, state, arrays, times):
    """The bytes of the file with so many lies told, under right checksums."""
    twist = {}
    for _ in range(times):
        what = rng.random()
        if what < 0.55:
            lie_in_state(rng, state, list(arrays))
        elif what < 0.85:
            lie_in_arrays(rng, arrays)
        else:
            twist = lie_in_header(rng, arrays)
    return file_bytes(state, arrays, twist)


def file_bytes(state, arrays, twist=None):
    """A file of this state and these arrays; `twist` changes entries of the header."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        write_file(path, state, arrays)
        content = path.read_bytes()
    if not twist:
        return content
    end = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(content[8:end])
    metadata = entries.pop("__metadata__")
    for name, change in twist.items():
        if name in entries:
            entries[name] = {**entries[name], **change}
    metadata["checksum"] = header_checksum(metadata, entries)
    text = json.dumps({"__metadata__": metadata, **entries}).encode()
    return len(text).to_bytes(8, "little") + text + content[end:]


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*path, key))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def lie_in_state(rng, state, names):
    known = [path for path in places(state) if path]
    # the model itself more often than the parameters and the curve, of which there is more
    inner = [path for path in known if path[0] == "model"]
    path = _pick(rng, inner if rng.random() < 0.8 and inner else known)
    holder, key = at(state, path[:-1]), path[-1]
    what = rng.random()
    if what < 0.1:
        del holder[key]
    elif what < 0.25:
        holder[key] = json.loads(json.dumps(at(state, _pick(rng, known))))
    elif what < 0.35 and isinstance(holder[key], int | float):
        holder[key] = holder[key] * _pick(rng, [-1, 2, 0.5, 1000]) + _pick(rng, [0, 1, -1])
    elif what < 0.38:
        for _ in range(_DEEP):
            holder[key] = {"is": "list", "items": [holder[key]]}
    else:
        holder[key] = _pick(rng, values(rng, names))


def values(rng, names):
    """What may be put in place of anything."""
    stage = {"is": "stage", "class": _pick(rng, list(CLASSES)), "values": {}}
    numbers = [-1, 0, 1, 2, 3, 7, 10**6, 2**31, 2**63, -(2**63), 10**30, 0.5, -0.5, 1e-300, 1e300]
    numbers += [float("nan"), float("inf"), -float("inf"), True, False, None]
    texts = ["", "auto", "rbf", "array", "x" * 1000, "set", "SMLClassifier", "0"]
    others = [[], [1], {}, {"is": "list", "items": []}, {"is": "tuple", "items": [1, 2]}, stage]
    others += [{"is": "range", "items": [0, 10**12, 1]}, {"is": "scalar", "dtype": "<f8", "value": -1.0}]
    if names:
        others += [{"is": kind, "name": _pick(rng, names), "dtype": "|O"} for kind in ("array", "texts")]
    return [*numbers, *texts, *others]


def lie_in_arrays(rng, arrays):
    if not arrays:
        return
    name = _pick(rng, list(arrays))
    array, what = np.array(arrays[name]), rng.integers(7)
    if what <= 2 and array.size:
        flat = array.reshape(-1)
        with np.errstate(all="ignore"):
            lies = [-1, 0, 1, 2, 127, 1e300, -1e300, np.nan, np.inf, 2**31 - 1, 2**62]
            place = int(rng.integers(array.size))
            flat[place : place + 1] = np.array([_pick(rng, lies)]).astype(array.dtype)
        arrays[name] = flat.reshape(array.shape)
    elif what == 3:
        other = _pick(rng, list(arrays))
        arrays[name], arrays[other] = arrays[other], arrays[name]
    elif what == 4:
        arrays[name] = array[: int(rng.integers(len(array) + 1))] if array.ndim else array
    elif what == 5:
        arrays[name] = _pick(rng, [array.T, array.reshape(-1), array[None], np.concatenate([array, array])])
    elif rng.random() < 0.2:
        del arrays[name]
    else:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(_pick(rng, ["<f4", "<f8", "<i8", "<i4", "|i1", "|u1", "|b1"]))


def lie_in_header(rng, arrays):
    if not arrays:
        return {}
    lies = {
        "dtype": ["F64", "F32", "I64", "U8", "BOOL", "F16", 3, None],
        "shape": [[], [-1], [0], [2**62, 4], [3, 3], [10**30], "12", None, [1.5], [2, -1, -1]],
        "data_offsets": [[0, 0], [0, 8], [8, 0], [-8, 8], [0, 2**63], [0], None, [0.0, 8.0], [4, 12]],
    }
    field = _pick(rng, list(lies))
    return {_pick(rng, list(arrays)): {field: _pick(rng, lies[field])}}


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]
