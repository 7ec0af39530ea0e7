r"""Escape texts for each output medium, and format numbers and lists in messages.

Names of labels, ids, columns and files are data. Pass them through one of these functions, so that no name is
interpreted as markup, as a formula or as a control sequence of a terminal.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

# Unicode categories of invisible characters that terminals and pages interpret: control characters, line and
# paragraph separators, lone surrogates (which cannot be encoded at all)
_CONTROL = frozenset(["Cc", "Zl", "Zp", "Cs"])
# and the marks that change the direction of writing
_BIDIRECTIONAL = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # for a matplotlib text, with `for_figure`

_TEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"$<$",
    ">": r"$>$",
    "±": r"$\pm$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "·": r"$\cdot$",
    "…": r"\ldots{}",
    # after the end of a row LaTeX would interpret these as options
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
}
_MARKDOWN = re.compile(
    r"""[\\`*_\[\]<>&~|$@]              # anywhere
      | (?<=www)\. | :(?=//)            # links that need no brackets
      | ^\# | ^[-+=](?=[-+=]*(?:\s|$))  # headings, lists and rules
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")
_LATER_FORMULA = re.compile(r"(?<=[;\t\r\n])( *)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # the last four are wide forms of the first


_CELL = "text-align:left;padding:0.15em 1em 0.15em 0"  # inherits the colors of the page, light or dark
_CAPTION = "text-align:left;font-style:italic;padding:0.6em 0 0.2em"


def for_terminal(text: object) -> str:
    r"""Escape control characters and marks that change the direction of writing.

    Examples
    --------
    >>> print(for_terminal("sea\x1b[31m\nsunset"))
    sea\x1b[31m\nsunset
    """
    shown = str(text)
    if shown.isprintable():  # the common case, and quick
        return shown
    return "".join(_visible(character) for character in shown)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _CONTROL and character not in _BIDIRECTIONAL:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def format_names(names: Sequence[str], most: int = 5) -> str:
    """List the first names, and the number of the others.

    Examples
    --------
    >>> format_names(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def join_names(names: Sequence[str]) -> str:
    """Join names by commas, and the last one by "and".

    Examples
    --------
    >>> join_names(["a", "b", "c"]), join_names(["a"])
    ('a, b and c', 'a')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def percent(share: float) -> str:
    """Format a share as a percentage that is 0% or 100% only if the share is 0 or 1.

    Examples
    --------
    >>> [percent(share) for share in (0.0, 0.00002, 0.003, 0.69, 0.9962, 0.99999, 1.0)]
    ['0%', 'under 0.1%', '0.3%', '69%', '99.6%', 'over 99.9%', '100%']
    """
    if share in (0.0, 1.0) or 0.01 <= share <= 0.99:
        return f"{share:.0%}"
    if 0.0 < share < 0.0005:
        return "under 0.1%"
    return "over 99.9%" if 0.9995 < share < 1.0 else f"{share:.1%}".replace(".0%", "%")


def one_line(message: object) -> str:
    r"""Join the lines of a message, and escape it for the terminal.

    Examples
    --------
    >>> one_line("no convergence:\n    take more steps")
    'no convergence: take more steps'
    """
    return for_terminal(re.sub(r"\s*\n\s*", " ", str(message)))


def for_figure(text: object) -> str:
    r"""Escape a text for matplotlib; pass `PLAIN` to the artist too, so that ``$`` starts no formula.

    Examples
    --------
    >>> for_figure("$x")
    '$x'
    """
    return for_terminal(text)


def for_markdown(text: object) -> str:
    r"""Escape what CommonMark and GitHub interpret as markup, in paragraphs and in table cells.

    Examples
    --------
    >>> print(for_markdown("<b>|[x](http://y)"))
    \<b\>\|\[x\](http\://y)
    >>> print(for_markdown("1. first_one"), for_markdown("-0.5"))
    1\. first\_one -0.5
    """
    escaped = _MARKDOWN.sub(r"\\\g<0>", for_terminal(text).strip())
    return _NUMBERED.sub(r"\1\\\2", escaped)


def for_tex(text: object) -> str:
    r"""Escape what LaTeX interprets as a command, and characters that its text fonts lack.

    Examples
    --------
    >>> print(for_tex("[5pt] 100% of $x_1"))
    {[}5pt{]} 100\% of \$x\_1
    """
    return "".join(_TEX.get(character, character) for character in for_terminal(text))


def for_spreadsheet(text: object) -> str:
    r"""Put an apostrophe before text that a spreadsheet would interpret as a formula in a CSV file.

    A spreadsheet that expects semicolons or tabs splits a cell there, so each piece is treated as a cell.

    Examples
    --------
    >>> for_spreadsheet("=HYPERLINK(A1)"), for_spreadsheet("sea"), for_spreadsheet("sea; =1+1")
    ("'=HYPERLINK(A1)", 'sea', "sea; '=1+1")
    """
    shown = _LATER_FORMULA.sub(r"\1'", str(text))
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown


def escaped(text: object) -> str:
    """Escape a text for HTML, including control characters.

    Examples
    --------
    >>> escaped("<b>sea</b>")
    '&lt;b&gt;sea&lt;/b&gt;'
    """
    return html.escape(for_terminal(text))


def element(name: str, inside: str) -> str:
    """Return an HTML element around HTML.

    Examples
    --------
    >>> element("p", escaped("a < b"))
    '<p>a &lt; b</p>'
    """
    return f"<{name}>{inside}</{name}>"


def html_table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return an HTML table; headings and caption are texts, cells are HTML."""
    head = element("tr", "".join(f'<th scope="col" style="{_CELL}">{escaped(h)}</th>' for h in headings))
    body = "".join(element("tr", "".join(f'<td style="{_CELL}">{cell}</td>' for cell in row)) for row in rows)
    named = f'<caption style="{_CAPTION}">{escaped(caption)}</caption>' if caption else ""
    return f"<table>{named}<thead>{head}</thead><tbody>{body}</tbody></table>"
