"""The benchmarks: one runner finds them all, each says what it measures, and they run."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "benchmarks"
FILES = sorted(path for kind in ("speed", "accuracy") for path in (FOLDER / kind).glob("*.py"))


def ran(*arguments, **env):
    command = [sys.executable, str(FOLDER / "run.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | env)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_has_the_one_entry_point(path):
    tree = ast.parse(path.read_text())
    runs = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "run"]
    assert [ast.unparse(run.args) for run in runs] == ["scale: Scale"]
    assert ast.get_docstring(tree)


def test_the_list_names_them_all():
    lines = ran("--list").stdout.splitlines()
    assert [tuple(line.split()[:2]) for line in lines] == sorted(
        ((path.parent.name, path.stem) for path in FILES), key=lambda pair: (pair[0] != "speed", pair[1])
    )
    assert all(len(line.split()) > 4 for line in lines)


def test_a_small_run_leaves_the_docs_alone(tmp_path):
    kept = FOLDER.parent / "docs" / "benchmarks" / "results.json"
    before = kept.read_bytes()
    done = ran("--small", "symmetric", TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    (page,) = tmp_path.glob("bench*/benchmarks/symmetric.md")
    assert "| symmetric |" in page.read_text()
    assert kept.read_bytes() == before


def test_a_wrong_name_is_refused():
    done = ran("exactly")
    assert done.returncode == 2
    assert "no benchmark is called exactly" in done.stderr
