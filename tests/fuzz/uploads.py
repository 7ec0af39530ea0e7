"""Imports of changed files: rows as items or one clear error, within the limits on memory and time.

Each file is read in a fork that is limited as the process of the server is. A compiled reader of Parquet may
end that process, which is what it is for; nothing else may.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import traceback
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from damaged_files import TABLES, damaged
from simlabel.server import ImportOptions, ServerError, TableReader, limit_memory, read_messages

SECONDS = 30.0

FRAME = pd.DataFrame(
    {
        "title": ["Sea, sun", "=1+1", None, "x"],
        "year": [1975, 2001, 3, 4],
        "when": pd.to_datetime(["2024-01-05", None, "1975-06-20", "2000-01-01"]),
        "tags": ["a;b", "b", None, "c"],
    }
)
COLUMNS = [None, None, "tags", "title", "a", "é", "nothing", "\x00"]
XML = [b'r="XFD1048576"', b"<v>1e999</v>", b't="s"', b't="e"', b"<f>1+1</f>", b"&amp;", b"99999999999", b'"']


def warm() -> dict[str, bytes]:
    """Whole files by their format; each is read once."""
    files = dict(TABLES)
    files["tsv"] = FRAME.to_csv(index=False, sep="\t").encode()
    files["xlsx"] = _packed(lambda stream: FRAME.to_excel(stream, index=False))
    for how in ("snappy", "gzip", "zstd", None):
        files[f"parquet {how}"] = _packed(lambda stream, how=how: FRAME.to_parquet(stream, compression=how))
    lists = FRAME.assign(tags=[["a", "b"], [], None, ["c"]], title=FRAME["title"].astype("category"))
    files["parquet lists"] = _packed(lists.to_parquet)
    for kind, data in files.items():
        Path("whole").write_bytes(data)
        found = list(read_messages(Path("whole"), ImportOptions()))
        assert "error" not in found[-1], (kind, found)
    return files


def case(files: dict[str, bytes], seed: int) -> None:
    """One file, changed, with options that may mean nothing for it."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(list(files)))
    file = Path("fuzzed")
    file.write_bytes(_changed(kind, files[kind], rng))
    options = ImportOptions(
        label_column=COLUMNS[rng.integers(len(COLUMNS))],
        id_column=COLUMNS[rng.integers(len(COLUMNS))],
        separator=str(rng.choice([";", "|", " ", "auto"])) if rng.random() < 0.3 else None,
        done=bool(rng.random() < 0.5),
    )
    if rng.random() < 0.01:
        _as_the_server(file, options)
    else:
        _in_a_fork(kind, file, options)


def _packed(write: Any) -> bytes:
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def _changed(kind: str, data: bytes, rng: np.random.Generator) -> bytes:
    """Changed as a whole, or within what is packed, so that checksums hold."""

    def draw(low: int, high: int) -> int:
        return int(rng.integers(low, high + 1))

    if kind == "xlsx" and rng.random() < 0.8:
        return _zipped(data, rng, draw)
    if kind.endswith(".gz") and rng.random() < 0.7:
        return gzip.compress(damaged(gzip.decompress(data), draw))
    if kind.startswith("parquet") and rng.random() < 0.7:
        changed = bytearray(data)
        for _ in range(draw(1, 2)):
            changed[draw(4, len(data) - 1)] = draw(0, 255)
        return bytes(changed)
    return damaged(data, draw)


def _zipped(data: bytes, rng: np.random.Generator, draw: Any) -> bytes:
    """A workbook with one of its files changed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new:
        chosen = draw(0, len(old.namelist()) - 1) if rng.random() < 0.3 else None
        for place, name in enumerate(old.namelist()):
            text = old.read(name)
            if place == chosen or (chosen is None and "sheet1" in name):
                at = draw(0, len(text))
                piece = XML[draw(0, len(XML) - 1)]
                text = (
                    text[:at] + piece + text[at + draw(0, 20) :]
                    if rng.random() < 0.5
                    else damaged(text, draw)
                )
            new.writestr(name, text)
    return stream.getvalue()


def _as_the_server(file: Path, options: ImportOptions) -> None:
    try:
        with TableReader(file, options) as reader:
            assert sum(len(part.rows) for part in reader) >= 0
    except ServerError:
        return


def _in_a_fork(kind: str, file: Path, options: ImportOptions) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover
        os.close(reading)
        _child(kind, file, options, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        trace = stream.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if trace:
        raise RuntimeError(trace)
    aborted = code in (-signal.SIGABRT, -signal.SIGSEGV) and kind.startswith("parquet")
    assert code == 0 or aborted, f"{kind}: the process ended with {code}"


def _child(kind: str, file: Path, options: ImportOptions, writing: int) -> None:  # pragma: no cover
    try:
        limit_memory(file)
        signal.alarm(int(SECONDS))
        _check(kind, read_messages(file, options))
    except BaseException:
        os.write(writing, traceback.format_exc().encode()[-4000:])
    finally:
        os._exit(0)


def _check(kind: str, lines: Any) -> None:
    """Parts that follow each other to the end, or an error in few words."""
    upto, total, names = 0, 0, set[str]()
    for line in lines:
        json.dumps(line, allow_nan=False).encode()
        if "error" in line:
            # the memory of Parquet is limited by the process alone; others are refused before they take it
            assert "too much memory" not in line["error"] or kind.startswith("parquet"), line
            assert 0 < len(line["error"]) <= 300
            return
        assert upto <= line["upto"] <= line["total"]
        upto, total = line["upto"], line["total"]
        for content, name, tags, done, _ in map(dict.values, line["rows"]):
            assert name not in names
            names.add(name)
            assert all(tags)
            assert isinstance(done, bool)
            json.dumps(content, ensure_ascii=False).encode()
    assert upto == total
