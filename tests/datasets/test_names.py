"""Data sets by name: search order, parts, the list, and the error for a missing set."""

import os
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from openml_answers import answered_by
from simlabel.datasets import Dataset, DatasetError, list_datasets, load_dataset, river_file

ARFF = "@relation x\n@attribute a numeric\n@attribute l {0,1}\n@data\n"
XML = '<labels><label name="l"/></labels>'

needs_river = pytest.mark.skipif(
    river_file("yeast") is None, reason="needs the package river, which has yeast"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLABEL_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def no_network():
    def urlopen(*_, **__):
        raise URLError("no network")

    with answered_by(urlopen):
        yield


@needs_river
def test_yeast_from_river_without_importing_it(monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    yeast = load_dataset("yeast")
    assert (yeast.X.shape, yeast.Y.shape) == ((2417, 103), (2417, 14))
    assert yeast.cardinality == pytest.approx(4.237, abs=1e-3)
    assert yeast.label_names == tuple(f"Class{k}" for k in range(1, 15))
    code = (
        "import sys; from simlabel.datasets import load_dataset; load_dataset('yeast'); "
        "sys.exit('river' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@needs_river
@pytest.mark.skipif(not os.environ.get("SIMLABEL_DATA"), reason="needs Mulan's own yeast in SIMLABEL_DATA")
def test_yeast_of_river_is_that_of_mulan(monkeypatch):
    from support import require_data

    mulan = require_data("yeast")
    monkeypatch.delenv("SIMLABEL_DATA")
    river = load_dataset("yeast")
    assert river.source != mulan.source
    assert np.array_equal(river.X, mulan.X)
    assert np.array_equal(river.Y.toarray(), mulan.Y.toarray())


def test_the_folder_comes_first(folder):
    (folder / "yeast.arff").write_text(ARFF + "5,1\n")
    (folder / "yeast.xml").write_text(XML)
    assert load_dataset("yeast").X.tolist() == [[5]]


def test_parts_are_joined_with_their_split(folder):
    (folder / "small-test.arff").write_text(ARFF + "3,1\n")
    (folder / "small-train.arff").write_text(ARFF + "1,1\n2,0\n")
    (folder / "small.xml").write_text(XML)
    small = load_dataset("small")
    assert small.name == "small"
    assert small.X.ravel().tolist() == [1, 2, 3]
    assert small.Y.toarray().ravel().tolist() == [1, 0, 1]
    assert small.split.tolist() == [0, 0, 2]
    assert "2 train + 1 test" in repr(small)
    assert load_dataset("small-test").split is None
    assert load_dataset("small-test").X.tolist() == [[3]]


def test_parts_of_svmlight_with_different_columns(folder):
    (folder / "s-train.svm").write_text("1,3 0:1 1:2\n")
    (folder / "s-test.svm").write_text("2 0:1 4:5\n")
    joined = load_dataset("s")
    assert joined.label_names == ("1", "2", "3")
    assert joined.Y.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    assert joined.X.toarray().tolist() == [[1, 2, 0, 0, 0], [1, 0, 0, 0, 5]]
    assert joined.split.tolist() == [0, 2]


def test_parts_that_do_not_fit_together(folder):
    (folder / "p-train.arff").write_text(ARFF + "1,1\n")
    (folder / "p-test.arff").write_text(ARFF.replace("attribute a", "attribute b") + "1,1\n")
    (folder / "p.xml").write_text(XML)
    with pytest.raises(DatasetError, match=r"the same features in all parts; they differ in \['a', 'b'\]"):
        load_dataset("p")


@pytest.mark.usefixtures("no_network")
def test_error_for_a_missing_set_lists_the_ways_to_obtain_it(folder):
    with pytest.raises(DatasetError) as caught:
        load_dataset("bibtex")
    message = str(caught.value)
    assert "bibtex.arff and bibtex.xml" in message
    assert "bibtex-train.arff" in message
    assert f"SIMLABEL_DATA names (it is {folder})" in message
    assert "river" not in message


@pytest.mark.usefixtures("no_network")
def test_missing_yeast_names_river_and_openml(monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "river", None)
    with pytest.raises(DatasetError) as caught:
        load_dataset("yeast")
    for words in ("it is not set", "pip install river", "set 40597 of OpenML", "no network"):
        assert words in str(caught.value)


def test_missing_file_and_missing_folder(folder, monkeypatch):
    with pytest.raises(DatasetError, match=r"nowhere/yeast\.arff: there is no such file"):
        load_dataset("nowhere/yeast.arff")
    monkeypatch.setenv("SIMLABEL_DATA", str(folder / "nowhere"))
    with pytest.raises(DatasetError, match="SIMLABEL_DATA must name a folder"):
        load_dataset("yeast")


def test_options_that_a_format_does_not_know(folder):
    (folder / "a.arff").write_text(ARFF + "1,1\n")
    with pytest.raises(
        TypeError, match=r"a\.arff is arff, which takes no option 'sep'; it takes labels, missing"
    ):
        load_dataset(folder / "a.arff", sep=";")
    with pytest.raises(ValueError, match="format must be one of 'arff'"):
        load_dataset(folder / "a.arff", format="xls")


def test_format_is_found_by_content(folder):
    (folder / "a.csv").write_text(ARFF + "1,1\n")
    (folder / "a.xml").write_text(XML)
    assert load_dataset(folder / "a.csv").label_names == ("l",)
    with pytest.raises(DatasetError, match="found XML"):
        load_dataset(folder / "a.xml")
    (folder / "b").write_bytes(b"\x00\x01\x02")
    with pytest.raises(DatasetError, match="expected a data set"):
        load_dataset(folder / "b")


def test_list_shows_what_needs_options_and_what_is_broken(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    (folder / "good.txt").write_text("2 3 2\n0,1 0:1\n0 1:1\n")
    (folder / "table.csv").write_text("a,l\n1,1\n")
    (folder / "broken.arff").write_text(ARFF)
    (folder / "README.txt").write_text("Some words about the data.\n")
    table = list_datasets()
    assert list(table.index) == ["broken", "good", "table"]
    good = table.loc["good"]
    assert (good["rows"], good["features"], good["labels"], good["distinct_label_sets"]) == (2, 3, 2, 2)
    assert (good["cardinality"], good["density"], good["problem"]) == (1.5, 0.75, "")
    assert "label_prefix=" in table.loc["table", "problem"]
    assert table.loc["table", "rows"] is pd.NA
    assert "labels" in table.loc["broken", "problem"]


def test_list_of_nothing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    table = list_datasets()
    assert len(table) == 0
    assert "rows" in table.columns


def test_dataset_refuses_parts_that_do_not_fit():
    import scipy.sparse as sp

    Y = sp.csr_array(np.ones((2, 1), dtype=np.int8))
    with pytest.raises(ValueError, match="rows of X and Y differ in number, 3 against 2"):
        Dataset("x", np.eye(3), Y, ("l",), ("a", "b", "c"))
    with pytest.raises(ValueError, match="label names"):
        Dataset("x", np.eye(2), Y, ("l", "m"), ("a", "b"))
    with pytest.raises(AttributeError):
        Dataset("x", np.eye(2), Y, ("l",), ("a", "b")).name = "y"


def test_a_set_that_a_test_needs_is_skipped_or_in_ci_a_failure(folder, monkeypatch):
    from support import require_data

    monkeypatch.setenv("CI", "false")
    with pytest.raises(pytest.skip.Exception, match="bibtex"):
        require_data("bibtex")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="bibtex"):
        require_data("bibtex")
    monkeypatch.delenv("SIMLABEL_DATA")
    with pytest.raises(pytest.skip.Exception, match="not set"):
        require_data("bibtex")


@pytest.mark.parametrize("ending", ["", "-sparse"])
def test_fixed_split_prefers_parts_to_the_whole(folder, ending):
    (folder / "two.xml").write_text(XML)
    (folder / f"two{ending}.arff").write_text(ARFF + "1,0\n2,1\n3,1\n")
    (folder / f"two-train{ending}.arff").write_text(ARFF + "1,0\n2,1\n")
    for source in (f"two{ending}", folder / f"two{ending}.arff"):
        assert load_dataset(source, fixed_split=True).split is None  # there is no test part
    (folder / f"two-test{ending}.arff").write_text(ARFF + "3,1\n")
    for source in (f"two{ending}", folder / f"two{ending}.arff"):
        assert load_dataset(source).split is None
        both = load_dataset(source, fixed_split=True)
        assert (both.name, both.split.tolist()) == (f"two{ending}", [0, 0, 2])
    assert next(iter(list_datasets().index)) == f"two{ending}"
    assert f"two-train{ending}" not in list_datasets().index


def test_files_of_sparse_rows_are_found_by_the_name_of_their_set(folder):
    (folder / "two.xml").write_text(XML)
    (folder / "two-sparse.arff").write_text(ARFF + "{0 1}\n{0 2,1 1}\n{0 3,1 1}\n")
    assert (load_dataset("two").name, load_dataset("two").n_rows) == ("two", 3)
    (folder / "two-train-sparse.arff").write_text(ARFF + "{0 1}\n{0 2,1 1}\n")
    (folder / "two-test-sparse.arff").write_text(ARFF + "{0 3,1 1}\n")
    assert load_dataset("two", fixed_split=True).split.tolist() == [0, 0, 2]
    (folder / "two-sparse.arff").unlink()
    assert load_dataset("two").split.tolist() == [0, 0, 2]  # the parts alone


@pytest.mark.parametrize("name", ["Beach", "beach", "BEACH"])
def test_names_are_found_in_any_letter_case(folder, name):
    (folder / "Beach-sparse.arff").write_text(ARFF + "1,1\n0,0\n")
    (folder / "Beach.xml").write_text(XML)
    assert load_dataset(name).n_rows == 2
    (folder / "beach.arff").write_text(ARFF + "1,1\n")
    (folder / "beach.xml").write_text(XML)
    assert load_dataset("beach").n_rows == 1  # the spelling that is there comes first


@pytest.mark.filterwarnings("ignore::simlabel._utils.advice.DataWarning")
def test_parts_with_names_of_rows_are_joined(folder):
    header = "@relation x\n@attribute name {" + ",".join(f"v{k}" for k in range(60)) + "}\n"
    header += ARFF.split("\n", 1)[1]
    for part, rows in {"train": range(40), "test": range(40, 60)}.items():
        (folder / f"beach-{part}.arff").write_text(header + "".join(f"v{k},{k},{k % 2}\n" for k in rows))
    (folder / "beach.xml").write_text(XML)
    beach = load_dataset("beach")
    assert beach.feature_names == ("a",)
    assert beach.X.ravel().tolist() == list(range(60))
