"""The columns that `predict` writes in addition to the labels: confidence and forced labels."""

from __future__ import annotations

import json
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel import SMLClassifier
from simlabel.cli import app
from simlabel.rules import CutoffRule

# with linear similarity the label weights of a row are its own numbers
ROWS = [[0.9, 0.1], [0.8, 0.6], [0.2, 0.1], [0.1, 0.3]]
SETS = ["sea", "sea;sun", "sea", "sun"]
FORCED = ["no", "no", "yes", "yes"]  # above 0.5 there is no label in the last two
CONFIDENCE = [0.9 / 1.0, 0.6 / 1.4, 0.2 / 0.3, 0.3 / 0.4]  # shares of the similarity; the smallest of a set
TOGETHER = ["sea:0.90", "sea:0.57; sun:0.43", "sea:0.67", "sun:0.75"]


@pytest.fixture
def predict(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ROWS, columns=["a", "b"]).to_csv("rows.csv", index=False)

    def run(*words, minimum=1, code=0):
        rule = CutoffRule(0.5, minimum=minimum)
        model = SMLClassifier("linear", normalizer=None, label_rule=rule, calibration=None)
        X = pd.DataFrame([[1.0, 0.0], [0.0, 1.0]], columns=["a", "b"])
        model.fit(X, [{"sea"}, {"sun"}]).save("m.simlabel")
        result = CliRunner().invoke(app, ["predict", "m.simlabel", "rows.csv", *words])
        assert result.exit_code == code, result.output
        return result

    return run


def read(path):
    if path.endswith(".jsonl"):
        with open(path, encoding="utf-8") as file:
            frame = pd.DataFrame(map(json.loads, file))
    else:
        readers = {"csv": pd.read_csv, "xlsx": pd.read_excel, "parquet": pd.read_parquet}
        frame = readers[path.rpartition(".")[2]](path)
    if not isinstance(frame["labels"].iloc[0], str):
        frame["labels"] = [";".join(labels) for labels in frame["labels"]]
    return frame


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl", "parquet"])
def test_forced_labels_are_marked_and_confidence_is_the_smallest_probability(predict, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    predict("-o", f"out.{ending}", "--label-probabilities")
    found = read(f"out.{ending}")
    assert list(found) == ["row", "labels", "confidence", "forced", "label_probabilities"]
    assert found["row"].tolist() == [0, 1, 2, 3]
    assert found["labels"].tolist() == SETS
    assert found["confidence"].tolist() == pytest.approx(CONFIDENCE)
    assert found["forced"].tolist() == FORCED
    assert found["label_probabilities"].tolist() == TOGETHER


@pytest.mark.parametrize("ending", ["csv", "xlsx", "jsonl", "parquet"])
def test_an_empty_set_has_no_confidence_and_is_not_forced(predict, ending):
    if ending == "xlsx":
        pytest.importorskip("openpyxl")
    predict("-o", f"out.{ending}", minimum=0)
    found = read(f"out.{ending}")
    assert found["labels"].fillna("").tolist() == ["sea", "sea;sun", "", ""]
    assert found["confidence"].isna().tolist() == [False, False, True, True]
    assert found["forced"].tolist() == ["no"] * 4


def test_scores_are_numbers_in_a_workbook(predict):
    pytest.importorskip("openpyxl")
    predict("-o", "out.xlsx", "--scores")
    assert pd.read_excel("out.xlsx")[["score:sea", "score:sun"]].to_numpy().tolist() == ROWS


def test_without_openpyxl_the_error_names_other_formats(predict, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    messages = predict("-o", "out.xlsx", code=1).stderr
    assert "pip install 'simlabel[excel]'" in messages
    assert "CSV, JSON lines or Parquet" in messages
    assert not (tmp_path / "out.xlsx").exists()


def test_a_set_that_does_not_fit_in_a_cell_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    monkeypatch.chdir(tmp_path)
    labels = {f"{'a' * 1000}{k}" for k in range(40)}
    SMLClassifier("linear", normalizer=None).fit([[1.0], [1.0]], [labels, labels]).save("m.simlabel")
    (tmp_path / "rows.svm").write_text("0 1:1\n", encoding="utf-8")
    words = ["predict", "m.simlabel", "rows.svm", "--index-base", "1", "-o", "out.xlsx"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "the text for cell B2 has 40,1" in result.stderr
    assert not (tmp_path / "out.xlsx").exists()


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
@pytest.mark.parametrize("how", ["as lists", "as hashtags"])
def test_labels_are_written_as_in_the_table_of_fit(tmp_path, shell_in, how, ending):
    run = shell_in(tmp_path, 300)
    sun = "sun; hot" if how == "as lists" else "sun"
    labels = [["sea"], [sun], ["sea", sun]] * 10
    texts = [f"{' '.join(each).replace(';', '')} {k % 3}" for k, each in enumerate(labels)]
    tags = [json.dumps(each) if how == "as lists" else " ".join(f"#{one}" for one in each) for each in labels]
    pd.DataFrame({"text": texts, "tags": tags}).to_csv("t.csv", index=False)
    assert f"2 labels, {how}" in run("fit", "t.csv", "--label-column", "tags", "-o", "m.simlabel").output
    run("predict", "m.simlabel", "t.csv", "-o", f"out.{ending}")
    found = read(f"out.{ending}")["labels"]
    assert found[:2].tolist() == tags[:2]
    pd.DataFrame({"text": texts, "tags": found}).to_csv("again.csv", index=False)
    result = run("evaluate", "m.simlabel", "again.csv", "--label-column", "tags", "--json").stdout
    assert json.loads(result)["criteria"]["f1_micro"] == 1.0
