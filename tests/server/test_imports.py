"""Import of tables: each format, repeated, damaged, canceled; and the output on the command line."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import closing

import pandas as pd
import psutil
import pytest
from desk_support import MAIN, Server, opened

from simlabel.server import ImportOptions, ReaderCrashed, TableReader

ROWS = {"id": ["a", "b"], "title": ["Sea, sun", "Café"], "year": ["1975", "2001"], "tags": ["x|y", "x"]}
FRAME = pd.DataFrame(ROWS)
STORED = [("Café", ["x"]), ("Sea, sun", ["x", "y"])]


def _json_lines():
    return "".join(json.dumps(row) + "\n" for row in FRAME.to_dict("records")).encode()


def _packed(write):
    stream = io.BytesIO()
    write(stream)
    return stream.getvalue()


def _xlsx():
    pytest.importorskip("openpyxl", reason="simlabel[excel] is not installed")
    return _packed(lambda stream: FRAME.to_excel(stream, index=False))


FORMATS = {
    "csv": lambda: FRAME.to_csv(index=False).encode(),
    "csv.gz": lambda: gzip.compress(FRAME.to_csv(index=False).encode()),
    "tsv": lambda: FRAME.to_csv(index=False, sep="\t").encode(),
    "json": lambda: json.dumps(FRAME.to_dict("records")).encode(),
    "json.gz": lambda: gzip.compress(json.dumps(FRAME.to_dict("records")).encode()),
    "jsonl": _json_lines,
    "xlsx": _xlsx,
    "parquet": lambda: _packed(FRAME.to_parquet),
}


def ended(server, number):
    for _ in range(600):
        job = server.get(f"/api/jobs/{number}")
        if job["state"] != "waiting":
            return job
        time.sleep(0.1)
    raise AssertionError(f"the import does not end: {job}")


def imported(server, data, **asked):
    answer = server.client.post("/api/imports", params=asked, content=data)
    assert answer.status_code == 202, answer.text
    return ended(server, answer.json()["id"])


def counts(job):
    return [job["new"], job["updated"], job["unchanged"]]


def stored(server):
    items = server.get("/api/items")["items"]
    return sorted((item["content"]["title"], sorted(tag["label"] for tag in item["tags"])) for item in items)


def served(folder, *options):
    """Run `simlabel serve` with options for which it does not start serving."""
    command = [sys.executable, "-c", MAIN, "serve", str(folder), "--port", "0", *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("kind", FORMATS)
def test_each_format_is_imported(kind, local):
    data = FORMATS[kind]()
    job = imported(local, data, name=f"films.{kind}", label_column="tags", id_column="id")
    assert (job["state"], job["problems"]) == ("done", [])
    assert counts(job) == [2, 0, 0]
    assert stored(local) == STORED


@pytest.mark.parametrize("kind", ["csv.gz", "xlsx"])
def test_a_table_is_imported_on_the_command_line(kind, tmp_path):
    table = tmp_path / f"films.{kind}"
    table.write_bytes(FORMATS[kind]())
    with Server(tmp_path / "desk", "--import", str(table), "--label-column", "tags", "--id", "id") as server:
        assert ended(server, 1)["state"] == "done"
        assert stored(server) == STORED
        said = server.end()[1]
    assert f"import of films.{kind}, done: 2 new, 0 updated, 0 unchanged" in said


def test_file_with_the_same_name_overwrites_nothing(local):
    requested = {"name": "films.csv", "label_column": "tags"}
    first, second = (f"title,tags\n{words} one,x\n{words} two,y\n".encode() for words in ("sea", "sun"))
    assert counts(imported(local, first, **requested)) == [2, 0, 0]
    assert counts(imported(local, second, **requested)) == [2, 0, 0]
    assert [title for title, _ in stored(local)] == ["sea one", "sea two", "sun one", "sun two"]
    assert counts(imported(local, first, **requested)) == [
        0,
        0,
        2,
    ]  # importing the same file again adds nothing
    more = b"title,tags\nnew one,x\n" + first.partition(b"\n")[2].replace(b"two,y", b"two,y|z")
    assert counts(imported(local, more, **requested)) == [1, 1, 1]
    assert ("sea two", ["y", "z"]) in stored(local)


def test_repeated_rows_of_a_file_are_separate_items(local):
    twice = b"title,tags\nsea,x\nsea,x\n"
    assert counts(imported(local, twice, name="t.csv", label_column="tags")) == [2, 0, 0]
    assert counts(imported(local, twice, name="t.csv", label_column="tags")) == [0, 0, 2]


def test_import_without_ids_keeps_edited_content(local):
    imported(local, b"title\nsea\n", name="t.csv")
    (item,) = local.get("/api/items")["items"]
    local.client.put(f"/api/items/{item['id']}", json={"content": {"title": "the sea"}})
    assert counts(imported(local, b"title\nsea\n", name="t.csv")) == [0, 0, 1]
    assert stored(local) == [("the sea", [])]


def test_repeated_id_in_a_file_is_a_problem(local):
    job = imported(local, b"id,title\na,one\nb,two\na,three\n", name="t.csv", id_column="id")
    assert counts(job) == [2, 0, 0]
    assert job["problems"] == [
        {"row": 3, "problem": "The row was skipped, because it has the same id as row 1."},
    ]
    assert [title for title, _ in stored(local)] == ["one", "two"]


def test_missing_column_is_reported_before_the_server_starts(tmp_path):
    table = tmp_path / "films.csv"
    table.write_text("title,tags\nsea,x\n")
    done = served(tmp_path / "desk", "--import", str(table), "--label-column", "Wrong")
    assert done.returncode == 2
    assert " is at " not in done.stdout
    shown = "".join(done.stderr.replace("│", " ").split())  # long paths are wrapped anywhere
    for words in ("films.csv", "label_column", "'Wrong'", "'title','tags'"):
        assert words in shown
    assert not (tmp_path / "desk").exists()
    assert served(tmp_path / "desk", "--import", str(tmp_path / "absent.csv")).returncode == 2


def test_file_with_too_many_rows_for_its_size_is_refused(local):
    repeated = _packed(pd.DataFrame({"n": [0] * 3_000_000}).to_parquet)
    job = imported(local, repeated, name="t.parquet")
    assert job["state"] == "failed"
    assert "3,000,000 rows" in job["problems"][0]["problem"]
    assert local.get("/api/status")["items"] == {"waiting": 0, "done": 0}


LONG = 50_000  # rows, so that the import is still running when it is interrupted


def long_import(server):
    text = "title,tags\n" + "".join(f"film {i} of the sea and the sun,x\n" for i in range(LONG))
    requested = {"name": "long.csv", "label_column": "tags"}
    return server.client.post("/api/imports", params=requested, content=text.encode()).json()["id"]


def reading(server):
    """Return the processes that read a table for a server."""
    children = psutil.Process(server.process.pid).children()
    alive = [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    return [child for child in alive if any("_parsing" in word for word in child.cmdline())]


# a server whose table readers hang
STUCK = "import simlabel.server._parsing as p; p._MAIN = 'import time; time.sleep(300)  # _parsing'; " + MAIN


def killed_while_it_reads(server, attempt=1):
    """Kill a `STUCK` server and its reader once the attempt is in the store."""
    with closing(opened(server.folder)) as db:
        query = "SELECT 1 FROM jobs WHERE json_extract(data, '$.attempts') = ?"
        until(lambda: db.execute(query, (attempt,)).fetchall())
    (child,) = reading(server)
    server.kill()
    child.kill()


def until(found, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what := found():
            return what
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain")


def test_crashed_reader_is_started_twice_and_the_server_continues(local):
    """As if a compiled reader aborted on a damaged file."""
    number = long_import(local)
    (first,) = until(lambda: reading(local))
    os.kill(first.pid, signal.SIGABRT)
    (second,) = until(lambda: [one for one in reading(local) if one.pid != first.pid])
    os.kill(second.pid, signal.SIGABRT)
    job = ended(local, number)
    assert job["state"] == "failed"
    assert "SIGABRT" in job["problems"][-1]["problem"]
    assert counts(imported(local, b"title\nsea\n", name="t.csv")) == [1, 0, 0]
    assert list((local.folder / "incoming").iterdir()) == []


def test_import_is_given_up_after_two_killed_servers(tmp_path):
    folder = tmp_path / "desk"
    with Server(folder, main=STUCK) as server:
        number = long_import(server)
        killed_while_it_reads(server)
    with Server(folder, main=STUCK) as server:
        killed_while_it_reads(server, 2)
    with Server(folder) as server:
        assert ended(server, number)["problems"][-1]["problem"].startswith("The server ended")


def test_import_can_be_canceled(local):
    number = long_import(local)
    until(lambda: local.get("/api/status")["items"]["done"])
    canceled = local.client.delete(f"/api/jobs/{number}")
    assert (canceled.status_code, canceled.json()["state"]) == (200, "canceled")
    until(lambda: not reading(local))
    assert local.client.delete(f"/api/jobs/{number}").status_code == 409
    assert local.client.delete("/api/jobs/99").status_code == 404
    assert list((local.folder / "incoming").iterdir()) == []
    assert imported(local, b"title\nsea\n", name="t.csv")["state"] == "done"  # the next import runs
    job = local.get(f"/api/jobs/{number}")
    assert job["state"] == "canceled"
    assert 0 < job["new"] == local.get("/api/status")["items"]["done"] < LONG


def test_import_can_be_canceled_on_the_command_line(tmp_path):
    folder = tmp_path / "desk"
    with Server(folder, main=STUCK) as server:
        number = long_import(server)
        killed_while_it_reads(server)
    assert served(folder, "--cancel-import", str(number)).returncode == 0
    assert served(folder, "--cancel-import", "99").returncode == 1
    with Server(folder) as server:
        assert server.get(f"/api/jobs/{number}")["state"] == "canceled"
        assert server.get("/api/status")["items"] == {"waiting": 0, "done": 0}


@pytest.mark.skipif(sys.platform != "linux", reason="the address space is limited on Linux alone")
def test_the_memory_of_a_reader_is_limited(tmp_path):
    """The limit for a small file is 1 GiB more than at the start."""
    (tmp_path / "t.csv").write_text("title\nsea\n")
    code = "import sys; from pathlib import Path; from simlabel.server import limit_memory\n"
    code += (
        "limit_memory(Path(sys.argv[1])); bytearray(1 << 28); print('here', flush=True); bytearray(2 << 30)"
    )
    command = [sys.executable, "-c", code, tmp_path / "t.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout == "here\n"
    assert "MemoryError" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="time is limited on POSIX systems alone")
def test_the_time_of_a_reader_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("simlabel.server._parsing._time_limit", lambda file: 1)
    (tmp_path / "t.csv").write_text("title,tags\n" + "the sea and the sun,x\n" * 500_000)
    match = "took longer than 1 s"
    with (
        TableReader(tmp_path / "t.csv", ImportOptions()) as reader,
        pytest.raises(ReaderCrashed, match=match),
    ):
        list(reader)
