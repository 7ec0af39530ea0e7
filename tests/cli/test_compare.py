from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

from made_data import make_data
from simlabel.cli import app
from simlabel.experiments import PUBLISHED


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a folder of its own, on a terminal of 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def csv(tmp_path):
    """A file as users have them: numbers, and one column of label lists."""

    def write(name="mine", **options):
        data = make_data(name, **options)
        lines = [",".join([*data.feature_names, "tags"])]
        for i in range(data.n_rows):
            tags = ";".join(data.label_names[k] for k in data.Y[[i]].indices)
            lines.append(",".join([*(f"{value:.6f}" for value in data.X[i]), tags]))
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def test_compare_prints_a_table_that_fits(run, csv):
    result = run("compare", csv(), "--label-column", "tags", "-a", "knn,sml", "--folds", 3)
    assert result.exit_code == 0, result.output
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    for words in ("mine: 3-fold cross-validation", "KNeighbors", "SML", "Hamming", "precision ↑", "±"):
        assert words in result.stdout


def test_compare_for_machines_and_reports(run, csv, tmp_path):
    words = ("compare", csv("a"), csv("b", seed=1), "--label-column", "tags", "-a", "knn,br", "--folds", 3)
    result = run(*words, "--json", "--criteria", "f1_micro,ndcg@3", "--report", "r.html", "--report", "r.tex")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["protocol"] == "3-fold cross-validation"
    assert set(found["results"]["b"]["knn"]["criteria"]) == {"f1_micro", "ndcg@3"}
    assert len(found["results"]["a"]["br"]["criteria"]["ndcg@3"]["folds"]) == 3
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    assert r"\toprule" in (tmp_path / "r.tex").read_text()
    results = sorted((tmp_path / "simlabel-runs").rglob("*.json"))
    assert len(results) == 12
    again = run(*words, "--json", "--criteria", "f1_micro,ndcg@3")
    assert json.loads(again.stdout) == found  # nothing was run again: even the seconds are the same


def test_compare_writes_a_table_with_the_value_of_each_fold(run, csv, tmp_path):
    words = ("compare", csv("a"), csv("b", seed=1), "--label-column", "tags", "-a", "knn,br", "--folds", 3)
    result = run(*words, "--json", "--criteria", "f1_micro,one_error", "-o", "values.csv")
    assert result.exit_code == 0, result.output
    wanted = json.loads(result.stdout)["results"]
    table = pd.read_csv(tmp_path / "values.csv")
    assert list(table.columns) == ["data", "algorithm", "fold", "criterion", "value"]
    assert len(table) == 2 * 2 * 3 * 2
    of_knn = table[(table["algorithm"] == "KNeighbors") & (table["criterion"] == "one_error")]
    for data in ("a", "b"):
        values = of_knn[of_knn["data"] == data].sort_values("fold")["value"].tolist()
        assert values == pytest.approx(wanted[data]["knn"]["criteria"]["one_error"]["folds"])
    refused = run(*words, "-o", "values.html")
    assert refused.exit_code == 2
    assert ".csv, .xlsx or .jsonl" in refused.stderr


def test_ranks_over_several_sets(run, csv):
    files = [csv(name, seed=seed) for seed, name in enumerate("abc")]
    result = run("compare", *files, "--label-column", "tags", "-a", "knn,br,lp", "--folds", 2)
    assert result.exit_code == 0, result.output
    assert "Mean ranks by Average precision on 3 data sets" in result.stdout
    assert "Friedman: p =" in result.stdout


def test_protocols(run, csv):
    path = csv()
    share = run("compare", path, "--label-column", "tags", "-a", "knn", "--test-share", 0.25, "--repeats", 2)
    assert "2 random splits, 25% of the rows for testing" in share.stdout
    both = run("compare", path, "--label-column", "tags", "--test-share", 0.25, "--fixed-split")
    assert both.exit_code == 2
    assert "exclude each other" in both.stderr
    whole = run("compare", path, "--label-column", "tags", "-a", "knn", "--fixed-split")
    assert whole.exit_code == 1
    assert "comes in one piece" in whole.stderr


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["compare"], 2, "give at least one data set"),
        (["compare", "nosuch.csv"], 1, "there is no such file"),
        (["compare", "mine.csv", "-a", "knn,mlkn"], 2, "unknown algorithm 'mlkn'"),
        (["compare", "mine.csv", "-a", "os:path"], 2, "not a scikit-learn estimator"),
        (["compare", "mine.csv", "--criteria", "f2"], 2, "unknown criterion 'f2'"),
        (["compare", "mine.csv", "--criteria", "ndcg@7"], 2, "k = 1, 3 and 5"),
        (["compare", "mine.csv", "--report", "r.pdf"], 1, "a report ends in .html"),
        (["compare", "mine.csv", "-a", "knn"], 1, "label_column='tags'"),
        (["compare", "mine.csv", "--label-column", "tags", "--folds", "1"], 2, "--folds"),
        (["reproduce", "scene"], 2, "scene"),
        (["datasets", "nosuch.arff"], 1, "there is no such file"),
    ],
)
def test_errors_say_what_to_do(run, csv, words, code, message):
    csv()
    result = run(*words)
    assert result.exit_code == code, result.output
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output


def test_a_failing_algorithm_is_printed_and_the_command_fails(run, csv):
    address = "sklearn.linear_model:LogisticRegression"
    result = run("compare", csv(), "--label-column", "tags", "-a", f"knn,{address}", "--folds", 3)
    assert result.exit_code == 1
    assert "KNeighbors" in result.stdout
    assert f"left out: {address} on mine, fold-1" in result.stderr


def test_debug_shows_the_trace(run):
    result = run("datasets", "nosuch.arff", "--debug")
    assert result.exit_code == 1
    assert result.exception is not None
    assert "no such file" in str(result.exception)


def test_an_option_that_a_format_lacks_is_misuse(run, tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("0,1 1:0.5\n1 2:0.5\n")
    result = run("datasets", path, "--label-prefix", "x")
    assert result.exit_code == 2
    assert "takes no option 'label_prefix'" in " ".join(result.stderr.replace("│", " ").split())


def test_datasets_of_a_folder_and_of_a_file(run, csv, tmp_path, monkeypatch):
    monkeypatch.setenv("SIMLABEL_DATA", str(tmp_path))
    (tmp_path / "tiny.arff").write_text(
        "@relation 'tiny: -C 2'\n@attribute a {0,1}\n@attribute b {0,1}\n@attribute x numeric\n"
        "@data\n1,0,2.5\n1,1,3\n"
    )
    listed = run("datasets")
    assert listed.exit_code == 0, listed.output
    assert "tiny" in listed.stdout
    found = {row["name"]: row for row in json.loads(run("datasets", "--json").stdout)}
    assert found["tiny"]["labels"] == 2
    assert found["tiny"]["cardinality"] == 1.5
    one = json.loads(run("datasets", csv(), "--label-column", "tags", "--json").stdout)
    assert (one["rows"], one["labels"]) == (60, 4)
    assert "label 0" in run("datasets", csv(), "--label-column", "tags").stdout
    numbered = run("datasets", tmp_path / "tiny.arff", "--labels", "1", "--json")
    assert json.loads(numbered.stdout)["labels"] == 1


def test_algorithms_are_listed(run):
    assert "RandomForest" in run("compare", "--list").stdout
    assert {row["name"] for row in json.loads(run("compare", "--list", "--json").stdout)} >= {"sml", "rf"}


def test_reproduce_prints_published_measured_and_verdicts(run, tmp_path):
    pytest.importorskip("river", reason="yeast is read from river")
    result = run("reproduce", "yeast", "--quick", "--folds", 2, "--report", "r.md")
    assert result.exit_code == 0, result.output
    assert all(len(line) <= 80 for line in result.stdout.splitlines())
    text = " ".join(result.stdout.split())
    assert str(PUBLISHED["yeast"]["SML"]["coverage"]) in text
    assert "SML is better than all others on all five criteria:" in text
    assert "The paper says" in (tmp_path / "r.md").read_text()
    found = json.loads(run("reproduce", "yeast", "--quick", "--folds", 2, "--json").stdout)
    assert len(found["claims"]) == 3


def test_ctrl_c_ends_cleanly(tmp_path):
    """A real interrupt during a comparison: no trace, code 130, and the results of finished folds remain."""
    script = tmp_path / "slow_forest.py"
    script.write_text(
        "import pathlib, time\n"
        "from sklearn.ensemble import RandomForestClassifier\n"
        "class Slow(RandomForestClassifier):\n"
        "    def fit(self, X, y):\n"
        "        while list(pathlib.Path.cwd().rglob('fold-*.json')):\n"
        "            time.sleep(1)\n"  # one fold is finished: wait for the interrupt
        "        return super().fit(X, y)\n"
    )
    path = tmp_path / "mine.csv"
    path.write_text("x,a,b\n" + "".join(f"{i},{i % 2},{int(i > 20)}\n" for i in range(40)))
    words = ["compare", "mine.csv", "--labels", "a,b", "-a", "slow_forest:Slow", "--folds", "20"]
    command = [sys.executable, "-c", "from simlabel.cli import main; main()", *words]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not list(tmp_path.rglob("fold-*.json")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in message
    assert "stopped" in message


def test_fixed_split_finds_the_parts_in_the_folder_of_the_whole(run, tmp_path):
    header = "@relation 'two: -C 1'\n@attribute l {0,1}\n@attribute a numeric\n@data\n"
    rows = [f"{k % 2},{k % 2 + k / 100}\n" for k in range(24)]
    for name, part in {"two": rows, "two-train": rows[:16], "two-test": rows[16:]}.items():
        (tmp_path / f"{name}.arff").write_text(header + "".join(part))
    result = run("compare", tmp_path / "two.arff", "-a", "br", "--fixed-split", "--folder", "runs")
    assert result.exit_code == 0, result.output
    assert "training and test parts" in result.output
