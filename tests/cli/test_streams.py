"""The command line with streams that are closed, full, without Unicode or of no width."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from simlabel import SMLClassifier

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")

NO_UNICODE = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
_MAIN = "import sys; from simlabel.cli import main; sys.argv[0] = 'simlabel'; main()"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    X = [[k % 2, 1 - k % 2] for k in range(6)]
    frame, y = pd.DataFrame(X, columns=["a", "b"]), [{"Bäume"} if k % 2 else {"海"} for k in range(6)]
    SMLClassifier("linear").fit(frame, y).save(folder / "model")
    (folder / "rows.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in X))
    return folder


def shell(folder: Path, words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """The command line in a shell; `words` may redirect its streams."""
    command = f'"$PYTHON" -c "$MAIN" {words}'
    env = {**os.environ, "PYTHON": sys.executable, "MAIN": _MAIN, **environment}
    return subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, timeout=120)


def test_a_closed_stdout_is_an_error_without_a_trace(folder):
    done = shell(folder, "predict model rows.csv >&-")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"Bad file descriptor" in done.stderr
    done = shell(folder, "predict model rows.csv -o out.csv >&-")
    assert (done.returncode, done.stderr) == (0, b"wrote 6 rows to out.csv\n")
    assert shell(folder, "predict model absent.csv >&- 2>&-").returncode in (1, 2)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is full")
def test_a_full_stdout_is_an_error_without_a_trace(folder):
    done = shell(folder, "predict model rows.csv > /dev/full")
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr
    assert b"No space left" in done.stderr


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "ascii"}, NO_UNICODE],
    ids=lambda given: next(iter(given)),
)
def test_what_ascii_lacks_is_shown_as_an_escape(folder, environment):
    done = shell(folder, "predict model rows.csv", **environment)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.decode("ascii").splitlines()
    assert len(lines) == 7
    assert r"\u6d77" in lines[1]
    assert r"B\xe4ume" in lines[2]


def test_what_ascii_lacks_in_an_argument_is_shown_as_an_escape(folder):
    done = shell(folder, "predict model 'ä.csv'", **NO_UNICODE)
    assert done.returncode in (1, 2)
    assert b"csv" in done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("columns", ["0", "00", "-1", "x", ""])
def test_help_for_a_terminal_without_width_is_shown(folder, columns):
    assert b"predict" in shell(folder, "--help", COLUMNS=columns).stdout


def test_errors_for_a_terminal_without_width_are_shown(folder):
    assert b"absent.csv" in shell(folder, "predict model absent.csv", COLUMNS="0").stderr
