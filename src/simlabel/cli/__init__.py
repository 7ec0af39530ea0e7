"""The command line: `main` runs the `simlabel` program, `app` is its typer application."""

from simlabel.cli._app import app, main

__all__ = ["app", "main"]
