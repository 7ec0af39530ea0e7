"""The verbs, each loaded when it is asked for: the list of them needs no more than their first lines."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from simlabel import __version__
from simlabel.cli._console import FAILED, INTERRUPTED, say
from simlabel.cli._signals import ended_by_signals, leave_reader
from simlabel.cli._streams import drop_output, prepare_streams

# the verb x is the function x_verb of the module _x
_VERBS = (
    *("demo", "datasets", "columns", "fit", "predict", "evaluate", "explain"),
    *("teach", "correct", "forget", "suspicious", "suggest", "compare", "reproduce", "serve", "backup"),
)


class _Verbs(TyperGroup):
    """Lists verbs by what their modules say of them, and imports the one that is used."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands.update({verb: TyperCommand(verb, help=_docstring(verb)) for verb in _VERBS})

    def resolve_command(  # type: ignore[override]
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, _loaded(name) if name in _VERBS else command, rest


def _docstring(verb: str) -> str | None:
    """Of a verb, read without an import."""
    text = Path(__file__).with_name(f"_{verb}.py").read_text(encoding="utf-8")
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return next(ast.get_docstring(node) for node in functions if node.name == f"{verb}_verb")


def _loaded(verb: str) -> TyperCommand:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(verb)(getattr(import_module(f"simlabel.cli._{verb}"), f"{verb}_verb"))
    command = typer.main.get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


app = typer.Typer(
    cls=_Verbs,
    help="Similarity-based multi-label learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        print(f"simlabel {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and leave."),
    ] = False,
) -> None:
    """Similarity-based multi-label learning."""


def main() -> None:
    """Run the command line; what is half written goes when it is stopped, and there is no trace.

    Ctrl-C ends it with code 130, SIGTERM with 143, SIGHUP with 129, and a reader that leaves (``| head``)
    with 141, as a shell has it for a program that a signal ends.
    """
    prepare_streams()
    with ended_by_signals():
        try:
            try:
                app()
            finally:
                sys.stdout.flush()  # here, where an error is heard, and not when Python ends
        except KeyboardInterrupt:
            sys.exit(INTERRUPTED)
        except BrokenPipeError:
            leave_reader()
        except OSError as error:  # of the last flush: `guarded` reports all others
            say(f"stdout: {error.strerror or error}", mark="error", style="bold red")
            drop_output()
            sys.exit(FAILED)
        except SystemExit as left:
            if isinstance(left.__context__, BrokenPipeError):  # rich and click make 1 of it
                leave_reader()
            raise
