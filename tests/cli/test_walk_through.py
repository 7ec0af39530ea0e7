"""The commands of the walk-through in the docs work as described."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from simlabel.cli import app

DOC = Path(__file__).parents[2] / "docs" / "walk-through.md"


def films(rows, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "minutes": rng.integers(70, 180, rows),
            "year": rng.integers(1960, 2020, rows),
            "country": rng.choice(["us", "fr", "in"], rows),
            "animated": rng.choice(["yes", "no"], rows),
        }
    )
    known = {
        "drama": frame["minutes"] > 120,
        "family": frame["animated"] == "yes",
        "comedy": frame["year"] > 2000,
        "crime": (frame["country"] == "us") & (frame["minutes"] < 110),
    }
    frame["tags"] = [";".join(name for name in known if known[name][i]) for i in range(rows)]
    return frame


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", DOC.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    films(120, 0).to_csv("films.csv", index=False)
    films(40, 1).drop(columns="tags").to_csv("new-films.csv", index=False)
    films(50, 2).to_csv("held-out-films.csv", index=False)
    return tmp_path


def test_the_file_in_the_text_is_the_one_that_is_used(folder):
    head = blocks("none")[0].splitlines()[0]
    assert (folder / "films.csv").read_text().splitlines()[0] == head


def test_every_command(folder):
    commands = [line for block in blocks("shell") for line in block.splitlines() if "reproduce" not in line]
    assert len(commands) == 16
    for command in commands:
        program, *words = shlex.split(command)
        assert program == "simlabel"
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (command, result.output)
    created = {path.name for path in folder.iterdir()}
    assert created >= {
        "comparison.html",
        "films.simlabel",
        "tagger.simlabel",
        "tags.csv",
        "tags.parquet",
        "tags.jsonl",
        "report.html",
        "report.tex",
    }


def test_the_same_from_python(folder, capsys):
    (code,) = blocks("python")
    exec(compile(code, "walk-through.md", "exec"), {})
    assert "RandomForest" in capsys.readouterr().out
    assert (folder / "comparison.html").is_file()
