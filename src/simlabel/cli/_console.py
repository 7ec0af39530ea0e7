"""How the verbs speak: tables and figures on stdout, progress and errors on stderr, exit codes."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

FAILED, INTERRUPTED = 1, 130
_EXPECTED = (ValueError, OSError, ImportError, LookupError, MemoryError)  # what users can do something about

Report = Callable[[int, int, str], None]


def guarded(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors into one line and exit code 1; with ``--debug`` they come with their trace."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return verb(*args, **kwargs)
        except KeyboardInterrupt:
            say("[bold]stopped[/]")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # nobody reads on: `main` ends without a word
        except Exception as error:
            if kwargs.get("debug") or type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            known = isinstance(error, _EXPECTED) and not isinstance(error, KeyError)
            text = str(error) if known and str(error) else f"{type(error).__name__}: {error}"
            hint = "" if known else " (--debug shows the trace)"
            say(f"[bold red]error[/]: {escape(text)}{hint}")
            raise typer.Exit(FAILED) from None

    return run


def say(markup: str) -> None:
    """A line on stderr."""
    Console(stderr=True, soft_wrap=True).print(markup, highlight=False)


def show_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")


@contextmanager
def progress(description: str) -> Iterator[Report]:
    """A bar on stderr with what is being done and the time left."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=escape(what)
        )
