"""Warnings, errors and help texts of the command line."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

from simlabel.cli import app


@pytest.mark.parametrize("name", ["fit", "evaluate", "teach", "compare", "predict"])
def test_the_default_separator_is_in_the_help(name):
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "220"}).output
    line = next(line for line in shown.splitlines() if "--separator" in line)
    assert "default" in line
    assert "';'" in line


@pytest.fixture
def run_with(monkeypatch):
    """Run `simlabel datasets` with a function in place of the one that lists them."""

    def run(listing, *options):
        monkeypatch.setattr("simlabel.datasets.list_datasets", listing)
        return CliRunner().invoke(app, ["datasets", *options])

    return run


def test_a_warning_is_one_line_and_printed_once(run_with):
    def warn():
        for _ in range(3):
            warnings.warn("the folder\n  is empty", UserWarning, stacklevel=1)
        raise ValueError("no data sets")

    assert run_with(warn).stderr.splitlines()[-2:] == [
        "warning: the folder is empty",
        "error: no data sets",
    ]


def test_an_unexpected_error_mentions_debug(run_with):
    def fail():
        raise RuntimeError("a bug")

    result = run_with(fail)
    assert result.exit_code == 1
    assert result.stderr.endswith("error: RuntimeError: a bug (--debug shows the traceback)\n")
    assert isinstance(run_with(fail, "--debug").exception, RuntimeError)


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        (["--similarity", "rbff"], ["--similarity", "'rbff' is not one of 'rbf', 'laplacian'"]),
        (["--label-rule", "set"], ["--label-rule", "'set' is not one of 'set_size', 'threshold'"]),
        (["--normalizer", "zscor"], ["--normalizer: unknown normalizer 'zscor'; expected l2, zscore"]),
        (["--normalizer", "l2,auto"], ["--normalizer: unknown normalizer 'auto'"]),
    ],
)
def test_a_mistyped_stage_is_an_error_that_lists_the_choices(tmp_path, words, messages):
    (tmp_path / "t.csv").write_text("x,tags\n1,a;b\n2,b\n")
    command = ["fit", str(tmp_path / "t.csv"), "--label-column", "tags", "-o", str(tmp_path / "m"), *words]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "400"})
    assert result.exit_code == 2
    for message in messages:
        assert message in result.output
