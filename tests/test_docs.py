"""Pages whose code runs: Python and shell blocks in order, and what they print, where that is given."""

from __future__ import annotations

import contextlib
import doctest
import io
import random
import re
import shlex
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

from simlabel.cli import app

ROOT = Path(__file__).parents[1]
TICKETS = ROOT / "docs" / "five_minutes.md"
BLOCK = re.compile(r"^```(python|shell|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
DIRECTIVES = {"{toctree}", "{include} ../CHANGELOG.md"}
SLOW = {"cluster", "walk-through"}  # many programs that start, and workers
PAGES = [
    pytest.param(page, marks=[pytest.mark.slow] * (page.stem in SLOW))
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    if BLOCK.search(page.read_text(encoding="utf-8"))
]


def write_tickets(names: dict[str, object]) -> None:
    """The tables that the first block of five_minutes.md writes."""
    run(TICKETS, names, most=1)


def write_films(names: dict[str, object]) -> None:
    """Three tables of films, the first of which begins as the page shows it."""
    page = (ROOT / "docs" / "walk-through.md").read_text(encoding="utf-8")
    shown = re.search(r"^```none\n(minutes,.*?)^```$", page, re.MULTILINE | re.DOTALL).group(1)
    rng = random.Random(0)

    def more(rows: int) -> str:
        kinds = [
            (rng.choice(["drama;crime", "drama", "crime"]), 115),
            (rng.choice(["family", "family;comedy"]), 90),
        ]
        return "".join(
            f"{minutes + rng.randint(-9, 9)},{rng.randint(1980, 2020)},{rng.choice(['us', 'fr'])},"
            f"{'yes' if minutes == 90 else 'no'},{tags}\n"
            for tags, minutes in rng.choices(kinds, k=rows)
        )

    head = shown.splitlines(keepends=True)[0]
    Path("films.csv").write_text(shown + more(60))
    Path("held-out-films.csv").write_text(head + more(12))
    Path("new-films.csv").write_text(head + more(6))


def write_rows(names: dict[str, object]) -> None:
    """Rows in files and stores, and a model of the shell's."""
    import numpy as np
    import zarr

    rng = np.random.default_rng(0)
    X, Y, Q = rng.normal(size=(90, 4)), rng.integers(0, 2, size=(90, 3)), rng.normal(size=(7, 4))
    Path("embeddings").mkdir()
    np.save("embeddings/1.npy", X[:50])
    np.save("embeddings/2.npy", X[50:])
    np.save("embeddings.npy", X)
    for name, array in (("X", X), ("Y", Y), ("Q", Q)):
        zarr.save(f"{name}.zarr", array)
    names.update(Y=Y, Q=Q)
    write_tickets({"__name__": "tickets"})
    shell("simlabel fit tickets.csv --label-column tags --id ticket -o films.simlabel", "preparing")


PREPARED = {"README": write_tickets, "walk-through": write_films, "cluster": write_rows}


def run(page: Path, names: dict[str, object], most: int | None = None) -> int:
    """Run a page's blocks, or the first few, in the current folder; how many there were."""
    text = page.read_text(encoding="utf-8")
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
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, f"{where}: {line}\n{done.stderr}"
        printed += done.stdout
    return printed


def check(wanted: str, printed: str, where: str) -> None:
    checker = doctest.OutputChecker()
    if not checker.check_output(wanted, printed, ALIKE):
        message = checker.output_difference(doctest.Example("", wanted), printed, ALIKE)
        pytest.fail(f"{where}:\n{message}", pytrace=False)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty folder to run in, with a terminal as wide as the pages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_code_of(page):
    PREPARED.get(page.stem, lambda names: None)(names := {"__name__": page.stem})
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # a page may show something that is warned of
        assert run(page, names) > 0


def test_nothing_in_a_page_is_left_unrun():
    """What is neither run nor output is marked as such: shell of others (bash), or text (none)."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        kinds = re.findall(r"^```+([^`\n]*)$", text, re.MULTILINE)
        assert {kind for kind in kinds if kind} <= {"python", "shell", "text", "bash", "none", *DIRECTIVES}, (
            page
        )
        for body in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            assert not re.search(r"^simlabel ", body, re.MULTILINE), (
                f"{page.name}: mark it as shell, and it runs"
            )


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 100


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
        run(folder / "page.md", {"__name__": "page"})


SECURITY = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def test_every_test_that_the_security_page_cites_exists():
    cited = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", SECURITY))
    assert len(cited) > 100
    missing = [
        (file, name)
        for file, name in sorted(cited)
        if not (ROOT / "tests" / file).is_file()
        or (name and f"def {name}(" not in (ROOT / "tests" / file).read_text(encoding="utf-8"))
    ]
    assert missing == []


def test_every_promise_of_the_security_page_has_a_test():
    promises = re.findall(r"^- \*\*.*?(?=\n\n|\n- )", SECURITY, re.MULTILINE | re.DOTALL)
    assert len(promises) > 40
    assert [fitted_guarantee[:60] for fitted_guarantee in promises if "::test_" not in fitted_guarantee] == []


def test_no_two_sections_of_the_security_page_have_one_name():
    names = re.findall(r"^#+ (.*)$", SECURITY, re.MULTILINE)
    assert len(names) == len(set(names))
