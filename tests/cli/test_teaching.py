"""teach, correct, forget, suspicious, suggest and columns agree with Python."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from film_tables import films, stderr_of, write_csv
from simlabel import SMLClassifier, load
from simlabel.cli import app
from simlabel.datasets import read_table

TAUGHT = "gargoyle"


@pytest.fixture(scope="module")
def film_folder(film_folder, tmp_path_factory):
    """The folder with a model to which an empty label cell means that no label applies."""
    folder = tmp_path_factory.mktemp("all")
    for path in film_folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    words = ["fit", str(folder / "films.csv"), "--label-column", "tags", "--empty-means-none"]
    more = ["--id", "id", "--title", "title", "--text", "title", "-o", str(folder / "films.simlabel")]
    assert CliRunner().invoke(app, [*words, *more]).exit_code == 0
    return folder


@pytest.fixture
def more(shell):
    """Rows to teach: one with a new label, one with a word that nobody else has."""
    frame = films(3, 4)
    frame["tags"] = ["horror|zombies", "crime", None]
    frame.loc[1, "synopsis"] = f"a {TAUGHT} and the police"
    write_csv("more.csv", frame)
    return frame


def same(one, other, rows):
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.ids_.tolist() == other.ids_.tolist()
    np.testing.assert_allclose(one.predict_proba(rows), other.predict_proba(rows), rtol=1e-8, atol=1e-12)


def test_teach_is_partial_fit(shell, more):
    taught = load("films.simlabel").partial_fit(more.drop(columns="tags"), more["tags"])
    shown = shell("teach", "films.simlabel", "more.csv", "--label-column", "tags").stdout
    assert "3 rows taught: the model now has 43 rows and 4 labels." in shown
    same(load("films.simlabel"), taught, read_table("new.csv").frame)


def test_a_changed_model_is_written_to_the_given_file(shell, more, film_folder):
    facts = shell(
        "teach", "films.simlabel", "more.csv", "--label-column", "tags", "-o", "b.simlabel", "--json"
    )
    assert json.loads(facts.stdout) == {"model": "b.simlabel", "taught": 3, "rows": 43, "labels": 4}
    assert load("films.simlabel").n_references_ == 40
    shell("forget", "b.simlabel", "--ids", "tt1-0,tt4-0,tt4-1", "--retune")
    after = load("b.simlabel")
    assert (after.n_references_, after.tuning_.n_queries) == (40, 40)
    assert "zombies" not in after.classes_


def test_forgetting_reaches_the_bytes_of_the_file(shell, more, tmp_path):
    shell("teach", "films.simlabel", "more.csv", "--label-column", "tags")
    assert TAUGHT.encode() in (tmp_path / "films.simlabel").read_bytes()
    (tmp_path / "ids.txt").write_text("tt4-1\n\ntt4-2\n")
    wanted = load("films.simlabel").forget(["tt4-1", "tt4-2"])
    shell("forget", "films.simlabel", "--ids-file", "ids.txt")
    assert TAUGHT.encode() not in (tmp_path / "films.simlabel").read_bytes()
    same(load("films.simlabel"), wanted, read_table("new.csv").frame)


def test_forgetting_removes_labels_that_no_row_has_any_more(shell, more, tmp_path):
    """A label's name may be personal data: it is not left in the file."""
    (tmp_path / "more.csv").write_text((tmp_path / "more.csv").read_text().replace("zombies", "doctor_house"))
    shell("teach", "films.simlabel", "more.csv", "--label-column", "tags")
    assert b"doctor_house" in (tmp_path / "films.simlabel").read_bytes()
    rows = load("films.simlabel").n_references_
    done = shell("forget", "films.simlabel", "--ids", "tt4-0,tt4-1,tt4-2")
    assert "'doctor_house'" in done.stderr
    assert b"doctor_house" not in (tmp_path / "films.simlabel").read_bytes()
    after = load("films.simlabel")
    assert (after.n_references_, len(after.classes_)) == (rows - 3, 4 - 1)


def test_correct_gives_rows_other_labels_and_keeps_the_rest(shell, tmp_path):
    (tmp_path / "right.csv").write_text("id,labels,note\ntt1-2,crime|heist,x\ntt1-4,,y\n")
    wanted = load("films.simlabel").correct(["tt1-2", "tt1-4"], [{"crime", "heist"}, set()])
    shown = shell("correct", "films.simlabel", "right.csv").stdout
    assert "2 rows corrected: the model now has 40 rows and 4 labels." in shown
    corrected = load("films.simlabel")
    same(corrected, wanted, read_table("new.csv").frame)
    doubted = corrected.suspicious_labels(top=None)
    given = doubted[doubted["given"] & doubted["id"].isin(["tt1-2", "tt1-4"])]
    assert set(given["label"]) == {"crime", "heist"}


def test_the_column_of_labels_is_remembered(shell, more):
    def taken(*words):
        return shell(*words).stdout

    named = taken("evaluate", "films.simlabel", "films.csv", "--label-column", "tags", "--json")
    assert taken("evaluate", "films.simlabel", "films.csv", "--json") == named
    shell("teach", "films.simlabel", "more.csv", "--label-column", "tags", "-o", "named.simlabel")
    shell("teach", "films.simlabel", "more.csv")
    same(load("films.simlabel"), load("named.simlabel"), read_table("new.csv").frame)
    more[["id", "tags"]].assign(tags="crime").to_csv("right.csv", index=False)
    wanted = load("films.simlabel").correct(more["id"].tolist(), [{"crime"}] * 3)
    shell("correct", "films.simlabel", "right.csv")
    same(load("films.simlabel"), wanted, read_table("new.csv").frame)
    python = load("films.simlabel")
    del python.label_column_  # as of a model that Python has fitted
    python.save("python.simlabel")
    assert "name the label column with --label-column" in stderr_of(
        shell("evaluate", "python.simlabel", "films.csv", code=2)
    )


def test_a_matrix_remembers_its_column_of_labels_too(shell, tmp_path):
    rows = [f"{k}.5,{k % 3},{'a' if k % 2 else 'a;b'}" for k in range(12)]
    (tmp_path / "rows.csv").write_text("\n".join(["x,z,tags", *rows]))
    shell("fit", "rows.csv", "--label-column", "tags", "--similarity", "rbf", "-o", "m.simlabel")
    assert load("m.simlabel").label_column_ == "tags"
    assert json.loads(shell("evaluate", "m.simlabel", "rows.csv", "--json").stdout)["rows"] == 12


def test_predictions_that_a_person_has_mended_can_be_taken_as_corrections(shell):
    shell("predict", "films.simlabel", "films.csv", "-o", "mend.csv")
    table = pd.read_csv("mend.csv", dtype=str, keep_default_na=False)
    table.loc[table.index < 3, "labels"] = "romance"
    table[:3].to_csv("mend.csv", index=False)
    shell("correct", "films.simlabel", "mend.csv")
    assert load("films.simlabel").ids_.tolist()[-3:] == ["tt1-0", "tt1-1", "tt1-2"]


def test_suspicious_lists_what_python_lists(shell):
    wanted = load("films.simlabel").suspicious_labels(7)
    found = json.loads(shell("suspicious", "films.simlabel", "--top", 7, "--json").stdout)
    assert [(one["id"], one["label"], one["given"]) for one in found] == list(
        zip(wanted["id"], wanted["label"], wanted["given"], strict=True)
    )
    shell("suspicious", "films.simlabel", "--top", 7, "--output", "s.csv")
    assert pd.read_csv("s.csv")["id"].tolist() == wanted["id"].tolist()
    assert wanted["id"][0] in shell("suspicious", "films.simlabel").stdout
    pytest.importorskip("openpyxl")
    shell("suspicious", "films.simlabel", "--top", 7, "--output", "s.xlsx")
    table = pd.read_excel("s.xlsx")
    assert table["id"].tolist() == wanted["id"].tolist()
    assert table["suspicion"].tolist() == pytest.approx(wanted["suspicion"].tolist())
    assert ".csv, .xlsx or .jsonl" in stderr_of(shell("suspicious", "films.simlabel", "-o", "s.txt", code=2))


def test_suggest_picks_what_python_picks(shell):
    new = read_table("new.csv").frame
    model = load("films.simlabel")
    picked = model.suggest(new, n=4).tolist()
    found = json.loads(shell("suggest", "films.simlabel", "new.csv", "-n", 4, "--json").stdout)
    assert [one["row"] for one in found] == picked
    assert [one["id"] for one in found] == new["id"][picked].tolist()
    sets = [set(filter(None, one["predicted"].split(", "))) for one in found]
    assert sets == model.predict(new.iloc[picked])


def test_lists_hold_no_formulas_unless_they_are_wanted_raw(shell, tmp_path):
    new = films(3, 2).drop(columns="tags")
    new["title"] = "=cmd()"
    write_csv("new.csv", new)
    shell("suggest", "films.simlabel", "new.csv", "-o", "s.csv")
    assert set(pd.read_csv("s.csv")["title"]) == {"'=cmd()"}
    shell("suggest", "films.simlabel", "new.csv", "-o", "s.csv", "--raw")
    assert set(pd.read_csv("s.csv")["title"]) == {"=cmd()"}


def test_columns_shows_kinds_and_reasons(shell):
    found = {one["column"]: one for one in json.loads(shell("columns", "films.csv", "--json").stdout)}
    assert found["Länge"]["kind"] == "number"
    assert "decimal comma" in found["Länge"]["reason"]
    assert found["tags"]["kind"] == "multi"
    result = shell("columns", "films.csv")
    assert "decimal comma" in result.stdout
    assert "cells separated by semicolons" in result.stderr


def test_models_of_matrices_are_taught_and_queried(shell, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)).round(3), columns=["a", "b", "c"])
    tags = [{name for name in "abc" if row[name] > 0} for _, row in frame.iterrows()]
    SMLClassifier("linear", calibration="loo").fit(frame[:30], tags[:30]).save("m.simlabel")
    wanted = load("m.simlabel").partial_fit(frame[30:], tags[30:]).forget([3, 35])
    labeled = frame.assign(tags=[";".join(sorted(each)) for each in tags])
    labeled[30:].to_csv("more.csv", index=False)
    shell("teach", "m.simlabel", "more.csv", "--label-column", "tags")
    shell("forget", "m.simlabel", "--ids", "3,35")
    same(load("m.simlabel"), wanted, frame)
    (tmp_path / "right.csv").write_text("id,labels\n7,a;b\n")
    shell("correct", "m.simlabel", "right.csv", "--separator", ";")
    same(load("m.simlabel"), wanted.correct([7], [{"a", "b"}]), frame)
    assert len(json.loads(shell("suggest", "m.simlabel", "more.csv", "-n", 2, "--json").stdout)) == 2


def test_correct_uses_the_id_column_of_the_model(shell, film_folder, tmp_path):
    table = films(4, 1)[["id", "tags"]].rename(columns={"id": "film"})
    shown = films(40, 1).rename(columns={"id": "film"})
    write_csv("renamed.csv", shown)
    write_csv("right.csv", table.assign(tags="crime"))
    shell("fit", "renamed.csv", "--label-column", "tags", "--id", "film", "-o", "r.simlabel")
    assert "4 rows corrected" in shell("correct", "r.simlabel", "right.csv", "--label-column", "tags").stdout


def test_the_ids_of_rows_are_described(shell, film_folder, tmp_path):
    write_csv("plain.csv", films(40, 1))
    messages = shell("fit", "plain.csv", "--label-column", "tags", "-o", "p.simlabel").stdout
    assert "The ids of rows are their numbers; to use column 'id', add --id 'id'." in messages
    assert "Similarity of rows: inner products, numbers and dates" in messages
    assert "its ids are '0', '1', '2' and so on" in stderr_of(
        shell("forget", "p.simlabel", "--ids", "tt1-0", code=2)
    )


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["teach", "films.simlabel", "new.csv"], 2, "has no column 'tags'"),
        (["teach", "films.simlabel", "more.csv", "--label-column", "x"], 2, "no column 'x'"),
        (["teach", "films.simlabel", "films.csv", "--label-column", "tags"], 1, "tt1-0"),
        (
            ["teach", "films.simlabel", "more.csv", "--label-column", "tags", "--id", "x"],
            2,
            "--id: more.csv has",
        ),
        (["correct", "films.simlabel", "new.csv"], 2, "--label-column: new.csv has no column 'labels'"),
        (
            ["correct", "films.simlabel", "more.csv", "--label-column", "tags"],
            2,
            "no rows with the ids 'tt4-0'",
        ),
        (["forget", "films.simlabel"], 2, "one of --ids and --ids-file"),
        (["forget", "films.simlabel", "--ids", "tt1-0,nosuch"], 2, "no rows with the ids 'nosuch'"),
        (["forget", "films.simlabel", "--ids", " , "], 2, "no ids"),
        (["forget", "films.simlabel", "--ids-file", "nosuch.txt"], 1, "nosuch.txt"),
        (["suspicious", "films.simlabel", "-o", "s.txt"], 2, ".csv, .xlsx or .jsonl"),
        (["suspicious", "more.csv"], 1, "more.csv"),
        (["suggest", "films.simlabel", "nothing.csv"], 2, "nothing.csv has no rows"),
        (["columns", "nosuch.csv"], 1, "there is no such file"),
    ],
)
def test_misuse_changes_nothing(shell, more, film_folder, tmp_path, words, code, message):
    write_csv("nothing.csv", films(1, 1).iloc[:0])
    assert message in stderr_of(shell(*words, code=code))
    assert (tmp_path / "films.simlabel").read_bytes() == (film_folder / "films.simlabel").read_bytes()
    assert not (tmp_path / "s.xlsx").exists()


def test_labels_that_are_new_are_named_and_empty_cells_are_reported(shell):
    frame = films(12, 7)
    frame.loc[[3, 4], "tags"] = None
    write_csv("some.csv", frame, ";", "utf-8")
    messages = shell("fit", "some.csv", "--label-column", "tags", "--id", "id", "-o", "some.simlabel").stderr
    empty = int(frame["tags"].fillna("").eq("").sum())
    assert f"{empty} rows with an empty cell in 'tags': left out as untagged" in messages
    pd.DataFrame({"id": [frame["id"][0]], "tags": ["slow;french"]}).to_csv("fix.csv", index=False)
    messages = shell("correct", "some.simlabel", "fix.csv", "--label-column", "tags").stderr
    assert "1 new label (labels of this model are separated by '|'): 'slow;french'" in messages
