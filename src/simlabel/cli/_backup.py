"""`simlabel backup`: a copy of a tagging desk, while it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simlabel.cli import _options as options
from simlabel.cli._console import guarded, say


@guarded
def backup_verb(
    desk: Annotated[Path, typer.Argument(help="The folder of a desk.", exists=True)],
    file: Annotated[Path, typer.Argument(help="Where the copy goes; `simlabel serve FILE` opens it.")],
    debug: options.Debug = False,
) -> None:
    """Copy a tagging desk to one file, model included; it may be running."""
    from simlabel.server import backup

    say(f"wrote {file}: {backup(desk, file):,} bytes")
