"""Errors, warnings and help speak of options as the shell has them."""

from __future__ import annotations

import warnings

import pytest
from typer.testing import CliRunner

from simlabel.cli._app import app
from simlabel.cli._console import guarded
from simlabel.cli._wording import in_shell

OPTIONS = ["labels", "label_prefix", "label_column", "separator", "format", "max_gib", "delimiter"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("allow it with max_gib=16", "allow it with --max-gib 16"),
        ("more than 2 GiB, as max_gib says", "more than 2 GiB, as --max-gib says"),
        ("id_column: 'a' is empty", "--id: 'a' is empty"),
        ("label_separator must be a text", "--separator must be a text"),
        ("delimiter means nothing here", "--delimiter means nothing here"),
        ("Leave it out: columns={'a b': 'ignore'}.", "Leave it out: --ignore a b."),
        (
            "it was chosen on 5 rows; retune() chooses anew.",
            "it was chosen on 5 rows; --retune chooses anew.",
        ),
        (
            "npz takes no option 'labels'; it takes max_gib.",
            "npz takes no option --labels; it takes --max-gib.",
        ),
        # what is data stays as it is
        ("column 'label_column' is new", "column 'label_column' is new"),
        ("label_column.csv: there is no such file", "label_column.csv: there is no such file"),
        ("the format of labels in files", "the format of labels in files"),
    ],
)
def test_parameters_are_options(text, shown):
    assert in_shell(text, OPTIONS) == shown


@pytest.mark.parametrize("verb", ["fit", "evaluate", "teach", "compare", "predict"])
def test_the_default_separator_is_in_the_help(verb):
    shown = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "220"}).output
    line = next(line for line in shown.splitlines() if "--separator" in line)
    assert "default" in line
    assert "';'" in line


def test_a_warning_is_one_line_and_said_once(capsys):
    @guarded
    def verb(max_gib=None):
        for _ in range(3):
            warnings.warn("give max_gib=2", UserWarning, stacklevel=1)

    verb()
    assert capsys.readouterr().err == "warning: give --max-gib 2\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--similarity", "rbff"], "--similarity: Unknown similarity 'rbff'. Did you mean 'rbf'?"),
        (["--label-rule", "set"], "--label-rule: Unknown label_rule 'set'."),
        (["--normalizer", "zscor"], "--normalizer: Unknown normalizer 'zscor'. Did you mean 'zscore'?"),
    ],
)
def test_a_mistyped_stage_is_told_with_its_option_and_without_objects(tmp_path, words, said):
    (tmp_path / "t.csv").write_text("x,tags\n1,a;b\n2,b\n")
    command = ["fit", str(tmp_path / "t.csv"), "--label-column", "tags", "-o", str(tmp_path / "m"), *words]
    result = CliRunner().invoke(app, command, env={"COLUMNS": "400"})
    assert result.exit_code == 2
    assert said in result.output
    assert "object" not in result.output
