"""What is imported only when it is needed."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import simlabel
from simlabel.cli import _choices
from simlabel.cli._app import _VERBS as VERBS
from simlabel.cli._app import app
from simlabel.datasets import FORMATS, TABLE_FORMATS
from simlabel.experiments import ALGORITHMS
from simlabel.metrics import CRITERIA, MORE_CRITERIA
from simlabel.normalizers import NORMALIZERS
from simlabel.ridge import INFLUENCES
from simlabel.rules import LABEL_RULES
from simlabel.similarities import SIMILARITIES


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        (
            "simlabel",
            "matplotlib jinja2 typer scikit_posthocs iterstrat river simlabel.cli simlabel.experiments.reports",
        ),
        ("simlabel", "dask distributed zarr"),
        ("simlabel", "numpy scipy sklearn pandas numba simlabel.estimators"),
        ("simlabel.cli", "numpy scipy sklearn pandas numba simlabel.estimators simlabel.experiments"),
        (
            "simlabel.cli._fit, simlabel.cli._compare, simlabel.cli._evaluate",
            "matplotlib scikit_posthocs iterstrat statsmodels river dask distributed zarr",
        ),
    ],
)
def test_importing_stays_light(module, heavy):
    code = f"import sys, {module}; print([name for name in {heavy.split()!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--version"], ["nosuch"]])
def test_what_needs_no_verb_loads_none(words):
    code = (
        f"import sys; from simlabel.cli import main; sys.argv = ['simlabel', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit: print([name for name in ('numpy', 'sklearn', 'pandas') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip().splitlines()[-1] == "[]"


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_the_help_of_a_verb_loads_nothing_that_computes(verb):
    heavy = ("numpy", "scipy", "sklearn", "pandas", "pyarrow", "numba", "joblib", "simlabel.datasets")
    code = (
        f"import sys; from simlabel.cli import main; sys.argv = ['simlabel', {verb!r}, '--help']\n"
        f"try: main()\n"
        f"except SystemExit as left: print(left.code, [name for name in {heavy!r} if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip().splitlines()[-1] == "0 []"


def test_options_offer_what_the_rooms_have():
    assert SIMILARITIES.names == _choices.SIMILARITIES
    assert NORMALIZERS.names == _choices.NORMALIZERS
    assert INFLUENCES.names == _choices.INFLUENCES
    assert LABEL_RULES.names == _choices.LABEL_RULES
    assert tuple(FORMATS) == _choices.FORMATS
    assert tuple(TABLE_FORMATS) == _choices.TABLE_FORMATS
    assert {one.name: one.labels for one in FORMATS.values() if one.labels} == _choices.LABELS_OF
    assert tuple(CRITERIA) == _choices.CRITERIA
    assert _choices.MORE_CRITERIA == MORE_CRITERIA
    assert tuple(ALGORITHMS) == _choices.ALGORITHMS


def test_names_are_there_when_they_are_asked_for():
    code = (
        "import simlabel; assert set(simlabel.__all__) <= set(dir(simlabel))\n"
        "simlabel.model.persistence; from simlabel import *; load; similarity_sums; SMLClassifier\n"
        "assert not hasattr(simlabel, 'nosuch')"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_verb_is_listed_with_its_first_line():
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).output
    assert set(VERBS) >= {"fit", "predict", "teach", "correct", "forget", "suspicious", "suggest", "columns"}
    for verb in VERBS:
        function = getattr(importlib.import_module(f"simlabel.cli._{verb}"), f"{verb}_verb")
        assert f"{verb} " in shown
        assert function.__doc__.splitlines()[0] in shown
        assert CliRunner().invoke(app, [verb, "-h"]).exit_code == 0


def test_the_version_is_said():
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.output) == (0, f"simlabel {simlabel.__version__}\n")


def test_a_mistyped_verb_is_refused_with_the_one_that_was_meant():
    result = CliRunner().invoke(app, ["predcit"])
    assert result.exit_code == 2
    assert "predict" in result.output
