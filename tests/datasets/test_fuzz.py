"""Whatever is in a file, a reader gives a data set or a DatasetError, and in bounded memory."""

import gzip
import io
import resource
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damaged_files import ARFF, FORMATS, PREFIX, SEEDS, check_reading, damaged
from simlabel.datasets import DatasetError, load_dataset


@st.composite
def damaged_by_hypothesis(draw, seed):
    return damaged(seed, lambda low, high: draw(st.integers(low, high)))


def _fuzz(kind, examples, tmp_path):
    seed, options = SEEDS[kind]
    path = tmp_path / "fuzzed"

    files = damaged_by_hypothesis(seed)

    @given(st.one_of(files, files, st.binary(max_size=200)), st.booleans())
    @settings(deadline=None, max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    def run(data, told):
        format = FORMATS.get(kind, kind) if told else None
        check_reading(path, data, format=format, **options)

    run()


@pytest.mark.parametrize("kind", SEEDS)
def test_damaged_files(kind, tmp_path):
    _fuzz(kind, 60, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_damaged_files_at_length(kind, tmp_path):
    _fuzz(kind, 20_000, tmp_path)


def test_seeds_are_whole(tmp_path):
    for kind, (data, options) in SEEDS.items():
        path = tmp_path / "seed"
        path.write_bytes(data)
        assert load_dataset(path, format=FORMATS.get(kind, kind), **options).n_rows >= 2
        assert load_dataset(path, **options).n_rows >= 2


def _zip_of(name, header, body):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for key in ("X", "Y"):
            member = io.BytesIO()
            np.lib.format.write_array_header_1_0(member, header)
            archive.writestr(f"{key}.npy", member.getvalue() + body)
    return stream.getvalue()


MIB = 1 << 20
MANY_NOMINAL = b"@relation 'x: -C 1'\n@attribute l {0,1}\n" + b"".join(
    b"@attribute a%d {x,y}\n" % j for j in range(20_000)
)
WIDE_NOMINAL = b"@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute c {" + b",".join(
    b"%d" % k for k in range(2, 70_000)
)
MANY_LABELS = b"@relation 'x: -C 20000'\n" + b"".join(b"@attribute l%d {1,0}\n" % j for j in range(20_000))
NUMERIC = b"@relation 'x: -C 1'\n@attribute l {0,1}\n@attribute n numeric\n@data\n"
HOSTILE = {
    "values of an attribute without an end": (b"@relation x\n@attribute a {" + b"," * 500_000, {}),
    "blanks in an attribute": (b"@relation x\n@attribute a {" + b"a , " * 250_000, {}),
    "quotes in an attribute": (b"@relation x\n@attribute " + b"'\\" * 500_000, {}),
    "quotes in a row": (ARFF + b"1,0,'" + b"\\'" * 500_000, {}),
    "backslashes in a row": (ARFF + b"1,0,'" + b"\\" * 1_000_000, {}),
    "braces in a row": (ARFF + b"{" * 1_000_000, {}),
    "blanks in a row": (ARFF + b"{0" + b" " * 1_000_000 + b"x}", {}),
    "sparse rows of many nominal attributes": (MANY_NOMINAL + b"@data\n" + b"{}\n" * 150_000, {}),
    "sparse rows of many labels": (MANY_LABELS + b"@attribute n real\n@data\n" + b"{}\n" * 150_000, {}),
    "rows of an attribute with many values": (WIDE_NOMINAL + b"}\n@data\n" + b"1,2\n" * 100_000, {}),
    "one long line": (b"1" * 1_000_000, PREFIX),
    "many names": (b"a," * 500_000 + b"\n", PREFIX),
    "many delimiters": (b"a,l\n" + b"," * 1_000_000, PREFIX),
    "a quote without an end": (b'a,l\n"' + b"x\n" * 500_000, PREFIX),
    "texts all different": (b"a,l\n" + b"".join(b"x%d,1\n" % k for k in range(100_000)), PREFIX),
    "labels all different": (
        b"a,l\n" + b"".join(b"1,x%d\n" % k for k in range(100_000)),
        {"label_column": "l"},
    ),
    "rows claimed": (b"1000000000000 5 4\n0 1:1\n", {}),
    "columns claimed": (b"1 2147483646 2147483646\n0 1:1\n", {}),
    "columns and labels claimed": (b"2 2147483646 2147483646\n" + b"0,2147483645 2147483645:1\n" * 2, {}),
    "empty rows": (b"400000 5 4\n" + b"\n" * 400_000, {}),
    "blanks": (b"3 3 3\n" + b" " * 1_000_000, {}),
    "labels in one row": (b"1 5 4\n" + b"0," * 500_000, {}),
    "features in one row": (b"1 5 4\n0 " + b"0:1 " * 250_000, {}),
    "a far index": (b"1 2147483646:1\n" * 60_000, {}),
    "packed zeros": (gzip.compress(b"\x00" * 300 * MIB), {}),
    "packed rows": (gzip.compress(NUMERIC + b"{}\n" * (15 * MIB // 3)), {}),
    "packed line": (gzip.compress(b"a,l\n" + b"1" * 100 * MIB), PREFIX),
    "claimed array": (_zip_of("X", {"descr": "<f8", "fortran_order": False, "shape": (10**12, 2)}, b"0"), {}),
    "empty items": (_zip_of("X", {"descr": "<U0", "fortran_order": False, "shape": (10**12, 2)}, b""), {}),
    "rows of nothing": (
        _zip_of("X", {"descr": "<f8", "fortran_order": False, "shape": (10**12, 0)}, b""),
        {},
    ),
}


SLOW = {"packed rows"}


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW else []) for kind in HOSTILE]
)
def test_small_files_meant_to_exhaust_the_reader(kind, tmp_path):
    data, options = HOSTILE[kind]
    assert len(data) < MIB + 64
    before = _peak()
    check_reading(tmp_path / "hostile", data, **options)
    assert _peak() - before < 400 * MIB


def _peak():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def test_labels_file_that_grows_without_bound(tmp_path):
    entities = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
    (tmp_path / "a.xml").write_text(f'<!DOCTYPE x [<!ENTITY e0 "x">{entities}]><labels>&e11;</labels>')
    (tmp_path / "a.arff").write_bytes(ARFF.replace(b": -C 2", b"") + b"1,0,red,2.5\n")
    with pytest.raises(DatasetError, match="document type"):
        load_dataset(tmp_path / "a.arff")
    depth = 50_000
    (tmp_path / "a.xml").write_text('<label name="a">' * depth)
    with pytest.raises(DatasetError, match="twice"):
        load_dataset(tmp_path / "a.arff")
