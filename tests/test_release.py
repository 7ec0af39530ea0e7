"""What is shipped: one version, licenses, and, slow, a wheel that runs in an empty environment."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import simlabel

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_version_is_in_one_place():
    assert "version" in SETTINGS["project"]["dynamic"]
    assert SETTINGS["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "simlabel.__version__"}
    assert "\nversion:" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_every_pin_is_a_version():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines), key=str.lower)
    assert all(line.count("==") == 1 and "/" not in line for line in lines)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.mark.slow
def test_wheel_and_source_have_what_is_needed(built):
    wheel, source = built
    assert simlabel.__version__ in wheel.name
    inside = zipfile.ZipFile(wheel).namelist()
    shipped = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.py")}
    assert shipped <= set(inside)
    assert {
        "simlabel/py.typed",
        "simlabel/experiments/reports/report.html.jinja",
        "simlabel/server/page/index.html",
    } <= set(inside)
    assert any(name.endswith("licenses/LICENSE") for name in inside)
    assert not [name for name in inside if name.startswith(("tests", "docs", "benchmarks"))]
    with tarfile.open(source) as archive:
        assert {"LICENSE", "README.md", "pyproject.toml"} <= {Path(name).name for name in archive.getnames()}


@pytest.mark.slow
def test_the_wheel_runs_the_demo_in_an_empty_environment(built, tmp_path):
    home = tmp_path / "empty"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    settings = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SIMLABEL_DATA")
    }
    install = [home / "bin" / "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"{built[0]}[demo]"]
    done = subprocess.run(install, capture_output=True, text=True, env=settings)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [home / "bin" / "simlabel", "demo"], capture_output=True, text=True, env=settings, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "average precision" in done.stdout.lower()
