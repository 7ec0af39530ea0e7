"""fit, predict, evaluate and explain on files, from the command line."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel import load
from simlabel.cli import app
from simlabel.datasets import load_dataset
from simlabel.metrics import CRITERIA, evaluate
from simlabel.sums import Exact


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    def invoke(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    return invoke


def fruit(rows, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(5, 2, rows).round(3),
            "width": rng.normal(5, 2, rows).round(3),
            "color": rng.choice(["red", "green", "blue"], rows),
            "ripe": rng.choice(["yes", "no"], rows),
        }
    )
    tall, wide = frame["height"] > 5, frame["width"] > 5
    tasty = (frame["color"] == "red") & (frame["ripe"] == "yes")
    names = np.array(["tall", "wide", "tasty"])
    frame["tags"] = [";".join(names[list(row)]) for row in zip(tall, wide, tasty, strict=True)]
    return frame


@pytest.fixture
def files(tmp_path):
    fruit(300, 1).to_csv(tmp_path / "train.csv", index=False)
    fruit(700, 2).to_csv(tmp_path / "new.csv", index=False)
    return tmp_path


@pytest.fixture
def model(run, files):
    run("fit", "train.csv", "--label-column", "tags", "--normalizer", "zscore,l2", "-o", "fruit.simlabel")
    return files / "fruit.simlabel"


def test_predictions_are_those_of_the_same_model_in_python(run, model, files):
    run("predict", model, "new.csv", "-o", "out.csv", "--scores")
    found = pd.read_csv("out.csv", keep_default_na=False)
    data = load_dataset("new.csv", label_column="tags")
    fitted = load(model)
    X = pd.DataFrame(data.X, columns=list(data.feature_names))
    assert [tuple(filter(None, labels.split(";"))) for labels in found["labels"]] == fitted.predict_sets(X)
    scores = found[[f"score:{label}" for label in fitted.classes_]].to_numpy()
    np.testing.assert_allclose(scores, fitted.label_weights(X), rtol=1e-6)
    assert found["row"].tolist() == list(range(700))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_output_is_the_same_for_any_chunk_size(run, model, ending):
    outputs = set()
    for rows in (1, 7, 256, 5000):
        run(
            "predict",
            model,
            "new.csv",
            "-o",
            f"out.{ending}",
            "--scores",
            "--probabilities",
            "--chunk-rows",
            rows,
        )
        outputs.add((model.parent / f"out.{ending}").read_bytes())
    assert len(outputs) == 1


def test_forms_of_output_hold_the_same(run, model, files):
    for ending in ("csv", "jsonl", "parquet"):
        run("predict", model, "new.csv", "-o", f"out.{ending}", "--probabilities")
    lines = [json.loads(line) for line in (files / "out.jsonl").read_text().splitlines()]
    table = pd.read_parquet("out.parquet")
    rows = list(csv.DictReader(io.StringIO((files / "out.csv").read_text())))
    assert [line["labels"] for line in lines] == [list(labels) for labels in table["labels"]]
    assert [";".join(line["labels"]) for line in lines] == [row["labels"] for row in rows]
    for label in ("tall", "tasty", "wide"):
        numbers = [line["probability"][label] for line in lines]
        np.testing.assert_allclose(numbers, table[f"probability:{label}"], rtol=1e-6)
        assert numbers == [float(row[f"probability:{label}"]) for row in rows]


def test_other_order_of_columns_no_labels_and_other_formats(run, model, files):
    run("predict", model, "new.csv", "-o", "wanted.jsonl")
    wanted = (files / "wanted.jsonl").read_text()
    other = fruit(700, 2)[["ripe", "width", "color", "height"]].assign(note="x")
    other.to_csv("other.csv", index=False, sep="\t")
    other.to_parquet("other.parquet", row_group_size=100)
    for name in ("other.csv", "other.parquet"):
        run("predict", model, name, "-o", "found.jsonl", "--chunk-rows", 64)
        assert (files / "found.jsonl").read_text() == wanted


def test_scores_and_probabilities_cost_no_further_pass(run, model, monkeypatch):
    passes, reduce = [], Exact.reduce

    def counted(self, *args, **options):
        passes.append(self)
        return reduce(self, *args, **options)

    monkeypatch.setattr(Exact, "reduce", counted)
    for figures in ([], ["--scores", "--probabilities"]):
        passes.clear()
        run("predict", model, "new.csv", "-o", "out.csv", *figures)
        assert len(passes) == 3  # blocks of 256 rows, of which there are 700


def test_predictions_go_to_stdout(run, model):
    result = run("predict", model, "new.csv")
    assert result.stdout.splitlines()[0] == "row,labels,confidence,forced"
    assert len(result.stdout.splitlines()) == 701
    assert json.loads(run("predict", model, "new.csv", "--to", "jsonl").stdout.splitlines()[5])["row"] == 5


def test_unknown_categories_are_printed(run, model, files):
    (files / "odd.csv").write_text("height,width,color,ripe\n5,5,purple,yes\n")
    assert "1 texts that the model does not know" in run("predict", model, "odd.csv").stderr


def test_a_failed_prediction_leaves_the_old_output(run, model, files):
    run("predict", model, "new.csv", "-o", "out.csv")
    before = (files / "out.csv").read_text()
    lines = (files / "new.csv").read_text().splitlines()
    (files / "bad.csv").write_text("\n".join([*lines[:600], "1,2,red,yes,tall", "x,2,red,yes,tall"]))
    result = run("predict", model, "bad.csv", "-o", "out.csv", code=1)
    assert "bad.csv, line 602: expected a finite number for 'height', found 'x'" in result.stderr
    assert (files / "out.csv").read_text() == before
    assert not [path for path in files.iterdir() if path.name.startswith(".")]


def test_evaluate_gives_the_criteria(run, model, files):
    found = json.loads(run("evaluate", model, "new.csv", "--label-column", "tags", "--json").stdout)
    data = load_dataset("new.csv", label_column="tags")
    fitted = load(model)
    X = pd.DataFrame(data.X, columns=list(data.feature_names))
    order = [list(fitted.classes_).index(name) for name in data.label_names]
    sets = fitted.predict_sets(X)
    predicted = np.array([[int(name in labels) for name in data.label_names] for labels in sets])
    base_rate = [*CRITERIA, "f1_micro", "f1_macro", "f1_instance"]
    wanted = evaluate(data.Y, predicted, fitted.label_weights(X)[:, order], criteria=base_rate)
    assert found["criteria"] == pytest.approx({name: wanted[name] for name in base_rate})
    shown = run(
        "evaluate", model, "new.csv", "--label-column", "tags", "--report", "e.html", "--criteria", "all"
    )
    assert "F1 (macro) ↑" in shown.stdout
    page = (files / "e.html").read_text()
    for words in ("fruit.simlabel on new", "Tuning curve", "Support", "Decided by"):
        assert words in page


def test_evaluate_counts_labels_that_only_one_side_has(run, model, files):
    """A label that the model lacks is never found; one that the file lacks is never right."""
    frame = fruit(200, 3)
    frame["tags"] = [f"{tags};new" if tags else "new" for tags in frame["tags"].str.replace("wide", "")]
    frame.to_csv("strange.csv", index=False)
    found = json.loads(
        run("evaluate", model, "strange.csv", "--label-column", "tags", "--json", "--criteria", "all").stdout
    )
    assert found["criteria"]["subset_accuracy"] == 0.0
    assert found["criteria"]["hamming_loss"] >= 0.25  # "new" alone is wrong everywhere, and it is one of four


def test_explain_names_the_instances(run, model):
    shown = run("explain", model, "new.csv", "--rows", "3,5-6", "--top", 2).stdout
    assert "query 1 is row 5" in shown
    assert " of all rows " in shown
    sets = [
        json.loads(line) for line in run("predict", model, "new.csv", "--to", "jsonl").stdout.splitlines()
    ]
    chosen = next(line for line in sets if line["labels"])
    words = ("explain", model, "new.csv", "--rows", chosen["row"], "--top", "2", "--json")
    found = json.loads(run(*words).stdout)
    assert {entry["row"] for entry in found} == {chosen["row"]}
    assert {entry["label"] for entry in found if entry["what"] == "label"} == set(chosen["labels"])
    assert all(0 < entry["share"] <= 1 for entry in found if entry["what"] == "label")
    past = run("explain", model, "new.csv", "--rows", "700", code=1)
    assert "has 700 rows, counted from 0; there is no row 700" in past.stderr


def test_fit_auto_saves_what_it_chose(run, files):
    fruit(60, 1).to_csv("few.csv", index=False)
    run("fit", "few.csv", "--label-column", "tags", "--auto", "-o", "auto.simlabel")
    assert load("auto.simlabel").feature_names_in_.tolist()[:2] == ["height", "width"]
    assert len(run("predict", "auto.simlabel", "new.csv").stdout.splitlines()) == 701


def test_fit_from_svmlight(run, files):
    lines = ["0 1:1 3:2", "1 2:1", "0,1 1:1 2:1", "1 2:2 3:1"] * 5
    (files / "a.svm").write_text("\n".join(lines) + "\n")
    facts = json.loads(run("fit", "a.svm", "-o", "a.simlabel", "--json").stdout)
    assert (facts["rows"], facts["features"], facts["labels"]) == (20, 3, 2)
    assert len(run("predict", "a.simlabel", "a.svm").stdout.splitlines()) == 21


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fit", "train.csv", "--label-column", "tags"], 2, "--output"),
        (["fit", "train.csv", "--label-column", "tags", "-o", "no/such/m.simlabel"], 1, "there is no folder"),
        (
            ["fit", "train.csv", "--label-column", "tags", "-o", "m", "--similarity", "rfb"],
            2,
            "'rfb' is not one of 'rbf'",
        ),
        (
            ["fit", "train.csv", "--label-column", "tags", "-o", "m", "--auto", "--influence", "ridge"],
            2,
            "--auto",
        ),
        (["fit", "train.csv", "--label-column", "nosuch", "-o", "m"], 2, "no column 'nosuch'"),
        (["predict", "nosuch.simlabel", "new.csv"], 1, "nosuch.simlabel"),
        (["predict", "train.csv", "new.csv"], 1, "train.csv"),
        (["predict", "fruit.simlabel", "nosuch.csv"], 1, "there is no such file"),
        (["predict", "fruit.simlabel", "new.csv", "-o", "out.xls"], 2, "--output must end in .csv, .xlsx"),
        (["predict", "fruit.simlabel", "new.csv", "--to", "xlsx"], 2, "--output"),
        (["predict", "fruit.simlabel", "new.csv", "--to", "parquet"], 2, "--output"),
        (["predict", "fruit.simlabel", "new.csv", "--separator", "a"], 2, "--separator"),
        (["explain", "fruit.simlabel", "new.csv", "--rows", "x"], 2, "--rows must be numbers"),
    ],
)
def test_errors_say_what_to_do(run, model, words, code, message):
    result = run(*words, code=code)
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output
