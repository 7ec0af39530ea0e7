"""Damaged and odd files: every command succeeds or prints a one-line error."""

from __future__ import annotations

import os

import numpy as np
import pytest
from typer.testing import CliRunner

from simlabel.cli import app

CSV = b"a,b,l1,l2\n" + b"".join(b"%d,%d,%d,%d\n" % (k, k * k % 7, k % 2, 1 - k % 2) for k in range(12))
READ = ("--label-prefix", "l")
FILES = {
    "nothing": b"",
    "zeros": b"\x00" * 100,
    "noise": np.random.default_rng(0).bytes(500),
    "cut": CSV[:25],
    "one row": CSV[:18],
    "no rows": CSV[:10],
    "no labels": b"a,b,l1,l2\n1,2,0,0\n3,4,0,0\n",
    "huge numbers": b"a,b,l1,l2\n1e308,1,0,1\n-1e308,2,1,0\n1e308,3,1,0\n",
    "texts": b"a,b,l1,l2\nx,y,0,1\nz,w,1,0\n",
    "wide": b"1 2147483646 2147483646\n0 1:1\n",
    "far": b"1 2147483646:1\n",
    "gzip": b"\x1f\x8b\x08\x00broken",
    "zip": b"PK\x03\x04broken",
    "parquet": b"PAR1brokenPAR1",
    "arff": b"@relation x\n@attribute a {",
    "surrogates": b"a\xed\xa0\x80,l1\n1,1\n2,0\n",
}
COMMANDS = {
    "datasets": ("datasets", "{file}", *READ),
    "fit": ("fit", "{file}", "-o", "new.simlabel", *READ),
    "predict": ("predict", "model.simlabel", "{file}", "-o", "out.csv"),
    "predict with": ("predict", "{file}", "good.csv", "-o", "out.csv"),
    "evaluate": ("evaluate", "model.simlabel", "{file}", *READ, "--report", "r.html"),
    "explain": ("explain", "model.simlabel", "{file}", "--rows", "0-9"),
    "compare": ("compare", "{file}", "-a", "br", "--folds", "2", *READ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "good.csv").write_bytes(CSV)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    os.mkfifo(folder / "pipe")
    (folder / "folder").mkdir()
    result = CliRunner().invoke(
        app, ["fit", str(folder / "good.csv"), "-o", str(folder / "model.simlabel"), *READ]
    )
    assert result.exit_code == 0, result.output
    return folder


@pytest.mark.parametrize("file", [*FILES, "pipe", "folder", "absent.csv"])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_file_makes_a_trace(folder, monkeypatch, command, file):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, [word.format(file=f"./{file}") for word in COMMANDS[command]])
    assert result.exit_code in (0, 1, 2), result.output
    assert not result.exception or isinstance(result.exception, SystemExit)
    assert "--debug" not in result.stderr, result.stderr  # the hint at an unexpected error
    if result.exit_code == 1 and command != "compare":
        assert result.stderr.strip().count("\n") == 0
        assert result.stderr.strip().startswith("error: ")


def test_a_range_of_rows_without_end_is_refused(folder, monkeypatch):
    monkeypatch.chdir(folder)
    result = CliRunner().invoke(app, ["explain", "model.simlabel", "good.csv", "--rows", "0-999999999999"])
    assert result.exit_code == 2
    assert "at most 10,000 rows" in result.stderr


TABLE_COMMANDS = {
    "columns": ("columns", "{file}"),
    "fit": ("fit", "{file}", "--label-column", "l1", "-o", "new.simlabel"),
    "predict": ("predict", "films.simlabel", "{file}", "-o", "out.csv"),
    "evaluate": ("evaluate", "films.simlabel", "{file}", "--label-column", "l1"),
    "explain": ("explain", "films.simlabel", "{file}"),
    "teach": ("teach", "films.simlabel", "{file}", "--label-column", "l1", "-o", "new.simlabel"),
    "correct": ("correct", "films.simlabel", "{file}", "-o", "new.simlabel"),
    "suggest": ("suggest", "films.simlabel", "{file}"),
    "forget": ("forget", "films.simlabel", "--ids-file", "{file}", "-o", "new.simlabel"),
    "suspicious": ("suspicious", "{file}"),
}


@pytest.mark.parametrize("file", [*FILES, "pipe", "folder", "absent.csv"])
@pytest.mark.parametrize("command", TABLE_COMMANDS)
def test_no_file_makes_a_trace_of_a_command_on_tables(folder, film_folder, monkeypatch, command, file):
    monkeypatch.chdir(folder)
    (folder / "films.simlabel").write_bytes((film_folder / "films.simlabel").read_bytes())
    result = CliRunner().invoke(app, [word.format(file=f"./{file}") for word in TABLE_COMMANDS[command]])
    assert result.exit_code in (0, 1, 2), result.output
    assert not result.exception or isinstance(result.exception, SystemExit)
    assert "--debug" not in result.stderr, result.stderr
    if result.exit_code == 1:
        assert sum(line.startswith("error: ") for line in result.stderr.splitlines()) == 1
