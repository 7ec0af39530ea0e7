"""The verbs."""

from __future__ import annotations

import sys

import typer

from simlabel.cli._compare import compare_verb
from simlabel.cli._console import INTERRUPTED
from simlabel.cli._datasets import datasets_verb
from simlabel.cli._demo import demo_verb
from simlabel.cli._evaluate import evaluate_verb
from simlabel.cli._explain import explain_verb
from simlabel.cli._fit import fit_verb
from simlabel.cli._predict import predict_verb
from simlabel.cli._reproduce import reproduce_verb
from simlabel.cli._signals import ended_by_signals, leave_reader

app = typer.Typer(
    help="Similarity-based multi-label learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root() -> None:
    """Similarity-based multi-label learning."""


for _name, _verb in {
    "demo": demo_verb,
    "datasets": datasets_verb,
    "fit": fit_verb,
    "predict": predict_verb,
    "evaluate": evaluate_verb,
    "explain": explain_verb,
    "compare": compare_verb,
    "reproduce": reproduce_verb,
}.items():
    app.command(_name)(_verb)


def main() -> None:
    """Run the command line; what is half written goes when it is stopped, and there is no trace.

    Ctrl-C ends it with code 130, SIGTERM with 143, SIGHUP with 129, and a reader that leaves (``| head``)
    with 141, as a shell has it for a program that a signal ends.
    """
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
        except SystemExit as left:
            if isinstance(left.__context__, BrokenPipeError):  # rich and click make 1 of it
                leave_reader()
            raise
