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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from simlabel.support.text import for_terminal, one_line

FAILED, INTERRUPTED = 1, 130
_EXPECTED = (ValueError, OSError, ImportError, LookupError, MemoryError)  # what users can do something about

Report = Callable[[int, int, str], None]


class Terminal(Console):
    """A console to which every text is data: no markup, no emoji by name, no control characters.

    What is to look different is a `Text` with a style.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text, of a line or of a cell, ready to be shown."""
        return super().render_str(for_terminal(text), **options)


def guarded(verb: Callable[..., Any]) -> Callable[..., Any]:
    """Turn errors into one line and exit code 1; with ``--debug`` they come with their trace."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return verb(*args, **kwargs)
        except KeyboardInterrupt:
            say("", mark="stopped")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            raise  # nobody reads on: `main` ends without a word
        except Exception as error:
            if kwargs.get("debug") or type(error).__module__.partition(".")[0] in ("typer", "click"):
                raise
            known = isinstance(error, _EXPECTED) and not isinstance(error, KeyError)
            text = str(error) if known and str(error) else f"{type(error).__name__}: {error}"
            say(text if known else f"{text} (--debug shows the trace)", mark="error", style="bold red")
            raise typer.Exit(FAILED) from None

    return run


def say(text: object, *, mark: str = "", style: str = "bold") -> None:
    """A line on stderr, with a word in front that says what kind of line it is."""
    parts = [(mark, style), ": " if mark and text else "", one_line(text)]
    Terminal(stderr=True, soft_wrap=True).print(Text.assemble(*parts))


def show_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")


@contextmanager
def progress(description: str) -> Iterator[Report]:
    """A bar on stderr with what is being done and the time left."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total, description=for_terminal(what)
        )
