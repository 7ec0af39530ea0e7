"""Lies in model files whose checksums are right: each is refused before any compiled code sees it."""

from __future__ import annotations

import contextlib
import json
import re
import tracemalloc

import numpy as np
import pytest

from fuzz import model_files as campaign
from simlabel import load
from simlabel.model.persistence import CLASSES, ModelFileError, read_file

NAN, INF = float("nan"), float("inf")
GONE = "(deleted)"

NOT_POSITIVE = [0, -1.0, NAN, INF, "x", None, True, [], GONE]
NOT_A_COUNT = [-1, 1.5, NAN, "x", True, 2**63]
NOT_A_STAGE = [0, "rbf", [], {}, {"is": "stage", "class": "engines.Exact", "values": {}}]
NOT_NAMES = [None, 3, {"is": "array", "name": "nowhere"}, {"is": "array", "name": 3}, GONE]

#: kind of model, place in the state, what is put there
LIES = [
    ("plain", "class", ["os.system", 3, None, [], GONE]),
    ("plain", "params", [3, [], None, GONE]),
    ("plain", "params/gamma", [1.0]),
    ("plain", "params/similarity/values/gamma", [-1.0, NAN, "x"]),
    ("plain", "params/similarity/values/beta", [1.0]),
    ("plain", "fitted/n_features_in_", [0, -1, 3, 5, 4.0, "4", None, True, 2**63, GONE]),
    ("plain", "fitted/tuning_", [3, None, *NOT_A_STAGE]),
    ("tuned", "fitted/tuning_/values/values", [None, 3, {"is": "tuple", "items": []}, GONE]),
    ("tuned", "fitted/tuning_/values/n_queries", NOT_A_COUNT),
    ("tuned", "fitted/tuning_/values/best", [3, {"is": "dict", "items": []}]),
    ("frame", "fitted/feature_names_in_", NOT_NAMES[:4]),
    ("plain", "model", [3, [], {}, None, GONE]),
    ("plain", "model/similarity", [*NOT_A_STAGE, None, GONE]),
    (
        "plain",
        "model/similarity/class",
        ["os.system", "similarities.Precomputed", "engines.Auto", 3, None, []],
    ),
    ("plain", "model/similarity/values/gamma", [*NOT_POSITIVE, "auto"]),
    ("composite", "model/similarity/values/left", NOT_A_STAGE),
    ("composite", "model/similarity/values/left/values/_view", [*NOT_A_STAGE, GONE]),
    ("composite", "model/similarity/values/left/values/_view/values/columns", NOT_NAMES),
    ("composite", "model/similarity/values/left/values/_view/values/normalizer", NOT_A_STAGE),
    ("single", "model/similarity/values/coef0", [-1.0, NAN, "auto", "x"]),
    ("single", "model/weighting/values/k", [0, -1, 1.5, "auto", "x", 2**63]),
    ("precomputed", "model/weighting/values/exponent", NOT_POSITIVE[:8]),
    ("plain", "model/weighting", NOT_A_STAGE),
    ("plain", "model/influence", [*NOT_A_STAGE, None, GONE]),
    ("ridge", "model/influence/values/penalty", [*NOT_POSITIVE, "auto"]),
    ("ridge", "model/influence/values/inducing", [0, -1, 1.5, "x"]),
    ("ridge", "model/influence/values/mixing", [1, None, "x"]),
    ("ridge", "model/influence/values/vocabulary", [1, None, "x"]),
    ("ridge", "model/solution", [*NOT_A_STAGE, None, GONE]),
    ("ridge", "model/solution/values/V", NOT_NAMES),
    ("ridge", "model/solution/values/intercept", NOT_NAMES[1:4]),
    ("ridge", "model/solution/values/residual", [-1.0, "much", [], {}]),
    ("inducing", "model/solution/values/used", [*NOT_NAMES, {"is": "range", "items": [0, 6, 1]}]),
    ("ridge", "model/weighting", [{"is": "stage", "class": "weightings.Power", "values": {}}]),
    ("ridge", "model/scales", NOT_NAMES[1:4]),
    ("plain", "model/engine", [*NOT_A_STAGE[:4], None, GONE]),
    ("plain", "model/engine/values/memory_mib", NOT_POSITIVE[:8]),
    ("plain", "model/engine/values/on_block", [3, "print"]),
    ("draws", "model/engine/values/n", [0, *NOT_A_COUNT, 10**12]),
    ("draws", "model/engine/values/seed", NOT_A_COUNT),
    ("draws", "model/engine/values/probabilities", NOT_NAMES),
    ("plain", "model/n_jobs", [0, 1.5, "2", True, 10**30, GONE]),
    ("plain", "params/n_jobs", [0, 1.5, "2", True, 10**30]),
    ("plain", "model/scales", [3, "x", {"is": "list", "items": [1.0]}]),
    ("drawn", "model/scales", [3, *NOT_NAMES[2:]]),
    ("plain", "model/columns", [3, "x"]),
    ("precomputed", "model/columns", [3, *NOT_NAMES[2:], None]),
    ("plain", "model/next_id", [-1, 0, 19, 1.5, "x", None, GONE]),
    ("condense", "model/sketch", NOT_A_STAGE),
    ("condense", "model/sketch/values/n_references", NOT_A_COUNT),
    ("condense", "model/sketch/values/n_jobs", [0, 1.5, "x"]),
    ("condense", "model/sketch/values/similarity/values/gamma", [-1.0, "auto", 7.0]),
    ("condense", "model/sketch/values/V", NOT_NAMES),
    ("waves", "model/sketch/values/columns", NOT_A_STAGE),
    ("waves", "model/sketch/values/columns/values/directions", NOT_NAMES),
    ("plain", "model/rule", [*NOT_A_STAGE, None, {"is": "stage", "class": "label_rules.Auto", "values": {}}]),
    ("plain", "model/rule/values/minimum", NOT_A_COUNT),
    ("plain", "model/rule/values/maximum", [-1, 1.5, NAN, "x", True]),
    ("plain", "model/rule/values/sizes_", NOT_NAMES),
    ("chunks", "model/rule/values/intercept_", [NAN, INF, "x", None, GONE]),
    ("chunks", "model/rule/values/literal", [3, None]),
    ("composite", "model/rule/values/value_", [NAN, "x", None, 1, GONE]),
    ("composite", "model/rule/values/minimum", ["auto"]),
    ("inducing", "model/rule/values/criterion", ["x", None, 3]),
    ("inducing", "model/rule/values/minimum", ["auto", GONE]),
    ("inducing", "model/rule/values/shrinkage", [-1.0, NAN, "x", None]),
    ("inducing", "model/rule/values/at_most", [0.0, -1.0, NAN, "x"]),
    ("sparse", "model/rule/values/measure", ["f1", None, 3]),
    ("sparse", "model/rule/values/aim", [0.0, 1.5, NAN, "x", None]),
    ("sparse", "model/rule/values/value_", [NAN, "x", None, 1, GONE]),
    ("sparse", "model/rule/values/measured_", [2.0, -1.0, INF, "x", None, GONE]),
    ("sparse", "model/rule/values/low_", [NAN, 2.0, -1.0, "x", None, GONE]),
    ("sparse", "model/rule/values/high_", [NAN, 2.0, -1.0, "x", None, GONE]),
    ("ridge", "model/calibration", NOT_A_STAGE),
    ("ridge", "model/calibration/values/single_", [True, 0, None, GONE]),
    ("ridge", "model/calibration/values/curves_", [3, {"is": "list", "items": []}, GONE]),
    ("single", "model/calibration/values/temperature_", NOT_POSITIVE),
    ("ridge", "model/calibration/values/enough", [0, *NOT_A_COUNT]),
    ("table", "model/encoder", [*NOT_A_STAGE, None, GONE]),
    ("plain", "model/encoder", NOT_A_STAGE),
    ("table", "model/encoder/values/columns", [3, "x", {"is": "list", "items": []}]),
    ("table", "model/encoder/values/names_", [3, None, {"is": "tuple", "items": []}, GONE]),
    ("table", "model/encoder/values/columns_", [3, None, {"is": "list", "items": [3]}, GONE]),
    ("table", "model/encoder/values/fitted_", [3, None, {"is": "list", "items": [3]}, GONE]),
    ("table", "model/encoder/values/width_", [0, *NOT_A_COUNT, 8, GONE]),
    ("table", "model/encoder/values/used_slots_", [0, *NOT_A_COUNT, 10**9, GONE]),
    ("table", "fitted/label_separator_", [3, [], ""]),
    ("plain", "model/normalizer", NOT_A_STAGE),
    ("chunks", "model/normalizer", [None]),
    ("chunks", "model/normalizer/values/scale_", [*NOT_NAMES, {"is": "array", "name": "chunks/0/X"}]),
    ("tuned", "model/normalizer/values/steps", [3, {"is": "list", "items": ["x"]}]),
    ("tuned", "model/normalizer/values/fitted_", [3, {"is": "list", "items": [1]}, GONE]),
    ("plain", "model/labels", [3, {}, None, GONE]),
    ("plain", "model/labels/kind", ["single", "array", "sparse", "frame", "x", None, [], GONE]),
    ("plain", "model/labels/container", ["dict", None, 3, [], GONE]),
    ("frame", "model/labels/container", ["dask", None, 3]),
    ("draws", "model/labels/container", ["x", None, {"is": "tuple", "items": ["csr_array", 3]}]),
    ("plain", "model/labels/classes", NOT_NAMES),
    ("plain", "model/chunks", [3, [], None, [3], GONE]),
    ("plain", "model/chunks/0/n", [0, -1, 19, 21, 2**40, 20.0, "20", None, GONE]),
    ("plain", "model/chunks/0/sizes", [3, [], [0], [-1, 1], [0, 99], [1.5], ["1"], None, GONE]),
    ("plain", "model/chunks/0/X", [*NOT_NAMES, {"is": "array", "name": "chunks/0/weights"}]),
    ("plain", "model/chunks/0/raw", [3, {"is": "array", "name": "chunks/0/X"}, GONE]),
    ("chunks", "model/chunks/0/raw", [None, 3]),
    ("chunks", "model/chunks/1/X", [{"is": "array", "name": "chunks/0/X"}]),
    (
        "sparse",
        "model/chunks/0/X/shape",
        [[20, 3], [20, 5], [19, 4], [-20, 4], [20], [20, "4"], 3, None, GONE],
    ),
    ("plain", "model/chunks/0/Y", [*NOT_NAMES, {"is": "array", "name": "chunks/0/X"}]),
    ("plain", "model/chunks/0/Y/is", ["csr_matrix", "x", None, GONE]),
    ("plain", "model/chunks/0/Y/shape", [[20, 2], [20, 4], [19, 3], [-1, 3], [60], None, [20.0, 3], GONE]),
    ("plain", "model/chunks/0/Y/indptr", NOT_NAMES),
    ("plain", "model/chunks/0/weights", [*NOT_NAMES, {"is": "array", "name": "chunks/0/X"}]),
    ("plain", "model/chunks/0/ids", [*NOT_NAMES, 20, {"is": "tuple", "items": [1, 2]}]),
    (
        "plain",
        "model/chunks/0/ids/items",
        [[0, 19, 1], [1, 21, 1], [0, 40, 2], [-5, 15, 1], [0, 10**15, 1], [19, -1, -1], [0, 20, 0], [], None],
    ),
    ("chunks", "model/chunks/1/ids", [{"is": "range", "items": [0, 2, 1]}]),
    (
        "plain",
        "model/chunks/0/groups",
        [*NOT_NAMES[1:4], *({"is": "array", "name": f"chunks/0/{part}"} for part in ("X", "weights"))],
    ),
    (
        "grouped",
        "model/chunks/0/groups",
        [{"is": "range", "items": [0, 20, 1]}, {"is": "tuple", "items": []}],
    ),
]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lies")
    found = {}
    for kind, (model, *requested) in campaign.models().items():
        model.save(folder / kind)
        state, arrays = read_file(folder / kind)
        found[kind] = (state, {name: arrays.whole(name) for name in arrays.entries}, *requested)
    return found


def believed(path, state, arrays, asked):
    """Whether a model of this state and these arrays is taken, in memory or, where it is used, mapped."""
    path.write_bytes(campaign.file_bytes(state, arrays))
    with contextlib.suppress(ModelFileError):
        load(path)
        return True
    with contextlib.suppress(ModelFileError):  # what is not read is not seen; what is, does no harm
        model = load(path, mmap=True)
        model.label_weights(asked[0])
        model.ids_.tolist(), model.leave_one_out()
    return False


@pytest.mark.parametrize(("kind", "where", "wrong"), LIES, ids=[f"{kind}-{where}" for kind, where, _ in LIES])
def test_a_lie_in_the_state_is_refused(kind, where, wrong, saved, tmp_path):
    whole, arrays, *requested = saved[kind]
    *above, key = (int(part) if part.isdigit() else part for part in where.split("/"))
    taken = []
    for lie in wrong:
        state = json.loads(json.dumps(whole))
        holder = campaign.at(state, above)
        if lie == GONE:
            del holder[key]
        else:
            holder[key] = lie
        if believed(tmp_path / "model", state, arrays, requested):
            taken.append(lie)
    assert not taken


def lies_of_an_array(array):
    """Wrong contents for any array that a model has."""
    short, flat = array[:-1], np.array(array).reshape(-1)
    yield "short", short
    yield "longer", np.concatenate([array, array[:1]])
    yield "of another rank", array[None] if array.ndim == 1 else array.reshape(-1)
    if array.dtype.kind == "f" and array.size:
        for value in (NAN, INF, -INF):
            flat = np.array(array).reshape(-1)
            flat[-1] = value
            yield f"with {value}", flat.reshape(array.shape)
        yield "of whole numbers", array.astype(np.int64)
    elif array.dtype.kind == "i" and array.size:
        flat[0] = -3
        yield "with -3", flat.reshape(array.shape)
        flat[0] = np.iinfo(array.dtype).max
        yield "with the largest", flat.reshape(array.shape)
        flat = np.array(array).reshape(-1)
        flat[-1] = -3
        yield "with -3 at the end", flat.reshape(array.shape)
        yield "of fractions", array.astype(np.float64) + 0.5


def may_be(name, what):
    """Infinite thresholds, of labels that are never there; any id, class, group, choice of columns, and count
    of rows that have a term, which no sum depends on.
    """
    return (
        ("thresholds_" in name and "inf" in what)
        or (name in ("chunks/0/ids", "labels") and what in ("with -3", "with -3 at the end", "of fractions"))
        or ("_view.columns" in name and what in ("short", "longer"))
        or (name.endswith("/groups") and what.startswith("with "))
        or (re.search(r"vocabularies\[\d\]\.counts", name) and what == "with the largest")
    )


@pytest.mark.parametrize("kind", campaign.KINDS)
def test_a_lie_in_any_array_is_refused(kind, saved, tmp_path):
    state, arrays, *requested = saved[kind]
    taken = [
        (name, what)
        for name, array in arrays.items()
        for what, lie in lies_of_an_array(array)
        if not may_be(name, what) and believed(tmp_path / "model", state, arrays | {name: lie}, requested)
    ]
    assert arrays
    assert not taken


@pytest.mark.parametrize("kind", campaign.KINDS)
def test_a_model_lacks_nothing(kind, saved, tmp_path):
    """Every array, and every part of the model but those that may be left out, is missed."""
    whole, arrays, *requested = saved[kind]
    taken = [
        name
        for name in arrays
        if believed(tmp_path / "model", whole, {k: v for k, v in arrays.items() if k != name}, requested)
    ]
    for name in whole["model"]:
        state = json.loads(json.dumps(whole))
        del state["model"][name]
        if believed(tmp_path / "model", state, arrays, requested):
            taken.append(name)
    assert not taken


def test_nesting_is_bounded(saved, tmp_path):
    state, arrays, *requested = saved["plain"]
    state = json.loads(json.dumps(state))
    for _ in range(200):
        state["model"]["weighting"] = {"is": "list", "items": [state["model"]["weighting"]]}
    assert not believed(tmp_path / "model", state, arrays, requested)


def test_texts_ask_for_no_more_memory_than_the_file_has(saved, tmp_path):
    """1,500 names that an array would widen to 4 MiB each: 6 GB for a file of 32 kB."""
    state, arrays, *_ = saved["plain"]
    state, arrays = json.loads(json.dumps(state)), dict(arrays)
    names = json.dumps([f"label {i}" for i in range(1500)])
    classes = state["model"]["labels"]["classes"]
    arrays[classes["name"]] = np.frombuffer(names.encode(), dtype=np.uint8)
    classes["dtype"] = "<U1048576"
    path = tmp_path / "model"
    path.write_bytes(campaign.file_bytes(state, arrays))
    tracemalloc.start()
    for mmap in (False, True):
        with pytest.raises(ModelFileError, match=r"asks for 6,29\d,\d{3},\d{3} bytes \(1,500 texts"):
            load(path, mmap=mmap)
    assert tracemalloc.get_traced_memory()[1] < 100 * path.stat().st_size
    tracemalloc.stop()


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [-20, -4]},
        {"shape": [2**62, 2**62]},
        {"shape": [20, 4, 1]},
        {"shape": "20"},
        {"shape": [20.0, 4.0]},
        {"dtype": "F16"},
        {"dtype": "F32"},
        {"dtype": 3},
        {"data_offsets": [0, 8]},
        {"data_offsets": [8, 648]},
        {"data_offsets": [-640, 0]},
        {"data_offsets": [640, 0]},
        {"data_offsets": [0, 2**63]},
        {"data_offsets": [0]},
        {"data_offsets": None},
    ],
    ids=str,
)
def test_a_lie_in_the_header_is_refused(change, saved, tmp_path):
    state, arrays, *_ = saved["plain"]
    path = tmp_path / "model"
    path.write_bytes(campaign.file_bytes(state, arrays, {"chunks/0/X": change}))
    for mmap in (False, True):
        with pytest.raises(ModelFileError, match=r"model(:| is not a model file) .*(header|damaged)"):
            load(path, mmap=mmap)


def test_what_was_saved_is_believed(saved, tmp_path):
    for state, arrays, *requested in saved.values():
        assert believed(tmp_path / "model", state, arrays, requested)


def test_every_class_that_a_file_may_name_checks_itself():
    assert all(callable(getattr(cls, "check", None)) for cls in CLASSES.values())
