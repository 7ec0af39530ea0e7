"""The first cases of every fuzz campaign, through the runner that `make fuzz` uses; and the runner itself."""

import os
import shutil
import subprocess
import sys

import pytest
from run import FOLDER, campaign_names

CASES = 8

HOSTILE = """
import os, signal, time
SECONDS = 1.0

def warm():
    return bytearray(7)

def case(material, seed):
    assert len(material) == 7
    assert os.listdir() == []
    open("left behind", "w").close()
    if seed == 1:
        raise KeyError("an odd name")
    if seed == 2:
        os.kill(os.getpid(), signal.SIGSEGV)
    if seed == 3:
        time.sleep(3600)
    if seed == 4:
        bytes(1 << 40)
    if seed == 5:
        os._exit(9)
"""

SERVING = """
import contextlib, os, threading
SECONDS = 5.0

def warm():
    return os.getpid()

@contextlib.contextmanager
def opened(parent):
    assert os.getpid() != parent
    answer, asked = threading.Event(), threading.Event()
    threading.Thread(target=lambda: asked.wait() and answer.set(), daemon=True).start()
    yield asked, answer

def case(material, seed):
    asked, answer = material
    asked.set()
    assert answer.wait(2)
"""


def _run(folder, *options):
    command = [sys.executable, str(folder / "run.py"), *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ)


@pytest.mark.parametrize("campaign", campaign_names())
def test_first_cases(campaign):
    # generous: a busy machine is no finding
    done = _run(FOLDER, "--campaign", campaign, "--cases", CASES, "--minutes", 4, "--patience", 20)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CASES} cases, 0 findings" in done.stdout


def test_whatever_ends_a_case_is_found(tmp_path):
    shutil.copy(FOLDER / "run.py", tmp_path)
    (tmp_path / "hostile.py").write_text(HOSTILE)
    done = _run(tmp_path, "--cases", 7)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "hostile: 7 cases, 5 findings of 5 kinds" in done.stdout
    found = (tmp_path / "found.txt").read_text().splitlines()
    said = [
        "KeyError: 'an odd name'",
        "ended by SIGSEGV",
        "no answer within",
        "MemoryError",
        "left with code 9",
    ]
    for seed, (line, words) in enumerate(zip(found, said, strict=True), 1):
        assert line.startswith(f"hostile, seed {seed}: ")
        assert words in line
    assert "all is well" in _run(tmp_path, "--campaign", "hostile", "--case", 6).stdout
    assert "an odd name" in _run(tmp_path, "--campaign", "hostile", "--case", 1).stderr


def test_a_campaign_may_open_a_server_in_each_child(tmp_path):
    shutil.copy(FOLDER / "run.py", tmp_path)
    (tmp_path / "serving.py").write_text(SERVING)
    done = _run(tmp_path, "--cases", 3)
    assert "serving: 3 cases, 0 findings" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("campaign", "seed"),
    [
        ("command_line", 988102),  # draws `serve`, which must not wait for requests
        ("estimator_inputs", 988256),  # draws a similarity that is a function, of which models were compared
    ],
)
def test_cases_that_were_faults_of_the_harness(campaign, seed):
    done = _run(FOLDER, "--campaign", campaign, "--seed", seed, "--cases", 1, "--patience", 20)
    assert "1 cases, 0 findings" in done.stdout, done.stdout + done.stderr
