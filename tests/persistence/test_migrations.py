"""Names in files stay as they are, and earlier formats are read in today's words."""

import json
from pathlib import Path

import pytest

from fuzz import model_files as campaign
from simlabel import load
from simlabel.persistence import ModelFileError, _migrations, read_file
from simlabel.persistence._migrations import FORMAT, migrated
from simlabel.persistence._stages import CLASSES, REMOVED

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


def test_format_2_had_prototypes_with_a_projection():
    sums = {"is": "stage", "class": "sketching.PrototypeSums", "values": {"words": "9 prototypes"}}

    def read(projection):
        values = {**sums["values"], "projection": projection}
        return migrated({"model": {"sketch": {**sums, "values": values}}}, 2)["model"]["sketch"]

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
