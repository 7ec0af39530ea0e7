"""Sets with a guarantee, from the shell."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel import load
from simlabel.cli import app
from simlabel.guarantees import Recall, SetCoverage

NAMES = ["deep", "round", "sweet"]


def written(path, rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).round(3)
    tags = [";".join(np.array(NAMES)[row]) for row in X + 0.5 * rng.normal(size=(rows, 3)) > 0]
    pd.DataFrame(X, columns=["a", "b", "c"]).assign(tags=tags).to_csv(path, index=False)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    written("train.csv", 120, 1)
    written("new.csv", 300, 2)

    def invoke(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        return result

    invoke("fit", "train.csv", "--label-column", "tags", "-o", "m.simlabel")
    return invoke


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_predict_writes_the_sets_of_the_same_promise_in_python(run, ending):
    messages = run("predict", "m.simlabel", "new.csv", "--set-coverage", 0.8, "-o", f"out.{ending}").stderr
    assert "All true labels of a row are in its set with a probability of at least 0.8" in " ".join(
        messages.split()
    )
    assert "Only approximate" in messages  # penalty and columns were chosen on the rows that it rests on
    assert "penalty" in messages
    read = {
        "csv": pd.read_csv,
        "parquet": pd.read_parquet,
        "jsonl": lambda path: pd.read_json(path, lines=True),
    }
    found = read[ending](f"out.{ending}")
    model = load("m.simlabel")
    wanted = model.predict_sets(pd.read_csv("new.csv")[["a", "b", "c"]], guarantee=SetCoverage(0.8))
    assert found["abstained"].tolist() == ["yes" if each is None else "no" for each in wanted]
    assert {"yes", "no"} <= set(found["abstained"])
    labels = found["labels"].fillna("") if ending == "csv" else found["labels"]
    split = [
        tuple(filter(None, each.split(";"))) if isinstance(each, str) else tuple(each) for each in labels
    ]
    assert split == [each or () for each in wanted]


def test_evaluate_measures_what_is_promised(run):
    words = ["evaluate", "m.simlabel", "new.csv", "--label-column", "tags"]
    requested = ["--recall", 0.8, "--precision", 0.7, "--label-coverage", 0.8, "--set-coverage", 0.8]
    found = json.loads(run(*words, *requested, "--json").stdout)["guarantees"]
    assert list(found) == ["recall", "precision", "label coverage", "set coverage"]
    frame = pd.read_csv("new.csv", keep_default_na=False)
    truths = [set(filter(None, each.split(";"))) for each in frame["tags"]]
    sets = load("m.simlabel").predict_sets(frame[["a", "b", "c"]], guarantee=Recall(0.8))
    assert found["recall"]["measured"] == pytest.approx(Recall(0.8).measure(truths, sets).value)
    assert found["recall"]["guaranteed"] == 0.8
    assert found["recall"]["caveats"]
    shown = run(*words, *requested, "--report", "e.html", "--report", "e.md").stdout
    assert "Guaranteed and measured" in shown
    assert "set coverage" in shown
    assert "Sets with a guarantee" in Path("e.html").read_text(encoding="utf-8")
    assert "| label coverage | 0.8 |" in Path("e.md").read_text(encoding="utf-8")
    assert "guarantees" not in json.loads(run(*words, "--json").stdout)


def test_misuse_is_reported(run):
    messages = run("predict", "m.simlabel", "new.csv", "--recall", 0.9, "--precision", 0.9, code=2).stderr
    assert "give one of them" in messages
    messages = run("predict", "m.simlabel", "new.csv", "--label-coverage", 1.0, code=2).stderr
    assert "below 1" in messages
    assert run("evaluate", "m.simlabel", "new.csv", "--recall", 1.5, code=2).stderr
