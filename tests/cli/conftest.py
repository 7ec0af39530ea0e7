"""Film tables, a model fitted on one of them, and a shell in their folder."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from film_tables import films, write_csv
from simlabel.cli import app


@pytest.fixture(scope="session")
def film_folder(tmp_path_factory):
    """A folder with a table, new rows, and a model that the command line fitted."""
    film_folder = tmp_path_factory.mktemp("films")
    write_csv(film_folder / "films.csv", films(40, 1))
    write_csv(film_folder / "new.csv", films(25, 2).drop(columns="tags"), encoding="latin-1")
    words = [
        "fit",
        str(film_folder / "films.csv"),
        "--label-column",
        "tags",
        "-o",
        str(film_folder / "films.simlabel"),
    ]
    result = CliRunner().invoke(app, [*words, "--id", "id", "--title", "title", "--text", "title"])
    assert result.exit_code == 0, result.output
    (film_folder / "stdout.txt").write_text(result.stdout, encoding="utf-8")
    (film_folder / "stderr.txt").write_text(result.stderr, encoding="utf-8")
    return film_folder


@pytest.fixture
def shell_in(tmp_path, monkeypatch):
    """Run commands in a fresh folder that holds the files of a given one."""

    def prepared(folder, columns):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", str(columns))
        for path in folder.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        return invoke

    def invoke(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return prepared


@pytest.fixture
def shell(film_folder, shell_in):
    """Run a command in a fresh folder; files of `film_folder` are called by their names."""
    return shell_in(film_folder, 200)
