"""Tables of users' own: 0/1 label columns, ids, empty files, arrays, and which labels were found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel import load
from simlabel.cli import app

WORDS = {"toxic": ["idiot", "stupid"], "threat": ["kill", "hurt"], "insult": ["fool", "loser"]}
LABELS = ",".join(WORDS)


def comments(n, seed):
    """Comments, each label with words of its own, as texts with 0/1 columns."""
    random = np.random.default_rng(seed)
    Y = (random.random((n, len(WORDS))) < 0.4).astype(int)
    rows = []
    for i, row in enumerate(Y):
        text = list(random.choice(["page", "talk", "link", "source", "user"], 5))
        text += [random.choice(words) for words, y in zip(WORDS.values(), row, strict=True) if y]
        rows.append({"id": f"c{i}", "comment": " ".join(text), **dict(zip(WORDS, row.tolist(), strict=True))})
    return pd.DataFrame(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with comments, and a model that was fitted on them; some label cells are empty."""
    folder = tmp_path_factory.mktemp("comments")
    frame = comments(60, 1).astype(dict.fromkeys(WORDS, object))
    frame.loc[:4, "toxic"] = None
    frame.loc[5, list(WORDS)] = None
    frame.to_csv(folder / "train.csv", index=False)
    comments(20, 2).to_csv(folder / "test.csv", index=False)
    words = ["fit", folder / "train.csv", "--labels", LABELS, "--id", "id", "-o", folder / "m.simlabel"]
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == 0, result.output
    (folder / "stdout.txt").write_text(result.stdout)
    (folder / "stderr.txt").write_text(result.stderr)
    return folder


@pytest.fixture
def run(folder, shell_in):
    return shell_in(folder, 300)


def plain(result):
    return " ".join(result.output.replace("│", " ").split())


def test_label_columns_of_0_and_1_make_a_tagger(run, folder):
    model = load("m.simlabel")
    assert set(model.classes_) == set(WORDS)
    assert model.n_references_ == 59  # one row has no known label
    shown = " ".join((folder / "stdout.txt").read_text().split())
    assert "each in its own column" in shown
    train = pd.read_csv("train.csv")
    for name in WORDS:
        assert f"{name} ({int(train[name].sum())})" in shown
    messages = " ".join((folder / "stderr.txt").read_text().split())
    assert "1 row with only empty label cells: left out as untagged" in messages
    assert "5 rows with some empty label cells" in messages
    run("predict", "m.simlabel", "test.csv", "-o", "out.xlsx")
    sheet = openpyxl.load_workbook("out.xlsx").active
    assert [cell.value for cell in sheet[1]] == ["row", "id", "title", "labels", "confidence", "forced"]
    assert sheet.max_row == 21


def test_evaluate_leaves_out_label_cells_that_are_empty(run):
    frame = pd.read_csv("test.csv").astype(dict.fromkeys(WORDS, object))
    criteria = ("--criteria", "f1_micro", "--json")
    right = json.loads(run("evaluate", "m.simlabel", "test.csv", *criteria).stdout)["criteria"]
    assert right["f1_micro"] > 0.9
    frame.drop(columns="threat").to_csv("two.csv", index=False)
    two = json.loads(run("evaluate", "m.simlabel", "two.csv", *criteria).stdout)["criteria"]
    assert two["f1_micro"] > 0.9  # labels without a column are unknown, not absent
    frame["threat"] = "perhaps"
    frame.to_csv("wrong.csv", index=False)
    result = run("evaluate", "m.simlabel", "wrong.csv", code=1)
    assert "wrong.csv, line 2: expected 0 or 1 in the label column 'threat'" in plain(result)


def test_teach_reads_label_columns_too(run):
    more = comments(6, 3).assign(id=[f"new{i}" for i in range(6)])
    more.to_csv("more.csv", index=False)
    run("teach", "m.simlabel", "more.csv")
    assert load("m.simlabel").n_references_ == 65


def test_a_table_of_numbers_with_label_columns_stays_a_matrix(run):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.random((40, 3)), columns=["x", "y", "z"])
    frame["high"] = (frame["x"] > 0.5).astype(int)
    frame["low"] = 1 - frame["high"]
    frame.to_csv("numbers.csv", index=False)
    run("fit", "numbers.csv", "--labels", "high,low", "-o", "n.simlabel")
    assert load("n.simlabel").encoder_ is None


@pytest.mark.parametrize("command", ["fit", "teach", "correct"])
def test_ids_given_twice_are_refused_with_their_lines(run, command):
    rows = ["id,comment,tags", 'a,"two\nlines",x', "b,three words here,y", "a,four more words,x", "c,five,y"]
    Path("twice.csv").write_text("\n".join(rows) + "\n")
    words = {
        "fit": ("fit", "twice.csv", "--label-column", "tags", "--id", "id", "-o", "t.simlabel"),
        "teach": ("teach", "m.simlabel", "twice.csv", "--label-column", "tags"),
        "correct": ("correct", "m.simlabel", "twice.csv", "--label-column", "tags"),
    }[command]
    before = Path("m.simlabel").read_bytes()
    messages = plain(run(*words, code=1))
    assert "'a' (lines 2, 5)" in messages  # a quoted line end counts, as in an editor
    assert "--group-column" in messages
    assert Path("m.simlabel").read_bytes() == before


@pytest.mark.parametrize("name", ["h.csv", "h.tsv", "h.xlsx", "h.json", "h.parquet"])
def test_files_without_rows(run, name):
    frame = pd.DataFrame({"id": [], "comment": [], "tags": []}, dtype=str)
    if name.endswith("json"):
        Path(name).write_text("[]")
    elif name.endswith("xlsx"):
        frame.to_excel(name, index=False)
    elif name.endswith("parquet"):
        frame.to_parquet(name)
    else:
        frame.to_csv(name, index=False, sep="\t" if name.endswith("tsv") else ",")
    messages = plain(run("fit", name, "--label-column", "tags", "-o", "x.simlabel", code=2))
    assert f"{name} has no rows" in messages
    assert "wrote 0 rows" in plain(run("predict", "m.simlabel", name, "-o", "out.csv"))
    assert Path("out.csv").read_text().startswith("row,")
    assert "has no rows" in plain(run("evaluate", "m.simlabel", name, "--label-column", "tags", code=2))


def test_label_names_that_look_wrong_are_listed(run):
    texts = [f"item {i} of the list" for i in range(8)]
    frame = pd.DataFrame({"text": texts, "tags": ["['a'", "b", "b", "x" * 70, "b", "c", "c", "b"]})
    frame.to_csv("odd.csv", index=False)
    result = run("fit", "odd.csv", "--label-column", "tags", "-o", "o.simlabel")
    assert "b (4), c (2)" in plain(result)
    assert "2 label names look wrong" in plain(result)
    labels = dict(load("o.simlabel").describe().tables)["Labels"]
    assert labels["rows"].tolist() == [4, 2, 1, 1]
    assert (labels["looks wrong"] != "").tolist() == [False, False, True, True]


def test_names_of_several_labels_with_spaces_look_wrong(run):
    tags = ["sea", "sun", "sea sun", "New York"] * 3
    pd.DataFrame({"text": [f"item {i} of the list" for i in range(12)], "tags": tags}).to_csv(
        "s.csv", index=False
    )
    message = plain(run("fit", "s.csv", "--label-column", "tags", "-o", "s.simlabel"))
    assert "1 label name looks wrong: 'sea sun' (each of its words is a label)" in message
    assert "(--separator)" in message


def test_explain_by_id_and_why_not(run):
    frame = pd.read_csv("test.csv")
    row = int(np.flatnonzero(frame["threat"] == 0)[0])
    one = run("explain", "m.simlabel", "test.csv", "--ids", f"c{row}", "--label", "threat", "--top", 1)
    assert f"query 0 is row {row}, id c{row}" in plain(one)
    assert "not given: its score is" in plain(one)
    assert "against it" in plain(one)
    assert "no row with the id 'zz'" in plain(run("explain", "m.simlabel", "test.csv", "--ids", "zz", code=2))
    assert "no label 'zz'" in plain(run("explain", "m.simlabel", "test.csv", "--label", "zz", code=2))
    few = run("explain", "m.simlabel", "test.csv", "--label", "threat", "--top", 1).stdout
    many = run("explain", "m.simlabel", "test.csv", "--label", "threat", "--top", 6).stdout
    assert len(many.splitlines()) >= len(few.splitlines()) + 5  # rows, and words that there are


@pytest.mark.parametrize("form", ["lab.npy", "lab.txt", "lab.csv"])
def test_an_array_of_rows_with_a_file_of_labels(run, form):
    X = np.random.default_rng(0).normal(size=(50, 4))
    Y = (X[:, :2] > 0).astype(int)
    np.save("X.npy", X)
    np.save("lab.npy", Y)
    pd.DataFrame(Y, columns=["a", "b"]).to_csv("lab.csv", index=False)
    lines = [";".join(name for name, y in zip("ab", row, strict=True) if y) for row in Y]
    Path("lab.txt").write_text("\n".join(lines) + "\n")
    run("fit", "X.npy", "--labels", form, "-o", "x.simlabel")
    run("predict", "x.simlabel", "X.npy", "-o", "out.csv")
    assert len(pd.read_csv("out.csv")) == 50
    run("explain", "x.simlabel", "X.npy")
    scores = run("evaluate", "x.simlabel", "X.npy", "--labels", form, "--criteria", "f1_micro", "--json")
    assert json.loads(scores.stdout)["criteria"]["f1_micro"] > 0.8
    assert "name another file with labels=" in plain(run("fit", "X.npy", "-o", "y.simlabel", code=1))
