"""The parts of a report, and how it is written as HTML, Markdown and LaTeX."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from itertools import count
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from simlabel._utils.text import for_markdown, for_terminal, for_tex
from simlabel.experiments._store import write_atomically


@dataclass(frozen=True)
class TableCell:
    """One cell of a table; `heat` between 0 and 1 sets its color."""

    text: str
    best: bool = False
    heat: float | None = None


@dataclass(frozen=True)
class Table:
    """A table; its first column names the rows.

    Attributes
    ----------
    headings : tuple of str
    rows : tuple of tuple of TableCell
    caption : str
    folded : bool
        In HTML, collapsed at first: for long tables.
    upright : bool
        In HTML, headings are written vertically: for many narrow columns.
    """

    headings: tuple[str, ...]
    rows: tuple[tuple[TableCell, ...], ...]
    caption: str
    folded: bool = False
    upright: bool = False


@dataclass(frozen=True)
class Picture:
    """An SVG drawing; only HTML shows it."""

    svg: str
    caption: str


@dataclass(frozen=True)
class Pictures:
    """Small drawings side by side, as many as the width allows."""

    pictures: tuple[Picture, ...]


@dataclass(frozen=True)
class TextBlock:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Example:
    """One row: its predicted and true labels, and the references that determine them.

    Attributes
    ----------
    title : str
    predicted : tuple of (str, bool)
        Names, strongest first, and whether they are true.
    missed : tuple of str
        True labels that were not predicted.
    reasons : tuple of str
        References with their shares, as text.
    """

    title: str
    predicted: tuple[tuple[str, bool], ...]
    missed: tuple[str, ...]
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Examples:
    """Several rows."""

    examples: tuple[Example, ...]


DocumentBlock = Table | Picture | Pictures | TextBlock | Examples


@dataclass(frozen=True)
class Section:
    """A heading and the blocks below it."""

    title: str
    blocks: tuple[DocumentBlock, ...]


@dataclass(frozen=True)
class Report:
    """A whole report.

    Attributes
    ----------
    title, subtitle : str
    facts : tuple of (str, str)
        Names and values at the head of the page.
    sections : tuple of Section
    """

    title: str
    subtitle: str
    facts: tuple[tuple[str, str], ...]
    sections: tuple[Section, ...] = field(default=())


def table(headings: Sequence[str], rows: Sequence[Sequence[object]], caption: str, **options: bool) -> Table:
    """Make a table of cells and bare texts."""
    cells = tuple(
        tuple(cell if isinstance(cell, TableCell) else TableCell(str(cell)) for cell in row) for row in rows
    )
    return Table(tuple(headings), cells, caption, **options)


@lru_cache(maxsize=1)
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("simlabel.experiments.reports", "."),
        autoescape=True,
        finalize=lambda value: value if isinstance(value, Markup) else for_terminal(value),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["kind"] = lambda block: type(block).__name__
    return environment.get_template("report.html.jinja")


def to_html(report: Report) -> str:
    """Return a report as one HTML page that includes its styles and drawings and loads nothing."""
    style = resources.files("simlabel.experiments.reports").joinpath("report.css").read_text(encoding="utf-8")
    return _template().render(report=report, style=Markup(style), drawing=Markup)


def to_markdown(report: Report) -> str:
    """Return the texts and tables of a report as Markdown.

    Examples
    --------
    >>> table = Table(("Who", "Loss ↓"), ((TableCell("SML"), TableCell("0.193", best=True)),), "Losses")
    >>> page = Report("Title", "ten folds", (), (Section("All", (table,)),))
    >>> print(to_markdown(page))
    # Title
    <BLANKLINE>
    ten folds
    <BLANKLINE>
    ## All
    <BLANKLINE>
    Losses
    <BLANKLINE>
    | Who | Loss ↓ |
    | :-- | --: |
    | SML | **0.193** |
    <BLANKLINE>
    """
    parts = [f"# {for_markdown(report.title)}", for_markdown(report.subtitle)]
    if report.facts:
        parts.append(for_markdown(", ".join(f"{value} {what}" for what, value in report.facts)))
    for section in report.sections:
        parts.append(f"## {for_markdown(section.title)}")
        for block in _printable(section):
            if isinstance(block, TextBlock):
                parts.append(for_markdown(block.text))
            else:
                parts += [for_markdown(block.caption), _markdown_table(block)]
    return "\n\n".join(parts) + "\n"


def _printable(section: Section) -> list[TextBlock | Table]:
    """Return the blocks of a section without drawings, with examples as a table."""
    blocks = [_example_table(block) if isinstance(block, Examples) else block for block in section.blocks]
    return [block for block in blocks if isinstance(block, TextBlock | Table)]


def _example_table(block: Examples) -> Table:
    rows = []
    for example in block.examples:
        predicted = ", ".join(name if true else f"{name} (wrong)" for name, true in example.predicted)
        rows.append((example.title, predicted, ", ".join(example.missed), "; ".join(example.reasons)))
    return table(("Row", "Predicted", "Missed", "Reasons"), rows, "Examples")


def _markdown_table(block: Table) -> str:
    def line(cells: Sequence[TableCell]) -> str:
        texts = [(for_markdown(cell.text), cell.best) for cell in cells]
        return f"| {' | '.join(f'**{text}**' if best else text for text, best in texts)} |"

    rule = f"| {' | '.join([':--', *['--:'] * (len(block.headings) - 1)])} |"
    return "\n".join([line([TableCell(heading) for heading in block.headings]), rule, *map(line, block.rows)])


def to_latex(report: Report) -> str:
    r"""Return the texts and tables of a report as a LaTeX document; each table has a label.

    The document needs ``booktabs`` and ``graphicx``; compile names in scripts that pdflatex lacks with
    lualatex.

    Examples
    --------
    >>> row = (TableCell("SML"), TableCell("0.193 ± 0.013", best=True))
    >>> table = Table(("Who", "Loss_1 ↓"), (row,), "Losses")
    >>> page = Report("Title", "ten folds", (), (Section("All", (table,)),))
    >>> print(to_latex(page))
    \documentclass{article}
    \usepackage{booktabs,graphicx}
    \title{Title}
    \date{}
    \begin{document}
    \maketitle
    ten folds
    \section{All}
    \begin{table}
      \centering
      \caption{Losses}\label{tab:1-all}
      \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%
      \begin{tabular}{lr}
        \toprule
        Who & Loss\_1 $\downarrow$ \\
        \midrule
        SML & \textbf{0.193 $\pm$ 0.013} \\
        \bottomrule
      \end{tabular}}
    \end{table}
    \clearpage
    \end{document}
    <BLANKLINE>
    """
    numbers = count(1)
    parts = [
        r"\documentclass{article}",
        r"\usepackage{booktabs,graphicx}",
        rf"\title{{{for_tex(report.title)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
        for_tex(report.subtitle),
    ]
    for section in report.sections:
        parts.append(rf"\section{{{for_tex(section.title)}}}")
        slug = re.sub(r"[^a-z0-9]+", "-", section.title.lower()).strip("-")
        for block in _printable(section):
            if isinstance(block, TextBlock):
                parts.append(f"{for_tex(block.text)}\n")
            else:
                parts.append(_latex_table(block, f"tab:{next(numbers)}-{slug}"))
        parts.append(r"\clearpage")  # LaTeX fails if too many floats are pending
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def _latex_table(block: Table, label: str) -> str:
    def line(cells: Sequence[TableCell]) -> str:
        texts = [(for_tex(cell.text), cell.best) for cell in cells]
        return "    " + " & ".join(rf"\textbf{{{text}}}" if best else text for text, best in texts) + r" \\"

    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{for_tex(block.caption)}}}\label{{{label}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",  # no wider than the page
        rf"  \begin{{tabular}}{{l{'r' * (len(block.headings) - 1)}}}",
        r"    \toprule",
        line([TableCell(heading) for heading in block.headings]),
        r"    \midrule",
        *map(line, block.rows),
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


_FORMATS: dict[str, Callable[[Report], str]] = {
    ".html": to_html,
    ".htm": to_html,
    ".md": to_markdown,
    ".tex": to_latex,
}


def check_report_path(path: str | os.PathLike[str]) -> None:
    """Check the ending of a file name, before hours of computation."""
    if Path(path).suffix.lower() not in _FORMATS:
        raise ValueError(f"a report ends in {', '.join(_FORMATS)}; got {os.fspath(path)!r}.")


def write_report(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as HTML (.html), Markdown (.md) or LaTeX (.tex), completely or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(Report("Nothing yet", "no data", ()), path)
    >>> path.read_text().splitlines()[0]
    '<!doctype html>'
    """
    check_report_path(path)
    write_atomically(Path(path), _FORMATS[Path(path).suffix.lower()](report))
