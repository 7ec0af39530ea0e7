"""What is imported only when it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

import simlabel
from simlabel.cli import app
from simlabel.datasets import FORMATS, TABLE_FORMATS
from simlabel.experiments import ALGORITHMS, PUBLISHED
from simlabel.metrics import CRITERIA, MORE_CRITERIA
from simlabel.normalizers import NORMALIZERS
from simlabel.ridge import INFLUENCES
from simlabel.rules import LABEL_RULES
from simlabel.similarities import SIMILARITIES

COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (
            "simlabel",
            "numpy scipy sklearn pandas numba simlabel.estimators dask distributed zarr "
            "matplotlib jinja2 typer scikit_posthocs iterstrat river simlabel.cli simlabel.experiments",
        ),
        ("simlabel.cli", "numpy scipy sklearn pandas numba simlabel.estimators simlabel.experiments"),
        (
            "simlabel.cli._fitting, simlabel.cli._models, simlabel.cli._evaluation",
            "matplotlib scikit_posthocs iterstrat statsmodels river dask distributed zarr",
        ),
    ],
)
def test_importing_stays_light(module, heavy):
    code = f"import sys, {module}; print([name for name in {heavy.split()!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_without_a_command_and_for_help_nothing_is_loaded_that_computes():
    """In one process: what one of the calls loads is seen after it."""
    calls = [["--help"], ["-h"], ["--version"], ["nosuch"], *([name, "--help"] for name in sorted(COMMANDS))]
    heavy = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "numba", "joblib", "simlabel.datasets")
    code = (
        "import sys\n"
        "from simlabel.cli import main\n"
        f"for words in {calls!r}:\n"
        "    sys.argv = ['simlabel', *words]\n"
        "    try: main()\n"
        "    except SystemExit as left:\n"
        f"        loaded = [name for name in {heavy!r} if name in sys.modules]\n"
        "        print('seen', *words, left.code, loaded)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = [line for line in done.stdout.splitlines() if line.startswith("seen ")]
    codes = [2 if words == ["nosuch"] else 0 for words in calls]
    assert found == [f"seen {' '.join(words)} {code} []" for words, code in zip(calls, codes, strict=True)]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["fit", "x", "-o", "m", "--similarity"], SIMILARITIES.names),
        (["fit", "x", "-o", "m", "--influence"], INFLUENCES.names),
        (["fit", "x", "-o", "m", "--label-rule"], LABEL_RULES.names),
        (["fit", "x", "-o", "m", "--format"], dict.fromkeys([*FORMATS, *TABLE_FORMATS])),
        (["reproduce"], PUBLISHED),
    ],
)
def test_options_take_the_names_that_the_packages_define(words, names):
    result = CliRunner().invoke(app, [*words, "nosuch"], env={"COLUMNS": "400"})
    assert result.exit_code == 2
    assert f"'nosuch' is not one of {', '.join(map(repr, names))}." in result.output


@pytest.mark.parametrize(
    ("name", "option", "names"),
    [
        ("fit", "normalizer", NORMALIZERS.names),
        ("compare", "criteria", [*CRITERIA, *MORE_CRITERIA]),
        ("compare", "algorithms", ALGORITHMS),
        ("fit", "labels", [one.name for one in FORMATS.values() if one.labels]),
    ],
)
def test_help_texts_list_the_names_that_the_packages_define(name, option, names):
    text = next(one for one in COMMANDS[name].params if one.name == option).help
    assert [one for one in names if one not in text] == []


def test_names_are_imported_on_access():
    code = (
        "import simlabel; assert set(simlabel.__all__) <= set(dir(simlabel))\n"
        "simlabel.datasets; from simlabel import *; load; similarity_sums; SMLClassifier\n"
        "assert not hasattr(simlabel, 'nosuch')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_command_is_listed_with_its_first_line():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert set(COMMANDS) >= {"fit", "predict", "teach", "correct", "forget", "suspicious", "suggest"}
    for name, command in COMMANDS.items():
        assert f"{name} " in shown
        assert command.help.splitlines()[0] in shown
        assert CliRunner().invoke(app, [name, "-h"]).exit_code == 0


def test_the_version_is_printed():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"simlabel {simlabel.__version__}\n")


def test_a_mistyped_command_is_refused_with_the_one_that_was_meant():
    result = CliRunner().invoke(app, ["predcit"])
    assert result.exit_code == 2
    assert "predict" in result.output
