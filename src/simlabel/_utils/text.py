r"""Names are data: how a text that came from a file is shown in each medium.

Labels, ids, columns and files are called what somebody else called them. Whoever shows a name takes it
through one of these, so that no name is read as markup, a formula or an order to a terminal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

# Categories that a reader does not see but a terminal or a page obeys: control characters, line and
# paragraph separators, halves of surrogate pairs (which cannot be written at all)
_OBEYED = frozenset(["Cc", "Zl", "Zp", "Cs"])
# and the marks that turn the direction of writing
_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # for a matplotlib text, beside `for_figure`

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
    # behind the end of a row these would be its options
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


def for_terminal(text: object) -> str:
    r"""Show control characters and marks that turn the direction of writing instead of sending them.

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
    if unicodedata.category(character) not in _OBEYED and character not in _TURNING:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def some_names(names: Sequence[str], most: int = 5) -> str:
    """The first of some names, and how many more there are.

    Examples
    --------
    >>> some_names(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def percent(share: float) -> str:
    """Show a share as a percentage that is 0% or 100% only where the share is 0 or 1.

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
    r"""Show a message, which may be of several lines, as one.

    Examples
    --------
    >>> one_line("no convergence:\n    take more steps")
    'no convergence: take more steps'
    """
    return for_terminal(re.sub(r"\s*\n\s*", " ", str(message)))


def for_figure(text: object) -> str:
    r"""Prepare a text for matplotlib; give the artist `PLAIN` too, so that ``$`` starts no formula.

    Examples
    --------
    >>> for_figure("$x")
    '$x'
    """
    return for_terminal(text)


def for_markdown(text: object) -> str:
    r"""Escape what CommonMark and GitHub take for markup, in a paragraph as in a cell of a table.

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
    r"""Escape what LaTeX takes for a command, and signs that its text fonts do not have.

    Examples
    --------
    >>> print(for_tex("[5pt] 100% of $x_1"))
    {[}5pt{]} 100\% of \$x\_1
    """
    return "".join(_TEX.get(character, character) for character in for_terminal(text))


def for_spreadsheet(text: object) -> str:
    r"""Put an apostrophe before what a spreadsheet would take for a formula when it opens a CSV file.

    A spreadsheet that expects semicolons or tabs splits a cell there, so each piece is treated as a cell.

    Examples
    --------
    >>> for_spreadsheet("=HYPERLINK(A1)"), for_spreadsheet("sea"), for_spreadsheet("sea; =1+1")
    ("'=HYPERLINK(A1)", 'sea', "sea; '=1+1")
    """
    shown = _LATER_FORMULA.sub(r"\1'", str(text))
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown
