"""For any file, a reader returns a data set or raises DatasetError, in bounded memory."""

import gzip
import io
import os
import resource
import sys
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from damaged_files import ARFF, FORMATS, PREFIX, SEEDS, check_reading, damaged, npz_bytes
from simlabel.datasets import DatasetError, FeatureChunks, load_dataset


@st.composite
def damaged_by_hypothesis(draw, seed):
    return damaged(seed, lambda low, high: draw(st.integers(low, high)))


def _fuzz(kind, examples, tmp_path):
    seed, options = SEEDS[kind]
    path = tmp_path / "fuzzed"

    files = damaged_by_hypothesis(seed)

    @given(st.one_of(files, files, st.binary(max_size=200)), st.booleans())
    @settings(deadline=None, max_examples=examples, suppress_health_check=list(HealthCheck), database=None)
    def run(data, is_given):
        format = FORMATS.get(kind, kind) if is_given else None
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
HOSTILE = {  # (data, options); what takes long to make is a function
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
    "packed zeros": (lambda: gzip.compress(b"\x00" * 300 * MIB), {}),
    "packed rows": (lambda: gzip.compress(NUMERIC + b"{}\n" * (15 * MIB // 3)), {}),
    "packed line": (lambda: gzip.compress(b"a,l\n" + b"1" * 100 * MIB), PREFIX),
    "claimed array": (_zip_of("X", {"descr": "<f8", "fortran_order": False, "shape": (10**12, 2)}, b"0"), {}),
    "empty items": (_zip_of("X", {"descr": "<U0", "fortran_order": False, "shape": (10**12, 2)}, b""), {}),
    "rows of nothing": (
        _zip_of("X", {"descr": "<f8", "fortran_order": False, "shape": (10**12, 0)}, b""),
        {},
    ),
}


@cache
def _table(column, rows):
    stream = io.BytesIO()
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array([column]))
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), pa.array(["x"]))
    pq.write_table(pa.table({"c": values, "l": labels}), stream, compression="zstd")
    return stream.getvalue()


def _long_texts():
    return _table("x" * 500_000, 20_000)  # 10 GB when every row has its own


HOSTILE["long texts"] = (_long_texts, {"label_column": "l"})
HOSTILE["long lists"] = (_long_texts, {"label_column": "c"})
HOSTILE["equal numbers"] = (lambda: _table(0.5, 30_000_000), {"label_column": "l"})
ONE = {"data": np.ones(1), "indices": np.array([0]), "indptr": np.array([0, 1])}
HOSTILE["columns claimed in npz"] = (
    npz_bytes(**{f"{key}_{part}": v for key in "XY" for part, v in {**ONE, "shape": [1, 2**31 - 2]}.items()}),
    {},
)
CLAIMS = ["columns claimed", "columns and labels claimed", "columns claimed in npz", "a far index"]
CLAIMS += ["long texts", "long lists", "equal numbers"]

SLOW = {"packed rows"}


def _hostile(kind):
    data, options = HOSTILE[kind]
    return (data() if callable(data) else data), options


@pytest.mark.parametrize("kind", CLAIMS)
def test_more_memory_than_a_file_may_ask_for_is_an_option(kind, tmp_path):
    data, options = _hostile(kind)
    (tmp_path / "hostile").write_bytes(data)
    with pytest.raises(DatasetError, match=r"asks for [\d.]+ GiB of memory, .* max_gib=[\d.]+"):
        load_dataset(tmp_path / "hostile", **options)


def test_max_gib_is_the_limit(tmp_path):
    (tmp_path / "wide").write_bytes(b"1 20000000 4\n0 1:1\n")
    with pytest.raises(DatasetError, match=r"max_gib=0\.15") as refused:
        load_dataset(tmp_path / "wide")
    assert "0.149 GiB" in str(refused.value)
    assert load_dataset(tmp_path / "wide", max_gib=0.15).X.shape == (1, 20_000_000)
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress(b"a,l1\n" + b"1,0\n1,1\n" * 2_500_000))
    with pytest.raises(DatasetError, match="unpacked, it asks for"):
        load_dataset(packed, **PREFIX)
    with pytest.raises(DatasetError, match="as max_gib says"):
        load_dataset(packed, **PREFIX, max_gib=0.001)


def test_rows_for_a_model_are_bounded_too(tmp_path):
    path = tmp_path / "new.parquet"
    path.write_bytes(_long_texts())
    before = _peak()
    chunks = FeatureChunks(path, ["c=y", "c=x"], 4096)
    assert sum(chunk.shape[0] for chunk in chunks) == 20_000  # the text is there once
    assert chunks.unknown == 20_000
    assert _peak() - before < 400 * MIB
    frame = pd.DataFrame({"c": np.zeros(20_000_000)})
    frame.to_parquet(path, compression="zstd", use_dictionary=False, row_group_size=20_000_000)
    with pytest.raises(DatasetError, match=r"asks for 0\.149 GiB of memory"):
        next(iter(FeatureChunks(path, ["c"], 4096)))
    assert next(iter(FeatureChunks(path, ["c"], 4096, max_gib=1))).shape == (4096, 1)


def test_what_is_no_regular_file_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path, found in ((tmp_path / "pipe.csv", "a pipe"), (tmp_path, "a folder"), ("/dev/zero", "a device")):
        with pytest.raises(DatasetError, match=f"expected a regular file, found {found}"):
            load_dataset(path, **PREFIX)
        with pytest.raises(DatasetError, match=f"expected a regular file, found {found}"):
            FeatureChunks(path, ["a"], 1)
    (tmp_path / "a.arff").write_bytes(ARFF.replace(b": -C 2", b"") + b"1,0,red,2.5\n")
    with pytest.raises(DatasetError, match="found a pipe"):
        load_dataset(tmp_path / "a.arff", labels=tmp_path / "pipe.csv")


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] if kind in SLOW else []) for kind in HOSTILE]
)
def test_small_files_meant_to_exhaust_the_reader(kind, tmp_path):
    data, options = _hostile(kind)
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
