"""Terminal output, and the decorator that makes a function a command."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from simlabel._utils.text import for_terminal, one_line

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.experiments.reports import Table as ReportTable

FAILED, INTERRUPTED = 1, 130
_EXPECTED = (ValueError, OSError, ImportError, LookupError, MemoryError)  # errors that users can resolve
_LIST_FORMATS = ("csv", "xlsx", "jsonl")
_DEBUG = inspect.Parameter(
    "debug",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")],
)


class Terminal(Console):
    """A console that prints every text literally: no markup, no emoji names, no control characters.

    Pass a `Text` with a style where text is to be formatted.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Escape control characters in the text of a line or a cell."""
        return super().render_str(for_terminal(text), **options)


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command: expand its groups of options, add --debug, report errors in one line.

    A parameter annotated with a dataclass stands for an option for each field; ``Annotated[Group, names]``
    selects some of the fields. An error that users can resolve is printed without a traceback, with exit
    code 1. Each distinct warning is printed once.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, tuple[Any, list[str]]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        group, *rest = get_args(parameter.annotation) or [parameter.annotation]
        if is_dataclass(group):
            options = _options(group, rest[0] if rest else None)
            groups[parameter.name] = group, [option.name for option in options]
            parameters += options
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(function)
    def run(debug: bool, **values: Any) -> None:
        with _reported_errors(debug), _reported_warnings():
            for name, (group, options) in groups.items():
                values[name] = group(**{option: values.pop(option) for option in options})
            function(**values)

    run.__annotations__ = {}
    run.__signature__ = inspect.Signature([*parameters, _DEBUG])  # type: ignore[attr-defined]
    return run


def _options(group: Any, names: Sequence[str] | None) -> list[inspect.Parameter]:
    """Return the parameters for the fields of a group of options, or for those in `names`."""
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(field.name, kind, default=field.default, annotation=hints[field.name])
        for field in fields(group)
        if names is None or field.name in names
    ]


@contextmanager
def _reported_errors(debug: bool) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        say("", mark="stopped")
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        raise  # the reader has left: `main` exits without a message
    except Exception as error:
        if debug or type(error).__module__.partition(".")[0] in ("typer", "click"):
            raise
        expected = isinstance(error, _EXPECTED) and not isinstance(error, KeyError)
        text = str(error) if expected and str(error) else f"{type(error).__name__}: {error}"
        hint = "" if expected else " (--debug shows the traceback)"
        say(text + hint, mark="error", style="bold red")
        raise typer.Exit(FAILED) from None


@contextmanager
def _reported_warnings() -> Iterator[None]:
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            note(message, mark="warning")

    with warnings.catch_warnings():
        warnings.filterwarnings("always", category=UserWarning)
        warnings.showwarning = show
        yield


def note(text: object, *, mark: str = "note") -> None:
    """Print a line to stderr that deserves attention."""
    say(text, mark=mark, style="bold yellow")


def say(text: object, *, mark: str = "", style: str = "bold") -> None:
    """Print a line to stderr, after a word that tells its kind."""
    parts = [(mark, style), ": " if mark and text else "", one_line(text)]
    Terminal(stderr=True, soft_wrap=True).print(Text.assemble(*parts))


def count(n: int, noun: str) -> str:
    """Return a number with its noun: '1 row', '2 rows'."""
    return f"{n:,} {noun}{'s' * (n != 1)}"


def show_table(
    headings: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, *, numbers: bool = True
) -> None:
    """Print a table to stdout; columns after the first hold `numbers`, which are aligned to the right."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for position, heading in enumerate(headings):
        first = position == 0
        table.add_column(heading, justify="right" if numbers and not first else "left", no_wrap=first)
    for row in rows:
        table.add_row(*row)
    Terminal().print(table)


def show_report_table(table: ReportTable, *, compact: bool = False) -> None:
    """Print a table of a report to stdout; `compact` saves the spaces around "±"."""
    plus_minus = "±" if compact else " ± "
    rows = [
        [
            Text(for_terminal(cell.text.replace(" ± ", plus_minus)), "bold" if cell.best else "")
            for cell in row
        ]
        for row in table.rows
    ]
    show_table(table.headings, rows, table.caption)


def show_json(value: Any) -> None:
    """Print one JSON document to stdout."""
    sys.stdout.write(json.dumps(value, indent=2, allow_nan=False, default=str) + "\n")


def records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a data frame as dicts, with None for missing values."""
    objects = frame.astype(object)
    return objects.where(objects.notna(), None).to_dict("records")


def check_list_path(output: Path) -> str:
    """Return the format of a file that a list is written to; other endings are an error."""
    kind = output.suffix.lower().removeprefix(".")
    if kind not in _LIST_FORMATS:
        raise typer.BadParameter(f"--output must end in .csv, .xlsx or .jsonl, got {str(output)!r}.")
    return kind


def write_frame(frame: pd.DataFrame, output: Path, spreadsheet_safe: bool = True) -> None:
    """Write a data frame to a file, which is replaced only if all went well."""
    from simlabel.cli._writing import write_table

    kind = check_list_path(output)
    rows = ([*record.values()] for record in records(frame))
    write_table(output, kind, list(frame.columns), rows, spreadsheet_safe=spreadsheet_safe)
    say(f"wrote {count(len(frame), 'row')} to {output}")
