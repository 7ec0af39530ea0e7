"""A report into a file; the ending says in what form."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from simlabel.experiments._store import write_atomically
from simlabel.experiments.reports._html import to_html
from simlabel.experiments.reports._page import Report
from simlabel.experiments.reports._text import to_latex, to_markdown

FORMS: dict[str, Callable[[Report], str]] = {
    ".html": to_html,
    ".htm": to_html,
    ".md": to_markdown,
    ".tex": to_latex,
}


def check_report_path(path: str | os.PathLike[str]) -> None:
    """Refuse an unknown ending, before hours of work are done for it."""
    ending = Path(path).suffix.lower()
    if ending not in FORMS:
        raise ValueError(f"a report ends in {', '.join(FORMS)}; got {os.fspath(path)!r}.")


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as HTML (.html), Markdown (.md) or LaTeX (.tex), whole or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(Report("Nothing yet", "no data", ()), path)
    >>> path.read_text().splitlines()[0]
    '<!doctype html>'
    """
    check_report_path(path)
    write_atomically(Path(path), FORMS[Path(path).suffix.lower()](report))
