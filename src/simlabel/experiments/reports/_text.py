"""Reports as Markdown and as LaTeX; drawings are for HTML only."""

from __future__ import annotations

import re
from itertools import count

from simlabel._utils.text import for_markdown, for_tex
from simlabel.experiments.reports._page import Cell, Examples, Report, Table, Text


def to_markdown(report: Report) -> str:
    """All texts and tables as Markdown.

    Examples
    --------
    >>> from simlabel.experiments.reports._page import Section, table
    >>> rows = [["SML", Cell("0.193", best=True)], ["a|b", "0.194"]]
    >>> section = Section("All", (table(["Who", "Loss ↓"], rows, "Losses"),))
    >>> page = Report("Title", "ten folds", (), (section,))
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
    | a\\|b | 0.194 |
    <BLANKLINE>
    """
    parts = [f"# {for_markdown(report.title)}", for_markdown(report.subtitle)]
    if report.facts:
        parts.append(for_markdown(", ".join(f"{value} {what}" for what, value in report.facts)))
    for section in report.sections:
        parts.append(f"## {for_markdown(section.title)}")
        for block in section.blocks:
            if isinstance(block, Text):
                parts.append(for_markdown(block.text))
            elif isinstance(block, Table):
                parts += [for_markdown(block.caption), _markdown_table(block)]
            elif isinstance(block, Examples):
                parts.append(_markdown_table(_example_table(block)))
    return "\n\n".join(parts) + "\n"


def _markdown_table(block: Table) -> str:
    def line(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    rows = [line([_markdown(Cell(heading)) for heading in block.headings])]
    rows.append(line([":--", *["--:"] * (len(block.headings) - 1)]))
    rows += [line([_markdown(cell) for cell in row]) for row in block.rows]
    return "\n".join(rows)


def _markdown(cell: Cell) -> str:
    text = for_markdown(cell.text)
    return f"**{text}**" if cell.best else text


def _example_table(block: Examples) -> Table:
    rows = []
    for example in block.examples:
        predicted = ", ".join(name if right else f"{name} (wrong)" for name, right in example.predicted)
        cells = (example.title, predicted, ", ".join(example.missed), "; ".join(example.reasons))
        rows.append(tuple(Cell(cell) for cell in cells))
    return Table(("Instance", "Predicted", "Missed", "Because of"), tuple(rows), "Examples")


def to_latex(report: Report) -> str:
    r"""All texts and tables as a LaTeX document; a table, which has a label, can be taken out of it.

    It needs ``booktabs`` and ``graphicx``; names in scripts that pdflatex lacks compile with lualatex.

    Examples
    --------
    >>> from simlabel.experiments.reports._page import Section, table
    >>> rows = [["SML", Cell("0.193 ± 0.013", best=True)]]
    >>> section = Section("All", (table(["Who", "Loss_1 ↓"], rows, "Losses"),))
    >>> page = Report("Title", "ten folds", (), (section,))
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
    title, numbers = for_tex(report.title), count(1)
    head = [r"\documentclass{article}", r"\usepackage{booktabs,graphicx}", rf"\title{{{title}}}", r"\date{}"]
    parts = [*head, r"\begin{document}", r"\maketitle", for_tex(report.subtitle)]
    for section in report.sections:
        parts.append(rf"\section{{{for_tex(section.title)}}}")
        for block in section.blocks:
            if isinstance(block, Text):
                parts.append(f"{for_tex(block.text)}\n")
            elif isinstance(block, Table | Examples):
                shown = block if isinstance(block, Table) else _example_table(block)
                parts.append(_latex_table(shown, f"tab:{next(numbers)}-{_slug(section.title)}"))
        parts.append(r"\clearpage")  # there is room for so many tables that wait for a place, and no more
    return "\n".join([*parts, r"\end{document}"]) + "\n"


def _slug(title: str) -> str:
    """Of a title what a label may hold."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _latex_table(block: Table, label: str) -> str:
    columns = "l" + "r" * (len(block.headings) - 1)
    body = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in block.rows]
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{for_tex(block.caption)}}}\label{{{label}}}",
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",  # no wider than the page
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        "    " + " & ".join(for_tex(heading) for heading in block.headings) + r" \\",
        r"    \midrule",
        *(f"    {line}" for line in body),
        r"    \bottomrule",
        r"  \end{tabular}}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _latex(cell: Cell) -> str:
    return rf"\textbf{{{for_tex(cell.text)}}}" if cell.best else for_tex(cell.text)
