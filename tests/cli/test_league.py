"""`simlabel compare --league` on a folder of small files."""

from __future__ import annotations

import dataclasses
import json

import pytest
from typer.testing import CliRunner

from made_data import make_data
from simlabel.cli._app import app
from simlabel.experiments.league import RIVALS


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run it in a folder of its own; folds are run in this process."""

    def here(calls, jobs, seconds, skip):
        yield from ((number, call(), None) for number, call in calls)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simlabel.experiments._run.run_limited", here)
    return lambda *words: CliRunner().invoke(app, ["compare", "--league", *map(str, words)])


def words(done):
    """What was said, without the frame and the line ends of the terminal."""
    return " ".join(done.output.replace("│", " ").split())


@pytest.fixture
def folder(tmp_path):
    """Two CSV files with a column of labels."""
    where = tmp_path / "files"
    where.mkdir()
    for seed, name in enumerate(("one", "two")):
        data = make_data(name, rows=24, seed=seed)
        lines = [",".join([*data.feature_names, "tags"])]
        for i in range(data.n_rows):
            tags = ";".join(data.label_names[k] for k in data.Y[[i]].indices)
            lines.append(",".join([*(f"{value:.6f}" for value in data.X[i]), tags]))
        (where / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return where


def test_a_folder_of_files(run, folder, tmp_path):
    wanted = ("--label-column", "tags", "-a", "sml,prior", "--report", "page.html")
    done = run(folder, *wanted, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert set(found["mean_places"]["average_precision"]) == {"SML", "Frequencies"}
    assert {row["data"] for row in found["figures"]} == {"one", "two"}
    assert max(row["fold"] for row in found["figures"]) == 10  # twice five
    page = (tmp_path / "page.html").read_text()
    assert "League table" in page
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "simlabel-runs").rglob("*-*.json")}
    assert len(kept) == 40
    again = run(folder, *wanted, "--json")
    assert json.loads(again.stdout) == found  # nothing was run again: seconds are the same too
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())


def test_files_that_cannot_be_read_are_told_on_the_page_too(run, folder, tmp_path):
    (folder / "broken.csv").write_text("x\n1\n")
    done = run(folder, "--label-column", "tags", "-a", "sml,prior", "--report", "page.html")
    assert "left out: broken" in done.output
    assert "Not played on: broken" in (tmp_path / "page.html").read_text()


def test_what_cannot_be_is_said(run, folder):
    assert "no rival 'nobody'" in run(folder, "-a", "nobody").output
    assert "a budget is a time" in run(folder, "--label-column", "tags", "--budget", "soon").output
    assert "no set 'yeasts'" in " ".join(run("yeasts").output.split())
    missing = run(folder, "-a", "sml,prior")
    assert "left out: one" in missing.output
    assert "no set to play on" in missing.output


def test_what_the_league_does_not_use_is_refused(run, folder):
    unused = {
        "--folds": ("3",),
        "--repeats": ("1",),  # typed out, what it is by default is asked for too
        "--stratified": (),
        "--test-share": ("0.2",),
        "--criteria": ("paper",),
        "--labels": ("a,b",),
        "--label-prefix": ("l",),
        "--missing": ("mean",),
        "--format": ("csv",),
        "--max-gib": ("1",),
    }
    for option, value in unused.items():
        done = run(folder, "--label-column", "tags", option, *value)
        assert done.exit_code == 2, option
        assert f"{option} is not for --league, which" in words(done), option
    assert "divides each set by itself" in words(run(folder, "--folds", "3"))


def test_what_only_the_league_uses_is_refused_elsewhere(monkeypatch):
    for option in (("--budget", "2h"), ("--time-limit", "60"), ("--ablation",)):
        done = CliRunner().invoke(app, ["compare", "yeast", *option])
        assert done.exit_code == 2
        assert f"{option[0]} is for --league only" in words(done)


def test_rivals_that_are_typed_out_are_those_that_play(run, folder):
    done = run(folder, "--label-column", "tags", "-a", "sml,autosml,mlknn,br,rf")
    assert "no rival 'br'" in words(done)
    assert "give at least one rival" in words(run(folder, "--label-column", "tags", "-a", ","))


def test_why_there_are_no_places(run, folder):
    done = run(folder / "one.csv", "--label-column", "tags", "-a", "prior")
    assert done.exit_code == 0, done.output
    assert "no mean places: they need two sets, and two rivals" in words(done)
    two = run(folder, "--label-column", "tags", "-a", "prior,sml")
    assert "no mean places" not in two.output
    assert "mean places: " in two.output


def test_the_rivals_are_listed_with_who_is_absent(run, monkeypatch):
    absent = dataclasses.replace(RIVALS["lightgbm"], package="no_such_package")
    monkeypatch.setitem(RIVALS, "lightgbm", absent)
    done = run("--list")
    assert done.exit_code == 0
    assert len(done.stdout.splitlines()) == len(RIVALS)
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("lightgbm")]
    assert "(absent: no_such_package is not installed" in line
    found = {one["name"]: one for one in json.loads(run("--list", "--json").stdout)}
    assert list(found) == list(RIVALS)
    assert found["lightgbm"]["absent"] == absent.absent
    assert found["sml"]["absent"] is None


def test_who_is_left_out_for_want_of_time_is_said_in_a_line(run, folder, monkeypatch):
    dear = dataclasses.replace(RIVALS["lr"], cost=(1e9, 1, 1, 1))
    monkeypatch.setitem(RIVALS, "lr", dear)
    done = run(folder, "--label-column", "tags", "-a", "prior,lr", "--budget", "1m30s")
    assert done.exit_code == 0, done.output
    assert "as the budget of time is too short: Logistic regression on one, two" in words(done)


def test_texts_are_a_raw_table_on_which_tagger_plays(run, tmp_path):
    rows = ["waves at the sea,1990,sea", "a leaf of a tree,,wood", "sea and tree,2001,sea|wood"] * 8
    (tmp_path / "films.csv").write_text("\n".join(["title,year,tags", *rows]))
    done = run("films.csv", "--label-column", "tags", "-a", "tagger,prior", "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)["figures"]
    assert {(row["data"], row["rival"]) for row in found} == {("films", "tagger"), ("films", "prior")}
    kept = json.loads((tmp_path / "simlabel-runs" / "league.json").read_text())
    assert "raw table" in json.dumps(kept["sets"])


def test_an_unknown_set_points_to_the_folder_of_sets(run, monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    assert "SIMLABEL_DATA" in run("yeast").output
    assert "no file 'yeast.arff'" in words(run("yeast.arff"))
