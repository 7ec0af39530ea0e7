"""What is imported only when it is needed."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("simlabel", "matplotlib jinja2 typer scikit_posthocs iterstrat river simlabel.cli simlabel.reports"),
        ("simlabel", "dask distributed zarr"),
        ("simlabel.cli", "matplotlib scikit_posthocs iterstrat statsmodels river dask distributed zarr"),
    ],
)
def test_importing_stays_light(module, heavy):
    code = f"import sys, {module}; print([name for name in {heavy.split()!r} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
