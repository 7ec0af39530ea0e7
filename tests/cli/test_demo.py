from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from simlabel.cli import app
from simlabel.experiments import PUBLISHED


def test_demo_shows_published_and_measured_values():
    pytest.importorskip("river", reason="the demo reads yeast from river")
    result = CliRunner().invoke(app, ["demo", "--folds", "3"], terminal_width=100)
    assert result.exit_code == 0, result.output
    assert "0.783 ± 0.016" in result.output
    assert "Average precision" in result.output
    assert "Predicted" in result.output


def test_help_and_misuse():
    runner = CliRunner()
    assert "Cross-validate" in runner.invoke(app, ["demo", "--help"]).output
    assert runner.invoke(app, ["demo", "--folds", "1"]).exit_code == 2
    assert runner.invoke(app, ["dmeo"]).exit_code == 2


def test_an_error_is_one_line(tmp_path):
    result = CliRunner().invoke(
        app, ["demo"], env={"SIMLABEL_DATA": str(tmp_path / "nowhere"), "COLUMNS": "400"}
    )
    assert result.exit_code == 1
    assert len(result.output.splitlines()) == 1
    assert result.output.startswith("error: ")
    assert "SIMLABEL_DATA must name a folder" in result.output
    assert "Traceback" not in result.output


def test_runs_as_a_program():
    done = subprocess.run(
        [sys.executable, "-c", "from simlabel.cli import main; main()", "--help"], capture_output=True
    )
    assert done.returncode == 0


def test_published_tables_are_whole():
    assert set(PUBLISHED) == {"yeast", "image"}
    for table in PUBLISHED.values():
        assert len(table) == 5
        assert all(len(row) == 5 for row in table.values())
        assert table["ADTBoost.MH"]["ranking_loss"] is None
    assert str(PUBLISHED["yeast"]["SML"]["coverage"]) == "6.082 ± 0.184"
