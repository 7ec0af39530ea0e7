"""How the verbs speak: tables and figures on stdout, progress and errors on stderr, exit codes."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.text import Text

from simlabel._utils.text import for_terminal, one_line
from simlabel.cli._wording import in_shell

FAILED, INTERRUPTED = 1, 130
_EXPECTED = (ValueError, OSError, ImportError, LookupError, MemoryError)  # what users can do something about


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
    """Turn errors into one line and exit code 1; with ``--debug`` they come with their trace.

    Warnings are a line too, each said once.
    """
    options = list(inspect.signature(verb).parameters)

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with _warnings_said(options):
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
            text = in_shell(text, options) if known else f"{text} (--debug shows the trace)"
            say(text, mark="error", style="bold red")
            raise typer.Exit(FAILED) from None

    return run


@contextmanager
def _warnings_said(options: Collection[str]) -> Iterator[None]:
    said: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_shell(str(message), options)
        if text not in said:
            said.add(text)
            note(text, mark="warning")

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


def note(text: object, *, mark: str = "note") -> None:
    """A line on stderr about what should be looked at."""
    say(text, mark=mark, style="bold yellow")


def say(text: object, *, mark: str = "", style: str = "bold") -> None:
    """A line on stderr, with a word in front that says what kind of line it is."""
    parts = [(mark, style), ": " if mark and text else "", one_line(text)]
    Terminal(stderr=True, soft_wrap=True).print(Text.assemble(*parts))


def show_json(value: Any) -> None:
    """One JSON document on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")
