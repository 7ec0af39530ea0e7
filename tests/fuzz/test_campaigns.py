"""The first cases of every fuzz campaign, through the runner that `make fuzz` uses."""

import subprocess
import sys

import pytest
from run import FOLDER, campaign_names

CASES = 40


@pytest.mark.parametrize("campaign", campaign_names())
def test_first_cases(campaign):
    # generous: a busy machine is no finding
    options = ["--campaign", campaign, "--cases", str(CASES), "--minutes", "4", "--patience", "20"]
    done = subprocess.run([sys.executable, FOLDER / "run.py", *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{CASES} cases, 0 findings" in done.stdout
