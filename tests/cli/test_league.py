"""`simlabel compare --league` on a folder of small files."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from made_data import make_data
from simlabel.cli._app import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run it in a folder of its own; folds are run in this process."""

    def here(calls, jobs, seconds, skip):
        yield from ((number, call(), None) for number, call in calls)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("simlabel.experiments._run.run_limited", here)
    return lambda *words: CliRunner().invoke(app, ["compare", "--league", *map(str, words)])


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


def test_what_cannot_be_is_said(run, folder):
    assert "no rival 'nobody'" in run(folder, "-a", "nobody").output
    assert "a budget is a time" in run(folder, "--label-column", "tags", "--budget", "soon").output
    assert "no set 'yeasts'" in " ".join(run("yeasts").output.split())
    missing = run(folder, "-a", "sml,prior")
    assert "left out: one" in missing.output
    assert "no set to play on" in missing.output
