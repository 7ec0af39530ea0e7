"""Whole files of every format that is read, a way to damage them, and what a reader may make of them."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from simlabel.datasets import Dataset, DatasetError, load_dataset, read_table, table_chunks

ARFF = (
    b"@relation 'x: -C 2'\n@attribute 'l\\'s' {0,1}\n@attribute m {1,0}\n@attribute c {red,'b b'}\n"
    b"@attribute n numeric\n@data\n"
)


def npz_bytes(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _parquet():
    stream = io.BytesIO()
    frame = pd.DataFrame({"a": [0.5, 2.0], "c": ["x", "y"], "l1": [0, 1], "l2": [1, 1]})
    frame.to_parquet(stream)
    return stream.getvalue()


INDPTR = np.array([0, 1, 2])
CSR = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": INDPTR, "shape": np.array([2, 2])}
PREFIX = {"label_prefix": "l"}
SEEDS = {
    "arff": (ARFF + b"1,0,red,2.5\n0,1,'b b',? % x\n", {"missing": "mean"}),
    "sparse arff": (ARFF + b"{0 1,2 'b b',3 1e3}\n{}\n", {}),
    "svmlight": (b"# x\n1,2 qid:3 1:0.5 7:2\n 2:1\n3 1:1 # y\n", {}),
    "xmc": (b"3 9 4\n0,2 1:0.5 4:2\n 0:1\n3 2:1\n", {}),
    "csv": (b'a,"b b",l1,l2\n1,x,0,1\n2.5,"y,z",1,1\n', PREFIX),
    "csv lists": (b"a;tags\n1;x|y\n2;\n", {"label_column": "tags", "separator": "|"}),
    "csv.gz": (gzip.compress(b"a,l1\n1,0\n2.5,1\n"), PREFIX),
    "npz": (npz_bytes(X=np.eye(2), Y=np.eye(2, dtype=np.int8), label_names=np.array(["a", "b"])), {}),
    "sparse npz": (npz_bytes(**{f"{key}_{part}": value for key in "XY" for part, value in CSR.items()}), {}),
    "parquet": (_parquet(), PREFIX),
}
TABLES = {
    "csv": 'title;é;"tags, all"\n"Sea, ""sun""\n";1,5;a|b\n54;;\nx;y;z\n'.encode(),
    "latin-1": "title,tags\ncafé,été €\nx,y\n".encode("cp1252"),
    "utf-16": "title\ttags\r\nЁж\t日本\r\nx\ty\r\n".encode("utf-16"),
    "csv.gz": gzip.compress(b"a,b\n1,0\n2.5,1\n"),
    "jsonl": b'{"a": "x", "tags": ["y", "z"]}\n{"a": {"b": [1, null]}, "c": 1e3}\n{"a": "\\ud83d\\ude00"}\n',
    "json": b'[{"a": "x", "b": true},\n {"b": [1, "y"]}, {}]',
    "parquet": _parquet(),
}
FORMATS = {"sparse arff": "arff", "csv lists": "csv", "csv.gz": "csv", "sparse npz": "npz"}

PIECES = [bytes([byte]) for byte in b"{}'\"\\,:%-?_ \n\r\x00\xff"]
PIECES += [b"@data", b"1e999", b"nan", b"9" * 21, b"-1", b"{0 1}", b"0:0 ", b"\\999", b"-C 9"]


def damaged(data: bytes, integer: Callable[[int, int], int]) -> bytes:
    """A file with a few cuts, copies and foreign pieces; `integer(a, b)` draws from a to b, both included."""
    changed = bytearray(data)
    for _ in range(integer(0, 6)):
        start = integer(0, len(changed))
        stop = min(len(changed), start + integer(0, 12))
        kind = integer(0, 2)
        if kind == 0:
            piece = PIECES[integer(0, len(PIECES) - 1)]
        elif kind == 1:
            piece = bytes(integer(0, 255) for _ in range(integer(0, 4)))
        else:
            piece = bytes(changed[start:stop]) * 2
        changed[start:stop] = piece
    return bytes(changed)


def check_reading(path: Path, data: bytes, **options: Any) -> None:
    """Whatever is in a file, it is read as a sound data set, or refused with a DatasetError."""
    path.write_bytes(data)
    try:
        dataset = load_dataset(path, **options)
    except DatasetError:
        return
    except TypeError as error:  # the damaged file has become one of another format
        if "takes no option" not in str(error):
            raise
        return
    check_sound(dataset)


def check_table(path: Path, data: bytes, rows: int) -> None:
    """Whatever is in a file, it is one table, read whole or in pieces, or refused with a DatasetError."""
    path.write_bytes(data)
    whole = _outcome(lambda: read_table(path).frame)
    pieces = _outcome(lambda: pd.concat(list(table_chunks(path, rows)) or [whole.iloc[:0]]))
    if isinstance(whole, str):
        assert isinstance(pieces, str) or "max_gib" in whole
        return
    pd.testing.assert_frame_equal(pieces, whole)
    assert whole.columns.is_unique
    for cell in whole.to_numpy(dtype=object).ravel():
        assert not isinstance(cell, str) or (cell.strip() and cell.encode())


def _outcome(read: Callable[[], pd.DataFrame]) -> pd.DataFrame | str:
    try:
        return read()
    except DatasetError as error:
        return str(error)


def check_sound(dataset: Dataset) -> None:
    """A data set that can be learned from: rows, labels, finite numbers, ones."""
    assert isinstance(dataset, Dataset)
    assert dataset.n_rows > 0
    assert dataset.n_labels > 0
    assert np.isfinite(dataset.X.data if hasattr(dataset.X, "indptr") else dataset.X).all()
    assert set(np.unique(dataset.Y.data)) <= {1}
    assert dataset.Y.has_canonical_format
    assert repr(dataset)
