"""Reports on comparisons, reproductions and models: one self-contained HTML file, Markdown or LaTeX."""

from simlabel.experiments.reports._document import (
    Example,
    Examples,
    Picture,
    Pictures,
    Report,
    Section,
    Table,
    TableCell,
    TextBlock,
    check_report_path,
    to_html,
    to_latex,
    to_markdown,
    write_report,
)
from simlabel.experiments.reports._reports import comparison_report, evaluation_report, reproduction_report
from simlabel.experiments.reports._sections import comparison_tables, guarantee_table, published_table

__all__ = [
    "comparison_report",
    "reproduction_report",
    "evaluation_report",
    "comparison_tables",
    "guarantee_table",
    "published_table",
    "write_report",
    "check_report_path",
    "to_html",
    "to_markdown",
    "to_latex",
    "Report",
    "Section",
    "Table",
    "TableCell",
    "TextBlock",
    "Picture",
    "Pictures",
    "Example",
    "Examples",
]
