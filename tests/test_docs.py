"""Pages whose code runs: Python and shell blocks in order, and what they print, where that is given."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TICKETS = ROOT / "docs" / "five_minutes.md"
BLOCK = re.compile(r"^```(python|shell|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MAIN = "from simlabel.cli import main; main()"


def run(page: Path, most: int | None = None) -> int:
    """Run a page's blocks, or the first few, in the current folder; how many there were."""
    text, names = page.read_text(encoding="utf-8"), {"__name__": page.stem}
    blocks = list(BLOCK.finditer(text))[:most]
    printed: str | None = None
    for block in blocks:
        kind, body = block.groups()
        where = f"{page.name}, line {text.count(chr(10), 0, block.start()) + 1}"
        if kind == "text":
            assert printed is not None, f"{where}: the output of nothing"
            check(body, printed, where)
            printed = None
        else:
            printed = python(body, where, names) if kind == "python" else shell(body, where)
    return len(blocks)


def python(code: str, where: str, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, where, "exec"), names)
    return out.getvalue()


def shell(lines: str, where: str) -> str:
    printed = ""
    for line in lines.splitlines():
        program, *words = shlex.split(line, comments=True)
        assert program == "simlabel", f"{where}: {line}"
        done = subprocess.run(
            [sys.executable, "-c", MAIN, *words], capture_output=True, text=True, encoding="utf-8"
        )
        assert done.returncode == 0, f"{where}: {line}\n{done.stderr}"
        printed += done.stdout
    return printed


def check(wanted: str, printed: str, where: str) -> None:
    checker = doctest.OutputChecker()
    if not checker.check_output(wanted, printed, ALIKE):
        told = checker.output_difference(doctest.Example("", wanted), printed, ALIKE)
        pytest.fail(f"{where}:\n{told}", pytrace=False)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to run in, with a terminal as wide as the pages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
    return tmp_path


def test_tickets_in_five_minutes():
    assert run(TICKETS) == TICKETS.read_text(encoding="utf-8").count("\n```") // 2  # none is passed over


def test_labels_that_are_part_of_others():
    assert run(ROOT / "docs" / "nested_labels.md") == 7


def test_labels_that_are_not_known():
    page = ROOT / "docs" / "unknown_labels.md"
    assert run(page) == page.read_text(encoding="utf-8").count("\n```") // 2


def test_sets_with_a_guarantee():
    page = ROOT / "docs" / "guarantees.md"
    assert run(page) == page.read_text(encoding="utf-8").count("\n```") // 2
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / picture).is_file()


def test_the_first_lines_of_the_readme():
    run(TICKETS, most=1)  # which writes the tables
    assert run(ROOT / "README.md", most=2) == 2


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "page.md, line 5"),
        ("```python\n1 / 0\n```\n", "division by zero"),
        ("```shell\nsimlabel nothing\n```\n", "No such command"),
        ("```text\n1\n```\n", "the output of nothing"),
    ],
)
def test_a_page_that_is_wrong_is_told(folder, page, problem):
    (folder / "page.md").write_text(page)
    with pytest.raises((AssertionError, ZeroDivisionError, pytest.fail.Exception), match=problem):
        run(folder / "page.md")
