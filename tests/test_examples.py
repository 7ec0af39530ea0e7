"""The examples of the gallery run to their end, and draw; all of them in `make docs`, which is slow."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_what_it_shows_and_draws(path):
    """What the gallery needs: a title, some words below it, cells, and a picture."""
    code = path.read_text(encoding="utf-8")
    title, line, empty, *words = ast.get_docstring(ast.parse(code)).splitlines()
    assert set(line) == {"="}
    assert len(line) >= len(title)
    assert not empty
    assert len(" ".join(words)) > 80
    assert code.count("# %%") >= 2
    assert "plt.show()" in code


@pytest.mark.slow
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, tmp_path):
    command = [sys.executable, str(path)]
    settings = {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, **settings}
    )
    assert done.returncode == 0, done.stderr
    assert not re.search(r"the same[^:\n]*: False", done.stdout)


@pytest.mark.slow
@pytest.mark.skipif("SIMLABEL_DATA" not in os.environ, reason="explains real data sets")
def test_twenty_explanations():
    path = ROOT / "examples" / "twenty_explanations.py"
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    requested = re.findall(r"^Query \d.*\n(?=    \S)", done.stdout, re.MULTILINE)  # with a reason below it
    assert len(requested) == 20
    shares = [float(each) for each in re.findall(r"([\d.]+)%", done.stdout)]
    assert shares
    assert max(shares) <= 100
