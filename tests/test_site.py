"""What the site rests on, without building it; and, slow, the build itself."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import simlabel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
#: not for users: classifiers come from simlabel itself, the server and the command line are programs
INNER_PACKAGES = {"cli", "estimators", "server", "server.api", "model"}


def module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


reference, check_site = module("_reference"), module("check_site")


def pages():
    return [page for page in DOCS.rglob("*.md") if not {"_build", "gallery", "reference"} & set(page.parts)]


def test_every_package_is_in_the_reference():
    packages = {one.name for one in pkgutil.walk_packages(simlabel.__path__, "simlabel.") if one.ispkg}
    public = {name for name in packages if "._" not in name}
    assert public - {f"simlabel.{name}" for name in INNER_PACKAGES} == set(reference.PACKAGES) - {"simlabel"}


def test_every_public_name_is_in_the_reference_once(tmp_path):
    reference.write_reference(tmp_path)
    lines = [
        line.strip() for page in tmp_path.glob("simlabel*.rst") for line in page.read_text().splitlines()
    ]
    listed = Counter(lines)
    for package in reference.PACKAGES:
        for name in reference.public_names(package):
            assert listed[name] == 1, f"{package}.{name}"


def test_all_public_names_of_the_package_are_public_in_the_reference():
    assert set(reference.public_names("simlabel")) == set(simlabel.__all__)


def test_every_page_is_in_a_toctree():
    listed = set()
    for page in pages():
        for tree in re.findall(r"^```{toctree}\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
            for line in tree.splitlines():
                line = re.sub(r".*<(.*)>", r"\1", line)  # a title of its own stands before the page
                if line and not line.startswith(":"):
                    listed |= {path.resolve() for path in page.parent.glob(f"{line.strip()}.md")}
    assert {page.resolve() for page in pages()} - listed == {DOCS / "index.md"}


@pytest.mark.parametrize("page", [ROOT / "README.md", *pages()], ids=lambda page: page.stem)
def test_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)#\s]+)", text):
        if link.startswith("http"):
            continue
        created = link.removeprefix("gallery/")  # by the build, of an example
        there = (page.parent / link).exists() or (ROOT / "examples" / f"{created}.py").exists()
        assert there or link in ("gallery/index", "reference/index"), link


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="none.html">x</a>', "leads nowhere: none.html"),
        ('<a href="#none">x</a>', "leads nowhere: #none"),
        ('<a href="other.html#none">x</a>', "leads nowhere: other.html#none"),
        ('<script src="https://elsewhere/x.js"></script>', "fetches https://elsewhere/x.js"),
        ('<link rel="stylesheet" href="//elsewhere/x.css">', "fetches //elsewhere/x.css"),
    ],
)
def test_what_is_wrong_with_a_site_is_told(tmp_path, page, problem):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "index.html").write_text(page)
    assert check_site.problems(tmp_path) == [f"index.html {problem}"]


def test_a_right_site_has_no_problems(tmp_path):
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    (tmp_path / "index.html").write_text('<a href="other.html#here">x</a> <a href="https://elsewhere/">y</a>')
    (tmp_path / "site.css").write_text("@font-face { src: url('font.woff') }")
    assert check_site.problems(tmp_path) == []
    (tmp_path / "site.css").write_text("@font-face { src: url('https://elsewhere/font.woff') }")
    assert check_site.problems(tmp_path) == ["site.css fetches https://elsewhere/font.woff"]


@pytest.mark.slow
def test_the_site_is_built_without_a_warning(tmp_path):
    """With every example run; then links, addresses and spelling."""
    for folder in ("docs", "examples", "src"):
        shutil.copytree(
            ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("_build", "gallery", "reference")
        )
    for path in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        shutil.copy(ROOT / path, tmp_path / path)
    built = tmp_path / "html"
    command = ["-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(tmp_path / "docs"), str(built)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, str(tmp_path / "docs" / "check_site.py"), str(built)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
