"""The command line."""

from simlabel.cli._app import main

__all__ = ["main"]
