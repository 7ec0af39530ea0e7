"""Readers of data sets against damaged and hostile files: a sound data set or a DatasetError, no other."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import string
import warnings
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from damaged_files import (
    ARFF,
    FORMATS,
    PREFIX,
    SEEDS,
    TABLES,
    check_reading,
    check_sound,
    check_table,
    damaged,
)
from openml_answers import OpenML, answered_by
from simlabel.datasets import OPENML, DatasetError, FeatureChunks, OpenMLSet, load_dataset

SECONDS = 20.0

XML = b'<?xml version="1.0"?>\n<labels><label name="l\'s"><label name="m"/></label></labels>\n'
MEKA = ARFF.replace(b"-C 2", b"-C -2") + b"1,0,red,2.5\n0,1,'b b',3\n"
OPTIONS: dict[str, list[Any]] = {
    "labels": [1, -1, 0, 99, -(10**20), [], ["l1"], ["m"], ["l1", "l1"], ["nothing"], "absent.xml", "l"],
    "label_prefix": ["l", "", "\x00", "a"],
    "label_column": ["tags", "l1", "", "nothing"],
    "separator": [";", "|", "", "ab", "\n"],
    "delimiter": [",", ";", "", "\t", "ab", "\n", '"'],
    "missing": ["error", "mean", "median", "most_frequent", "nothing", 3],
    "zero_based": [True, False, "auto", 7],
    "format": ["arff", "svmlight", "xmc", "csv", "parquet", "npz", "nothing"],
}
CELLS = ["1", "0", "", "-0", "1e999", "nan", "NA", "?", "x", '"', "1,5", "0x1p3", "\uff11", "true", "9" * 400]
DTYPES = ["f8", "f4", "f2", "i1", "u8", "?", "U3", "S2", "c16", "O", "M8[s]", ">f8", "V4"]


def warm() -> None:
    """Every reader has read its file once."""
    _openml(np.random.default_rng(11))
    for data, options in SEEDS.values():
        check_reading(Path("whole"), data, **options)
    for data in TABLES.values():
        check_table(Path("whole"), data, 2)


def case(material: None, seed: int) -> None:
    """One file: damaged, packed, or written anew with odd contents; read whole or in chunks."""
    rng = np.random.default_rng(seed)
    if rng.random() < 0.05:
        _openml(rng)
        return
    if rng.random() < 0.3:
        _raw_table(rng)
        return
    makers = [_damaged, _damaged, _damaged, _in_pairs, _table, _parquet, _archive]
    data, options = makers[rng.integers(len(makers))](rng)
    if rng.random() < 0.1:
        data = gzip.compress(data)
        data = damaged(data, _draws(rng)) if rng.random() < 0.5 else data
    while rng.random() < 0.25:
        name = str(rng.choice(list(OPTIONS)))
        options = {**options, name: OPTIONS[name][rng.integers(len(OPTIONS[name]))]}
    path = Path("fuzzed")
    if rng.random() < 0.2:
        _in_chunks(path, data, rng)
        return
    try:
        check_reading(path, data, **options)
    except DatasetError:
        raise
    except (ValueError, TypeError) as error:  # of the options, which are checked before the file is
        if not any(name in str(error) for name in options):
            raise


def _draws(rng: np.random.Generator) -> Any:
    return lambda low, high: int(rng.integers(low, high + 1))


def _raw_table(rng: np.random.Generator) -> None:
    """A raw table, damaged or of odd cells."""
    data = TABLES[str(rng.choice(list(TABLES)))]
    data = damaged(data, _draws(rng)) if rng.random() < 0.7 else _table(rng)[0]
    check_table(Path("fuzzed"), data, int(rng.integers(1, 4)))


def _damaged(rng: np.random.Generator) -> tuple[bytes, dict[str, Any]]:
    """One of the whole files of the tests, with its options, damaged."""
    kind = str(rng.choice([*SEEDS, "meka"]))
    data, options = (MEKA, {}) if kind == "meka" else SEEDS[kind]
    if rng.random() < 0.5:
        options = {**options, "format": FORMATS.get(kind, "arff" if kind == "meka" else kind)}
    if rng.random() < 0.05:
        return rng.bytes(rng.integers(300)), options
    return damaged(data, _draws(rng)), options


def _in_pairs(rng: np.random.Generator) -> tuple[bytes, dict[str, Any]]:
    """An ARFF file whose labels are named by an XML file, damaged both."""
    xml = XML if rng.random() < 0.3 else damaged(XML, _draws(rng))
    Path("fuzzed.xml").write_bytes(xml)
    rows = b"1,0,red,2.5\n{0 1, 3 7}\n" if rng.random() < 0.3 else b"1,0,red,2.5\n0,1,red,1\n"
    data = ARFF.replace(b": -C 2", b"") + rows
    data = data if rng.random() < 0.5 else damaged(data, _draws(rng))
    return data, {"labels": "fuzzed.xml"}


def _table(rng: np.random.Generator) -> tuple[bytes, dict[str, Any]]:
    """A CSV file of odd cells under odd names."""
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    names = ["a", "l1", "l2", *rng.choice(["a", "", " ", "l1", "tags", "\x00", "[red]", "x" * 5000], 2)]
    rows = [rng.choice(CELLS, size=rng.choice([5, 5, 5, 5, 4, 6])) for _ in range(rng.integers(0, 6))]
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    lines = [delimiter.join(map(str, row)) for row in [names, *rows]]
    text = end.join(lines) + end * int(rng.integers(3))
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    options = [PREFIX, {"label_column": "l1"}, {"labels": ["l1", "l2"]}][rng.integers(3)]
    return text.encode(encoding), {**options, "format": "csv"}


def _parquet(rng: np.random.Generator) -> tuple[bytes, dict[str, Any]]:
    """A Parquet file with columns of any type."""
    kinds: list[Any] = [
        pa.array([1, 2, None]),
        pa.array([0.5, float("nan"), float("inf")]),
        pa.array([1, 0, 1], pa.int8()),
        pa.array([True, False, None]),
        pa.array(["x", "", None]),
        pa.array([b"\xff", b"", b"x"]),
        pa.array([[1], [], None]),
        pa.array([["x", "y"], [], ["x", "x"]]),
        pa.array([{"p": 1}, {"p": 2}, None]),
        pa.array([1, 2, 3], pa.timestamp("ns")),
        pa.array([1, 2, 3], pa.duration("s")),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.nulls(3),
        pa.array([1, 2**63, 2**64 - 1], pa.uint64()),
        pa.array([1, 2, 3]).cast(pa.decimal128(22, 3)),
        pa.array([1.0, 2.0, 3.0], pa.float16()),
    ]
    names = ["a", "b", "l1", "l2", "tags"]
    chosen = [kinds[k] for k in rng.integers(len(kinds), size=len(names))]
    chosen[2] = kinds[2] if rng.random() < 0.6 else chosen[2]
    names[1] = str(rng.choice(["b", "a", "", "l3"]))
    stream = io.BytesIO()
    table = pa.Table.from_arrays(chosen, names)
    table = table.slice(0, 0) if rng.random() < 0.05 else table
    pq.write_table(table, stream, compression=str(rng.choice(["none", "snappy", "gzip"])))
    data = stream.getvalue()
    options = [PREFIX, {"label_column": "tags"}, {"labels": ["l1"]}][rng.integers(3)]
    return (damaged(data, _draws(rng)) if rng.random() < 0.3 else data), dict(options)


def _archive(rng: np.random.Generator) -> tuple[bytes, dict[str, Any]]:
    """A numpy archive whose members have odd types, shapes and contents."""

    def member(shape: Any) -> Any:
        kind = str(rng.choice(DTYPES)) if rng.random() < 0.4 else "f8"
        if kind in ("O", "V4", "U3", "S2"):
            return np.full(shape, "a").astype(kind) if kind != "V4" else np.zeros(shape, "V4")
        with np.errstate(all="ignore"):
            values = rng.choice([0.0, 1.0, 1.0, 0.0, -1.0, 2.5, np.nan, 1e300, 2.0**62], size=shape)
            return values.astype(kind)

    def shape() -> Any:
        return tuple(rng.choice([2, 2, 2, 3, 0, 1], size=rng.choice([2, 2, 2, 1, 3, 0])).tolist())

    arrays: dict[str, Any] = {}
    for key in "XY":
        if rng.random() < 0.5:
            arrays[key] = member(shape()) if rng.random() < 0.7 else np.eye(2)
            continue
        odd = [0, 1, 2, 3, -1, 2**31, 2**62]
        arrays[f"{key}_data"] = member(2)
        arrays[f"{key}_indices"] = rng.choice(odd, size=2) if rng.random() < 0.5 else np.array([1, 0])
        arrays[f"{key}_indptr"] = rng.choice(odd, size=3) if rng.random() < 0.5 else np.array([0, 1, 2])
        arrays[f"{key}_shape"] = rng.choice(odd, size=2) if rng.random() < 0.5 else np.array([2, 2])
    for name in ("label_names", "feature_names", "split"):
        if rng.random() < 0.3:
            arrays[name] = member(int(rng.integers(1, 4)))
    if rng.random() < 0.2:
        arrays.pop(str(rng.choice(list(arrays))))
    stream = io.BytesIO()
    write = np.savez if rng.random() < 0.5 else np.savez_compressed
    write(stream, **arrays)
    return stream.getvalue(), {"format": "npz"} if rng.random() < 0.5 else {}


class _Answer(io.BytesIO):
    """What comes from a server, with no headers."""

    def info(self) -> dict[str, str]:
        return {}


def _openml(rng: np.random.Generator) -> None:
    """A set from OpenML, some of whose answers are damaged, the checksum of the file perhaps with it."""
    server = OpenML()
    if rng.random() < 0.5:
        server.data = damaged(server.data, _draws(rng))
        server.checksum = hashlib.md5(server.data).hexdigest()
    odd = 0.0 if rng.random() < 0.5 else 0.5

    def urlopen(request: Any, **options: Any) -> _Answer:
        answer = server.answer(re.sub(r"https?://[^/]*", "", request.full_url)) or b""
        return _Answer(damaged(answer, _draws(rng)) if rng.random() < odd else answer)

    known = {"tiny": OpenMLSet(7, 3, 2, 2)}
    folder = {"SCIKIT_LEARN_DATA": str(Path.cwd())}
    with (
        answered_by(urlopen),
        mock.patch.dict(OPENML, known),
        mock.patch.dict(os.environ, folder),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            check_sound(load_dataset("tiny"))
        except DatasetError as error:
            if not str(error):
                raise


def _in_chunks(path: Path, data: bytes, rng: np.random.Generator) -> None:
    """The same file as `predict` reads it: in the columns of a model."""
    path.write_bytes(data)
    names = list(rng.choice([*string.ascii_lowercase[:4], "n", "c=red", "b b=x", "0", "1", ""], 4))
    features = int(rng.integers(1, 12)) if rng.random() < 0.5 else tuple(map(str, names))
    base = None if rng.random() < 0.5 else int(rng.integers(2))
    format = None if rng.random() < 0.7 else str(rng.choice(OPTIONS["format"][:-1]))
    width = features if isinstance(features, int) else len(features)
    try:
        chunks = FeatureChunks(path, features, int(rng.integers(1, 4)), format=format, index_base=base)
        for chunk in chunks:
            assert chunk.shape[1] == width
            assert np.isfinite(chunk.data if hasattr(chunk, "indptr") else chunk).all()
    except DatasetError as error:
        if not str(error):
            raise
