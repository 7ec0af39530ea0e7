"""A process of the tagging server that runs a function of this package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def start_child(main: str, *arguments: Path | float) -> subprocess.Popen[str]:
    """Start a Python process that runs some code and talks in lines of text."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", main, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a warning may quote what people wrote
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        start_new_session=True,  # Ctrl-C is for the server, which ends this process
        encoding="utf-8",
    )
