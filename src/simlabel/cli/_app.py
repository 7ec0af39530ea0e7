"""The `simlabel` program: its commands, its standard streams, and how signals end it."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from simlabel import __version__
from simlabel.cli._changes import correct_command, forget_command, teach_command
from simlabel.cli._console import FAILED, INTERRUPTED, say
from simlabel.cli._data import columns_command, datasets_command
from simlabel.cli._experiments import compare_command, demo_command, reproduce_command
from simlabel.cli._fit import fit_command
from simlabel.cli._inspect import evaluate_command, explain_command, suggest_command, suspicious_command
from simlabel.cli._predict import predict_command
from simlabel.cli._server import backup_command, serve_command

_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
_READER_GONE = 141  # 128 + SIGPIPE, which some systems do not define

app = typer.Typer(
    help="Similarity-based multi-label learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# none of these modules imports NumPy or pandas before a command runs, so that --help is fast
for function in (
    *(demo_command, datasets_command, columns_command, fit_command, predict_command, evaluate_command),
    *(explain_command, teach_command, correct_command, forget_command, suspicious_command, suggest_command),
    *(compare_command, reproduce_command, serve_command, backup_command),
):
    app.command(function.__name__.removesuffix("_command"))(function)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"simlabel {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Similarity-based multi-label learning."""


def main() -> None:
    """Run the command line.

    The exit code is 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP and 141 if the reader of stdout
    has closed it (``| head``). No traceback is printed, and incomplete files are removed.
    """
    _prepare_streams()
    with _signals_as_exit():
        try:
            try:
                app()
            finally:
                sys.stdout.flush()  # here, where errors are handled, and not when Python shuts down
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            _exit_without_reader()
        except OSError as error:  # from the last flush; `command` reports all others
            say(f"stdout: {error.strerror or error}", mark="error", style="bold red")
            _discard_output()
            sys.exit(FAILED)
        except SystemExit as left:
            if isinstance(left.__context__, BrokenPipeError):  # rich and click turn it into exit code 1
                _exit_without_reader()
            raise


def _prepare_streams() -> None:
    """Handle closed standard streams, characters that the encoding lacks, and a terminal width of 0.

    Writing to a closed stdout (``>&-``) fails with an error; output to a closed stderr is discarded.
    """
    # reserve both descriptors: otherwise the next file that is opened would receive the printed text
    if sys.stdout is None:
        sys.stdout = _open_null_device(1, os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _open_null_device(2, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "1")
    if not columns.isdigit() or int(columns) == 0:  # rich would print lines of no width
        del os.environ["COLUMNS"]


def _open_null_device(descriptor: int, flags: int) -> io.TextIOWrapper:
    """Open the null device as a standard stream; if `flags` say read-only, writing to it fails."""
    handle = os.open(os.devnull, flags)
    if handle != descriptor:
        os.dup2(handle, descriptor)
        os.close(handle)
    return open(descriptor, "w", encoding="utf-8", closefd=False)


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_without_reader() -> NoReturn:
    _discard_output()
    sys.exit(_READER_GONE)


@contextmanager
def _signals_as_exit() -> Iterator[None]:
    """Raise SystemExit on SIGTERM and SIGHUP, so that temporary files are removed.

    A second signal ends the process at once. Signals that are ignored, as under nohup, stay ignored.
    """
    handled = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]

    def restore() -> None:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)

    def end(number: int, frame: Any) -> NoReturn:
        restore()
        sys.exit(128 + number)

    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        restore()
