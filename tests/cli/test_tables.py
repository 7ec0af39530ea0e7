"""Raw tables on the command line: fit, predict, evaluate and explain agree with Python."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from film_tables import films, stderr_of, write_csv
from simlabel import SMLClassifier, Tagger, load
from simlabel.datasets import read_table
from simlabel.metrics import evaluate

KINDS = {
    "id": "id",
    "title": "text",
    "synopsis": "text",
    "Länge": "number",
    "section": "category",
    "released": "date",
}


def predicted(path="out.csv"):
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    return [set(filter(None, labels.split("|"))) for labels in frame["labels"]]


def test_what_was_found_out_is_shown(shell, film_folder):
    shown = (film_folder / "stdout.txt").read_text(encoding="utf-8")
    for column, kind in KINDS.items():
        assert any(line.split()[:2] == [column, kind] for line in shown.splitlines())
    assert "decimal comma" in shown
    assert "39 rows with 3 labels, separated by '|'" in shown
    messages = (film_folder / "stderr.txt").read_text(encoding="utf-8")
    assert "films.csv: cells separated by semicolons; encoding: UTF-8" in messages
    assert "weighing columns, at most 80 tries" in messages
    assert "learning from 39 rows" in messages
    assert "1 row with an empty cell in 'tags': left out as untagged." in " ".join(messages.split())


def test_the_model_is_the_one_that_python_fits(shell):
    frame = films(40, 1).dropna(subset="tags")
    tags = frame.pop("tags")
    tagger = Tagger({"title": "text"}, id_column="id", title_column="title").fit(frame, tags)
    loaded, new = load("films.simlabel"), read_table("new.csv").frame
    assert loaded.label_separator_ == tagger.label_separator_ == "|"
    assert loaded.ids_.tolist() == frame["id"].tolist()
    assert loaded.predict(new) == tagger.predict(new)
    np.testing.assert_allclose(loaded.predict_proba(new), tagger.predict_proba(new), rtol=1e-9)


def test_predictions_are_those_of_python_for_every_format(shell):
    new = films(25, 2).drop(columns="tags")
    wanted = load("films.simlabel").predict(new)
    write_csv("new.tsv", new, "\t", "utf-16")
    new.to_json("new.jsonl", orient="records", lines=True, force_ascii=False)
    new.to_json("new.json", orient="records", force_ascii=False)
    new.to_parquet("new.parquet")
    pytest.importorskip("openpyxl")
    new.to_excel("new.xlsx", index=False)
    for name in ("new.csv", "new.tsv", "new.jsonl", "new.json", "new.parquet", "new.xlsx"):
        shell("predict", "films.simlabel", name, "-o", "out.csv")
        assert predicted() == wanted, name


def test_a_workbook_is_fitted_on_as_a_table(shell):
    pytest.importorskip("openpyxl")
    frame = films(40, 1)
    frame["tags"] = [7 if tags == "crime" else None for tags in frame["tags"]]
    frame.to_excel("films.xlsx", index=False)
    words = ("fit", "films.xlsx", "--label-column", "tags", "-o", "m", "--json", "--empty-means-none")
    facts = json.loads(shell(*words).stdout)
    assert (facts["rows"], facts["labels"], facts["separator"]) == (40, 1, None)
    assert load("m").classes_.tolist() == ["7"]


def test_a_model_of_python_is_read_by_the_shell(shell):
    frame = films(40, 1)
    tags = [set(tags.split("|")) if tags else set() for tags in frame.pop("tags")]
    SMLClassifier("linear", normalizer=None, encoder="table").fit(frame, tags).save("plain.simlabel")
    shell("predict", "plain.simlabel", "new.csv", "-o", "out.csv", "--separator", "|")
    assert predicted() == load("plain.simlabel").predict(read_table("new.csv").frame)
    found = json.loads(
        shell("evaluate", "plain.simlabel", "films.csv", "--label-column", "tags", "--json").stdout
    )
    assert found["unknown_labels"] == {}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_output_is_the_same_for_any_chunk_size(shell, ending, tmp_path):
    outputs = set()
    for rows in (1, 7, 5000):
        shell("predict", "films.simlabel", "new.csv", "-o", f"out.{ending}", "--scores", "--chunk-rows", rows)
        outputs.add((tmp_path / f"out.{ending}").read_bytes())
    assert len(outputs) == 1


def test_ids_and_titles_travel_through_predict(shell, tmp_path):
    new = films(25, 2).drop(columns="tags")
    for ending in ("csv", "jsonl", "parquet"):
        shell("predict", "films.simlabel", "new.csv", "-o", f"out.{ending}", "--probabilities")
    table = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert list(table.columns[:4]) == ["row", "id", "title", "labels"]
    for what in ("id", "title"):
        assert table[what].tolist() == new[what].tolist()
        assert [line[what] for line in lines] == new[what].tolist()
        assert pd.read_parquet("out.parquet")[what].tolist() == new[what].tolist()
    assert table["title"][3] == "54"


def test_formulas_stay_out_of_spreadsheets(shell):
    new = films(5, 2).drop(columns="tags")
    new.loc[0, ["id", "title"]] = "=1+1"
    write_csv("new.csv", new)
    shell("predict", "films.simlabel", "new.csv", "-o", "out.csv", "--spreadsheet-safe")
    assert pd.read_csv("out.csv").loc[0, ["id", "title"]].tolist() == ["'=1+1", "'=1+1"]


def test_columns_that_are_missing_or_new_and_words_that_are_unknown_are_reported(shell):
    new = films(25, 2).drop(columns=["tags", "section"]).assign(rating="9")
    new["synopsis"] = [*["zzz qqq"] * 4, *new["synopsis"][4:]]
    write_csv("new.csv", new)
    result = shell("predict", "films.simlabel", "new.csv", "--chunk-rows", 3)
    messages = stderr_of(result)
    assert messages.count("column 'section' is missing and is treated as empty") == 1
    assert messages.count("column 'rating' is new and is ignored") == 1
    assert "column 'synopsis': in 4 of 25 rows there is nothing that the model knows" in messages
    assert len(result.stdout.splitlines()) == 26


def test_the_column_of_labels_is_no_news(shell):
    """People predict and explain the file that they learned from."""
    rows = films(5, 2)
    for command in ("predict", "explain"):
        answers = []
        for frame in (rows, rows.drop(columns="tags")):
            write_csv("queries.csv", frame)
            answers.append(shell(command, "films.simlabel", "queries.csv"))
        assert "is new" not in stderr_of(answers[0])
        assert answers[0].stdout == answers[1].stdout


def test_lines_that_cannot_be_read_are_reported_with_their_number(shell, tmp_path):
    with (tmp_path / "new.csv").open("a", encoding="latin-1") as file:
        file.write("a;b;c;d;e;f;g;h;i\n" * 8)
    result = shell("predict", "films.simlabel", "new.csv")
    assert "8 lines that cannot be read are skipped" in stderr_of(result)
    assert result.stderr.count("new.csv, line ") == 5
    assert len(result.stdout.splitlines()) == 26


def test_evaluate_reads_labels_by_the_separator_of_the_model(shell):
    held_out = films(30, 3)
    held_out.loc[:3, "tags"] = "horror|zombies"
    held_out.loc[4, "tags"] = "gore"
    write_csv("held-out.csv", held_out)
    words = ("evaluate", "films.simlabel", "held-out.csv", "--label-column", "tags")
    result = shell(*words, "--json")
    found = json.loads(result.stdout)
    assert found["unknown_labels"] == {"gore": 1, "zombies": 4}
    assert "2 labels that the model does not know, with their rows: 'gore' (1), 'zombies' (4)" in stderr_of(
        result
    )
    assert "'tags'" not in result.stderr
    write_csv("one.csv", held_out[4:])
    messages = stderr_of(shell("evaluate", "films.simlabel", "one.csv", "--label-column", "tags"))
    assert "1 label that the model does not know, with their rows: 'gore' (1)" in messages
    assert "1 of 30 rows have an empty label cell: left out as untagged." in stderr_of(result)
    held_out = held_out.dropna(subset="tags")
    model, names = load("films.simlabel"), ["crime", "horror", "romance", "gore", "zombies"]
    rows = held_out.drop(columns="tags")
    truth = np.array([[name in (tags or "").split("|") for name in names] for tags in held_out["tags"]])
    sets = np.array([[name in labels for name in names] for labels in model.predict(rows)])
    scores = np.hstack([model.label_weights(rows), np.full((29, 2), -9.0)])
    criteria = ["hamming_loss", "average_precision", "f1_micro", "f1_macro"]
    wanted = evaluate(truth.astype(int), sets.astype(int), scores, criteria=criteria)
    assert {name: found["criteria"][name] for name in criteria} == pytest.approx(dict(wanted.values))
    assert "F1 (micro)" in shell(*words, "--report", "r.html").stdout


def test_explain_names_the_rows(shell):
    shown = shell("explain", "films.simlabel", "new.csv", "--rows", "3,8", "--top", 2)
    assert "query 0 is row 3, id tt2-3, title 54; query 1 is row 8, id tt2-8" in shown.stdout
    found = json.loads(shell("explain", "films.simlabel", "new.csv", "--rows", "3,8", "--json").stdout)
    assert {(one["row"], one["row_id"]) for one in found} == {(3, "tt2-3"), (8, "tt2-8")}


def test_given_kinds_override_the_detected_ones(shell):
    words = ("--category", "title", "--ignore", "section", "--ignore", "released", "--multi", "synopsis")
    more = ("--number", "Länge", "--id", "id", "--separator", "+", "--label-rule", "set_size", "--jobs", 1)
    facts = json.loads(
        shell("fit", "films.csv", "--label-column", "tags", "-o", "m", "--json", *words, *more).stdout
    )
    kinds = {one["column"]: one["kind"] for one in facts["columns"]}
    assert kinds == KINDS | {
        "title": "category",
        "section": "ignore",
        "released": "ignore",
        "synopsis": "multi",
    }
    assert facts["separator"] == "+"
    assert "crime|horror" in load("m").classes_


@pytest.mark.parametrize("kind", ["ignore", "category"])
def test_rows_of_a_group_are_given_to_fit_as_groups(shell, kind):
    frame = films(40, 1).dropna(subset="tags")
    tags = frame.pop("tags")
    columns = {"section": kind, "title": "ignore", "synopsis": "ignore"}  # what is left is quickly fitted
    options = [word for column in ("title", "synopsis") for word in ("--ignore", column)]
    options += ["--category", "section"] if kind == "category" else []
    shell("fit", "films.csv", "--label-column", "tags", "-o", "m", "--group-column", "section", *options)
    wanted, without = Tagger(columns), Tagger(columns)
    wanted.fit(frame, tags, groups=frame["section"].tolist())
    without.fit(frame, tags)
    found = load("m")
    assert dict(found.columns) == columns
    np.testing.assert_allclose(found.leave_one_out(), wanted.leave_one_out(), rtol=1e-9)
    assert not np.allclose(found.leave_one_out(), without.leave_one_out())


def test_a_table_with_stage_options_is_a_matrix_as_before(shell):
    write_csv("numbers.csv", films(40, 1)[["Länge", "tags"]].assign(Länge=range(40)).dropna(), ",")
    words = ("fit", "numbers.csv", "--label-column", "tags", "--separator", "|", "-o", "m")
    assert "Similarity: " in shell(*words, "--similarity", "rbf").stdout
    assert type(load("m")) is SMLClassifier
    shell(*words)
    assert type(load("m")) is Tagger


def test_a_column_that_holds_the_labels_is_a_warning(shell):
    frame = films(40, 1)
    frame["genre"] = frame["tags"]
    write_csv("leak.csv", frame)
    messages = stderr_of(shell("fit", "leak.csv", "--label-column", "tags", "-o", "m"))
    assert "warning: column 'genre' holds the labels themselves" in messages
    assert "Leave it out: columns={'genre': 'ignore'}." in messages


def test_progress_into_a_pipe_has_an_estimate(shell, change_limits):
    change_limits(progress_seconds=0.0)
    messages = shell("fit", "films.csv", "--label-column", "tags", "-o", "m", "--ignore", "synopsis").stderr
    assert "weighing columns, at most 80 tries: 1%, about " in messages
    assert " s left\n" in messages


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["fit", "films.csv", "--label-column", "nosuch", "-o", "m"], 2, "no column 'nosuch'"),
        (
            ["fit", "films.csv", "--label-column", "tags", "--text", "nosuch", "-o", "m"],
            2,
            "--text: films.csv",
        ),
        (["fit", "films.csv", "--label-column", "tags", "--text", "tags", "-o", "m"], 2, "no column 'tags'"),
        (
            ["fit", "films.csv", "--label-column", "tags", "--id", "nosuch", "-o", "m"],
            2,
            "--id: films.csv has",
        ),
        (
            ["fit", "films.csv", "--label-column", "tags", "--text", "title", "--date", "title", "-o", "m"],
            2,
            "cannot be both --text and --date",
        ),
        (
            ["fit", "films.csv", "--label-column", "tags", "--text", "title", "--auto", "-o", "m"],
            2,
            "--text is about a raw table",
        ),
        (
            ["fit", "films.csv", "--label-column", "tags", "--auto", "--label-rule", "cutoff", "-o", "m"],
            2,
            "omit --label-rule",
        ),
        (["fit", "films.csv", "-o", "m"], 1, "label_column='tags' with separator=';'"),
        (
            ["fit", "films.csv", "--label-column", "section", "--id", "tags", "-o", "m"],
            1,
            "line 11: the cell of 'tags' is empty",
        ),
        (
            ["fit", "films.csv", "--label-column", "tags", "--format", "excell", "-o", "m"],
            2,
            "'excell' is not one of 'arff'",
        ),
        (
            ["fit", "films.csv", "--label-column", "tags", "--delimiter", "ab", "-o", "m"],
            1,
            "delimiter must",
        ),
        (["fit", "empty.csv", "--label-column", "tags", "-o", "m"], 2, "no rows"),
        (["fit", "unlabeled.csv", "--label-column", "tags", "-o", "m"], 1, "no row has a label"),
        (["predict", "films.simlabel", "other.csv"], 1, "none of the columns"),
        (["predict", "films.simlabel", "new.csv", "--sheet", "a"], 1, "sheet must not be set"),
        (["evaluate", "films.simlabel", "new.csv"], 2, "--label-column: new.csv has no column 'tags'"),
        (["evaluate", "films.simlabel", "films.csv", "--label-column", "x"], 2, "no column 'x'"),
        (["evaluate", "films.simlabel", "empty.csv", "--label-column", "tags"], 2, "empty.csv has no rows"),
        (["explain", "films.simlabel", "new.csv", "--rows", "25"], 1, "there is no row 25"),
    ],
)
def test_misuse_is_an_error(shell, tmp_path, words, code, message):
    write_csv("empty.csv", films(1, 1).iloc[:0])
    write_csv("unlabeled.csv", films(5, 1).assign(tags=None))
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    result = shell(*words, code=code)
    assert message in stderr_of(result)
    assert not (tmp_path / "m").exists()


def test_labels_that_are_paths(shell, tmp_path):
    frame = films(20, 4)
    frame["tags"] = ["mood::dark|place::sea" if i % 2 else "mood::light" for i in range(20)]
    write_csv("paths.csv", frame, ";", "utf-8")
    shell("fit", "paths.csv", "--label-column", "tags", "--hierarchy", "::", "-o", "paths.simlabel")
    model = load("paths.simlabel")
    assert model.classes_.tolist() == ["mood", "mood::dark", "mood::light", "place", "place::sea"]
    shell("predict", "paths.simlabel", "new.csv", "-o", "out.csv")
    assert all({label.partition("::")[0] for label in one} <= one for one in predicted())
