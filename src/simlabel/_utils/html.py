"""Small pieces of HTML for notebooks: whatever came from data is escaped on the way in."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from simlabel._utils.text import for_terminal

_CELL = "text-align:left;padding:0.15em 1em 0.15em 0"  # a page's own colours, light or dark
_CAPTION = "text-align:left;font-style:italic;padding:0.6em 0 0.2em"


def escaped(text: object) -> str:
    """Show a text as it is, whatever stands in it.

    Examples
    --------
    >>> escaped("<b>sea</b>")
    '&lt;b&gt;sea&lt;/b&gt;'
    """
    return html.escape(for_terminal(text))


def element(name: str, inside: str) -> str:
    """An element around what is HTML already.

    Examples
    --------
    >>> element("p", escaped("a < b"))
    '<p>a &lt; b</p>'
    """
    return f"<{name}>{inside}</{name}>"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """A table; headings and caption are texts, cells are HTML already."""
    head = element("tr", "".join(f'<th scope="col" style="{_CELL}">{escaped(h)}</th>' for h in headings))
    body = "".join(element("tr", "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row)) for row in rows)
    named = f'<caption style="{_CAPTION}">{escaped(caption)}</caption>' if caption else ""
    return f"<table>{named}<thead>{head}</thead><tbody>{body}</tbody></table>"
