"""Reports as one HTML file that needs nothing else."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from simlabel._utils.text import for_terminal
from simlabel.experiments.reports._page import Report


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
    """The whole page; styles and drawings are inside, and nothing is fetched."""
    style = resources.files("simlabel.experiments.reports").joinpath("report.css").read_text(encoding="utf-8")
    return _template().render(report=report, style=Markup(style), drawing=Markup)
