"""The examples run to their end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import require_data

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.slow
def test_a_model_that_lives(tmp_path):
    require_data("yeast")
    command = [sys.executable, str(EXAMPLES / "a_model_that_lives.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "in the explanation now 0 times" in done.stdout
    assert "it predicts the same: True" in done.stdout
    pictures = {"teaching.png", "explanation.png", "planted_errors.png"}
    assert {path.name for path in tmp_path.iterdir()} == pictures


@pytest.mark.slow
def test_to_a_cluster():
    command = [sys.executable, str(EXAMPLES / "to_a_cluster.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "on 2 workers of a Dask cluster" in done.stdout
    assert "the same answers: True" in done.stdout
