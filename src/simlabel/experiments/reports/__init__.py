"""Reports: one self-contained HTML file, and the same as Markdown and LaTeX."""

from simlabel.experiments.reports._build import comparison_report, evaluation_report, reproduction_report
from simlabel.experiments.reports._html import to_html
from simlabel.experiments.reports._page import Report
from simlabel.experiments.reports._text import to_latex, to_markdown
from simlabel.experiments.reports._write import check_report_path, write_report

__all__ = [
    "comparison_report",
    "reproduction_report",
    "evaluation_report",
    "write_report",
    "check_report_path",
    "to_html",
    "to_markdown",
    "to_latex",
    "Report",
]
