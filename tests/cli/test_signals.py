"""Signals, and readers that close the pipe, end the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial

import pytest

from simlabel.cli._writing import write_table

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

_MAIN = "import sys; from simlabel.cli import main; sys.argv[0] = 'simlabel'; main()"
_WAITING = """
import sys
from pathlib import Path

from simlabel.cli import app, main
from simlabel.cli._console import command
from simlabel.cli._writing import write_table


def rows():
    yield [0, "a"]
    print("ready", flush=True)
    sys.stdin.read()


def wait(output: Path) -> None:
    write_table(output, "csv", ["row", "labels"], rows())


app.command()(command(wait))
main()
"""


def stopped(path, number, first=""):
    """The exit code of a process that is stopped while it writes, and its stderr."""
    words = [sys.executable, "-c", first + _WAITING, "wait", str(path)]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    base_rate = partial(
        signal.signal, signal.SIGHUP, signal.SIG_DFL
    )  # it stays ignored where nohup runs tests
    with subprocess.Popen(words, text=True, preexec_fn=base_rate, **streams) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        message = process.communicate(timeout=120)[1]
    return process.returncode, message


@pytest.mark.parametrize(
    ("name", "code", "message"), [("SIGTERM", 143, ""), ("SIGHUP", 129, ""), ("SIGINT", 130, "stopped\n")]
)
def test_a_signal_leaves_the_old_file_and_nothing_else(tmp_path, name, code, message):
    path = tmp_path / "out.csv"
    path.write_text("old")
    assert stopped(path, getattr(signal, name)) == (code, message)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_killed_process_leaves_goes_with_the_next_run(tmp_path):
    path = tmp_path / "out.csv"
    assert stopped(path, signal.SIGKILL)[0] == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 1
    write_table(path, "csv", ["row", "labels"], [[0, "a"]])
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "row,labels\n0,a\n"


def test_a_signal_that_is_ignored_stays_so(tmp_path):
    path = tmp_path / "out.csv"
    nohup = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    assert stopped(path, signal.SIGHUP, nohup) == (0, "")
    assert path.read_text() == "row,labels\n0,a\n"


def test_the_library_handles_no_signal():
    code = (
        "import signal; before = [signal.getsignal(n) for n in signal.valid_signals()]; import simlabel.cli; "
    )
    code += "assert before == [signal.getsignal(n) for n in signal.valid_signals()]"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


@pytest.mark.parametrize("words", [["--help"], ["compare", "--list", "--json"]])
def test_a_reader_that_leaves_is_no_error(words):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        found = subprocess.run(
            [sys.executable, "-c", _MAIN, *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
        )
    finally:
        os.close(writer)
    assert (found.returncode, found.stderr) == (141, "")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_output_into_a_pipe(tmp_path, kind):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write_table(path, kind, ["row", "labels"], [[0, "a" if kind == "csv" else ["a"]]])
    reader.join(60)
    assert read[0].startswith(b"row,labels\n0,a\n" if kind == "csv" else b"PAR1")
    assert path.is_fifo()
