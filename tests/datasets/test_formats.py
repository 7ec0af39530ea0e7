"""Everything that distinguishes formats is derived from their records."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from simlabel.cli import app
from simlabel.datasets import (
    FORMATS,
    Dataset,
    FeatureChunks,
    Format,
    detect_format,
    list_datasets,
    load_dataset,
)

DOC = Path(__file__).parents[2] / "docs" / "walk-through.md"


def read_pairs(path, *, max_gib=None):
    rows = [line.split("=>") for line in path.read_text().splitlines()[1:]]
    X = np.array([[float(left)] for left, _ in rows])
    Y = sp.csr_array(np.array([[int(right)] for _, right in rows], dtype=np.int8))
    return Dataset(path.stem, X, Y, ("l",), ("x",), source=str(path))


PAIRS = Format(
    name="pairs",
    title="pairs",
    endings=(".pairs",),
    sniff=lambda head: head.begins("!pairs"),
    read=read_pairs,
    chunks=lambda wanted: iter([read_pairs(wanted.path).X]),
    count_rows=lambda path: 2,
)


@pytest.fixture
def pairs(monkeypatch, tmp_path):
    """A folder with a file in a format that is only in the list."""
    formats = {"pairs": PAIRS} | FORMATS
    FORMATS.clear()
    FORMATS.update(formats)
    monkeypatch.setenv("SIMLABEL_DATA", str(tmp_path))
    (tmp_path / "few.pairs").write_text("!pairs\n0.5=>1\n2=>0\n")
    yield tmp_path / "few.pairs"
    del FORMATS["pairs"]


def test_a_format_is_its_record_and_a_place_in_the_list(pairs):
    assert load_dataset(pairs).X.tolist() == [[0.5], [2.0]]
    assert load_dataset("few").n_rows == 2
    assert "few" in list_datasets().index
    chunks = FeatureChunks(pairs, ["x"], 10)
    assert (chunks.format, chunks.count_rows()) == ("pairs", 2)
    assert next(iter(chunks)).tolist() == [[0.5], [2.0]]
    with pytest.raises(ValueError, match="format must be one of 'pairs', 'arff'"):
        load_dataset(pairs, format="other")
    with pytest.raises(TypeError, match=r"few\.pairs is pairs, which takes no option 'labels'"):
        load_dataset(pairs, labels=["l"])
    assert CliRunner().invoke(app, ["datasets", str(pairs)]).exit_code == 0


def test_the_table_in_the_docs_is_that_of_the_formats():
    rows = [line for line in DOC.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert rows[2:] == [
        f"| {one.name} | {one.title} | {' '.join(one.endings)} | {one.labels or 'in the file'} |"
        for one in FORMATS.values()
    ]


def test_the_command_line_takes_every_format():
    words = ["fit", "data", "-o", "model", "--format", "nosuch"]
    shown = CliRunner().invoke(app, words, env={"COLUMNS": "400"}).output
    assert ", ".join(map(repr, FORMATS)) in shown


def test_no_two_formats_claim_one_ending():
    endings = [ending for one in FORMATS.values() for ending in one.endings]
    assert len(set(endings)) == len(endings)


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("arff", "% a note\n@relation r\n@attribute a numeric\n@data\n1\n", 5),
        ("svmlight", "# a note\n0,2 1:0.5 3:2\n", 2),
        ("xmc", "# a note\n3 4 2\n0 0:1\n", 3),
        ("csv", "a,b\n1,2\n", 2),
    ],
)
def test_text_formats_are_detected_from_the_first_lines(tmp_path, name, content, rows):
    path = tmp_path / "data"
    path.write_text(content)
    assert detect_format(path) is FORMATS[name]
    assert FeatureChunks(path, 4, 1).count_rows() == rows
