"""Names in files stay as they are, and earlier formats are read in today's words."""

import json
from pathlib import Path

import pytest

from fuzz import model_files as campaign
from simlabel import SMLClassifier, load
from simlabel.engines import Auto
from simlabel.persistence import ModelFileError, _migrations
from simlabel.persistence._container import read_file, write_file
from simlabel.persistence._migrations import FORMAT, migrated
from simlabel.persistence._stages import CLASSES, REMOVED
from simlabel.weightings import TopK

FILES = Path(__file__).parent / "files"


def named_classes(value):
    """The classes that a state names."""
    if isinstance(value, dict):
        yield from [value["class"]] if value.get("is") == "stage" else []
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from named_classes(item)


def test_every_saved_class_says_its_own_name():
    assert all("file_key" in vars(cls) and cls.file_key == key for key, cls in CLASSES.items())


@pytest.mark.parametrize("path", sorted(FILES.glob("format_*/*.simlabel")), ids=lambda path: path.stem)
def test_names_that_files_hold_are_known(path):
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    state = json.loads(header["state"])
    names = set(named_classes(state))
    assert names
    assert names <= set(CLASSES)
    assert migrated(state, FORMAT) is state


def test_each_step_goes_from_one_format_to_the_next(monkeypatch):
    steps = [lambda state, n=n: {**state, "steps": [*state.get("steps", []), n]} for n in (1, 2, 3)]
    monkeypatch.setattr(_migrations, "_STEPS", tuple(steps))
    assert [migrated({}, version).get("steps") for version in (1, 2, 3, 4)] == [[1, 2, 3], [2, 3], [3], None]


def test_format_1_had_no_seed_and_other_names_for_f1():
    rule = {"is": "stage", "class": "label_rules.PerLabel", "values": {"criterion": "macro_f1", "minimum": 0}}
    other = {"is": "stage", "class": "weightings.TopK", "values": {"k": 3}}
    state = migrated({"params": {"label_rule": rule}, "model": {"rule": rule, "weighting": other}}, 1)
    assert state["model"]["seed"] == 0
    assert state["model"]["sketch"] is None
    assert state["model"]["weighting"] == other
    for each in (state["params"]["label_rule"], state["model"]["rule"]):
        assert each["values"] == {"criterion": "f1_macro", "minimum": 0}
    assert rule["values"]["criterion"] == "macro_f1"  # what was read is not changed


INDEX = {"is": "stage", "class": "engines.ANN", "values": {"memory_mib": 77, "recall": 0.9}}


@pytest.mark.parametrize(("asked", "wanted"), [("ann", "auto"), (INDEX, Auto(77))])
def test_format_1_had_an_index_which_the_automatic_engine_replaces(asked, wanted, tmp_path):
    path = tmp_path / "model.simlabel"
    model = SMLClassifier("rbf", weighting=TopK(2)).fit([[0.1], [0.5], [0.9]], [{"a"}, {"b"}, {"b"}])
    model.save(path)
    state, arrays = read_file(path)
    state["params"]["engine"], state["model"]["engine"] = asked, INDEX
    write_file(path, migrated(state, 1), {name: arrays.whole(name) for name in arrays.entries})
    opened = load(path)
    assert str(opened.engine) == str(wanted)
    assert str(opened._model.scorer.stages.engine) == str(Auto(77))
    assert opened.predict([[0.8], [0.2]]) == model.predict([[0.8], [0.2]])


def test_format_1_had_prototypes_with_a_projection():
    sums = {"is": "stage", "class": "sketching.PrototypeSums", "values": {"words": "9 prototypes"}}

    def read(projection):
        values = {**sums["values"], "projection": projection}
        return migrated({"model": {"sketch": {**sums, "values": values}}}, 1)["model"]["sketch"]

    assert read(None) == sums
    assert read({"is": "array", "name": "sketch.projection"})["class"] in REMOVED


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_file_that_names_what_is_no_more_says_what_read_it(name, tmp_path):
    state, arrays = read_file(FILES / "format_1" / "sketch.simlabel")
    state["params"]["sketch"]["class"] = name
    whole = {each: arrays.whole(each) for each in arrays.entries}
    (tmp_path / "model").write_bytes(campaign.file_bytes(state, whole))
    with pytest.raises(ModelFileError, match=rf"names '{name}'.* simlabel 0\.1\.0 .* read it; fit .* anew"):
        load(tmp_path / "model")
